"""The files of a saved automatic forecaster: those of its networks, the plan, the errors and the context."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import polars as pl
import torch

from neuro_divergent import __version__
from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.spec import Feature
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.io.source import Backend
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.load import read_description, rebuilding
from neuro_divergent.search.auto.config import AutoConfig
from neuro_divergent.search.auto.fitted import FittedAuto
from neuro_divergent.search.auto.groups import GROUPS
from neuro_divergent.search.auto.intervals import ErrorIntervals
from neuro_divergent.search.auto.leaderboard import Leaderboard
from neuro_divergent.search.auto.member import Member
from neuro_divergent.search.auto.plan import Plan

FORMAT = 1
DESCRIPTION = "auto.json"
_TENSORS = "auto.safetensors"
_INDEX = "series.parquet"
_ARRAYS = ("offsets", "y", "mask", "past_x", "future_x", "static_x")
_ROLES = ("past", "future", "static")


@dataclass(frozen=True, eq=False)
class AutoParts:
    """What a saved automatic forecaster is made from."""

    config: AutoConfig
    fitted: FittedAuto
    leaderboard: Leaderboard


def pack_auto(parts: AutoParts, *, context: bool = True) -> Iterator[tuple[str, bytes]]:
    """Yield the files; ``context`` is as for ``Forecaster.save``."""
    fitted = parts.fitted
    for number, member in enumerate(fitted.members, 1):
        if member.network is not None:
            for name, content in member.network.to_files(context=context):
                yield f"member-{number}.{name}", content
    panel = fitted.context if context else fitted.context.take(np.zeros(0, np.int64))
    errors = fitted.intervals.errors
    arrays: dict[str, Any] = {"errors": errors if context else np.sort(errors, axis=0)}
    arrays |= {f"context.{name}": getattr(panel, name) for name in _ARRAYS}
    if context:
        arrays |= {"groups": fitted.groups, **{f"ahead.{name}": made for name, made in fitted.ahead.items()}}
    tensors = {name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in arrays.items() if a is not None}
    yield _TENSORS, dump_tensors(tensors)
    index = io.BytesIO()
    pl.DataFrame([panel.ids.alias("id"), panel.starts.alias("start")]).write_parquet(index)
    yield _INDEX, index.getvalue()
    yield DESCRIPTION, strict_json.dumps(_describe(parts, panel), indent=1)


def unpack_auto(files: dict[str, bytes], place: str) -> AutoParts:
    """Return the forecaster that files hold, called ``place`` in messages.

    Raises:
        UntrustedFileError: If they do not describe one that can be used, or were written by a newer version.
    """
    files = dict(files)
    description = read_description(files.pop(DESCRIPTION), f"{place}/{DESCRIPTION}", FORMAT, kind="AutoForecaster")
    if _TENSORS not in files or _INDEX not in files:
        raise UntrustedFileError(f"{place}: does not describe an AutoForecaster: holds {sorted(files)}.")
    tensors = {name: item.numpy() for name, item in load_tensors(files.pop(_TENSORS), f"{place}/{_TENSORS}").items()}
    index = files.pop(_INDEX)
    with rebuilding(place, "AutoForecaster"):
        return _rebuild(description, tensors, pl.read_parquet(io.BytesIO(index)), files, place)


def _describe(parts: AutoParts, panel: Panel) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": __version__,
        "config": parts.config.to_dict(),
        "plan": parts.fitted.plan.to_dict(),
        "spread_history": parts.fitted.intervals.history,
        "leaderboard": parts.leaderboard.to_dict(),
        "schema": panel.schema.to_dict(),
        "names": [panel.ids.name, panel.starts.name],
        "frequency": str(panel.frequency),
        "features": {role: [[item.name, item.cardinality] for item in getattr(panel, role)] for role in _ROLES},
        "categories": panel.categories,
        "backend": parts.fitted.backend,
    }


def _rebuild(
    description: dict[str, Any],
    tensors: dict[str, Any],
    index: pl.DataFrame,
    files: dict[str, bytes],
    place: str,
) -> AutoParts:
    plan = Plan.from_dict(description["plan"])
    members = tuple(_members(plan, files, place))
    if files:
        raise ValueError(f"file {sorted(files)[0]!r}")
    if description["backend"] not in get_args(Backend):
        raise ValueError("backend")
    errors, context = tensors.pop("errors"), _context(description, tensors, index)
    if errors.ndim != 2 or errors.shape[1] != plan.setting.horizon or not np.isfinite(errors).any():
        raise ValueError("errors")
    groups = tensors.pop("groups", np.zeros(0, np.int64))
    if groups.shape != (context.num_series,) or not np.isin(groups, range(len(GROUPS))).all():
        raise ValueError("groups")
    ahead = {name.removeprefix("ahead."): tensors.pop(name) for name in list(tensors) if name.startswith("ahead.")}
    shape = context.num_series, plan.setting.horizon
    if tensors or any(made.shape != shape or not np.isfinite(made).all() for made in ahead.values()):
        raise ValueError("forecasts")
    intervals = ErrorIntervals(errors, int(description["spread_history"]))
    fitted = FittedAuto(plan, members, intervals, context, groups, description["backend"], ahead)
    config = AutoConfig.from_dict(description["config"])
    return AutoParts(config, fitted, Leaderboard.from_dict(description["leaderboard"]))


def _members(plan: Plan, files: dict[str, bytes], place: str) -> Iterator[Member]:
    for number, member in enumerate(plan.members, 1):
        network = None
        if member.kind == "network":
            begin = f"member-{number}."
            own = {name[len(begin) :]: files.pop(name) for name in list(files) if name.startswith(begin)}
            network = Forecaster.from_files(own, f"{place}/{begin[:-1]}")
            if network.task.horizon != plan.setting.horizon:
                raise ValueError("members with different horizons")
        yield Member(member.candidate, plan.setting, network)


def _context(description: Mapping[str, Any], tensors: dict[str, Any], index: pl.DataFrame) -> Panel:
    arrays = {name: tensors.pop(f"context.{name}") for name in _ARRAYS if f"context.{name}" in tensors}
    features: dict[str, Any] = {
        role: tuple(Feature(*item) for item in description["features"][role]) for role in _ROLES
    }
    panel = Panel(
        schema=Schema.from_dict(description["schema"]),
        ids=index["id"].alias(description["names"][0]),
        starts=index["start"].alias(description["names"][1]),
        frequency=Frequency.parse(description["frequency"]),
        categories={name: list(values) for name, values in description["categories"].items()},
        **arrays,
        **features,
    )
    if len(panel.offsets) > 1 and not panel.is_consistent():
        raise ValueError("sizes do not agree")
    return panel
