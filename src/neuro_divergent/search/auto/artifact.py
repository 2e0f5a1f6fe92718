"""The files of a saved automatic forecaster: those of its networks, the plan, the errors and the context."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor

from neuro_divergent import __version__
from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors
from neuro_divergent.data.io.source import Backend
from neuro_divergent.data.panel import Panel
from neuro_divergent.forecasting.context_file import TENSORS as CONTEXT_TENSORS
from neuro_divergent.forecasting.context_file import (
    context_tensors,
    describe_context,
    rebuild_context,
    without_series,
)
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.inspection import check_series
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
    panel = fitted.context if context else without_series(fitted.context)
    errors = fitted.intervals.errors
    arrays: dict[str, Any] = {"errors": errors if context else np.sort(errors, axis=0)}  # whose they are is not told
    if context:
        arrays |= {"groups": fitted.groups, **{f"ahead.{name}": made for name, made in fitted.ahead.items()}}
    tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
    yield _TENSORS, dump_tensors({**tensors, **context_tensors(panel)})
    yield DESCRIPTION, strict_json.dumps(_describe(parts, panel), indent=1)


def unpack_auto(files: dict[str, bytes], place: str) -> AutoParts:
    """Return the forecaster that files hold, called ``place`` in messages.

    Raises:
        UntrustedFileError: If they do not describe one that can be used, or were written by a newer version.
    """
    files = dict(files)
    description = read_description(files.pop(DESCRIPTION), f"{place}/{DESCRIPTION}", FORMAT, kind="AutoForecaster")
    if _TENSORS not in files:
        raise UntrustedFileError(f"{place}: does not describe an AutoForecaster: holds {sorted(files)}.")
    tensors = load_tensors(files.pop(_TENSORS), f"{place}/{_TENSORS}")
    with rebuilding(place, "AutoForecaster"):
        return _rebuild(description, tensors, files, place)


def _describe(parts: AutoParts, panel: Panel) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": __version__,
        "config": parts.config.to_dict(),
        "plan": parts.fitted.plan.to_dict(),
        "spread_history": parts.fitted.intervals.history,
        "leaderboard": parts.leaderboard.to_dict(),
        "backend": parts.fitted.backend,
        **describe_context(panel),
    }


def _rebuild(description: dict[str, Any], stored: dict[str, Tensor], files: dict[str, bytes], place: str) -> AutoParts:
    plan = Plan.from_dict(description["plan"])
    members = tuple(_members(plan, files, place))
    if files:
        raise ValueError(f"file {sorted(files)[0]!r}")
    if description["backend"] not in get_args(Backend):
        raise ValueError("backend")
    context = rebuild_context(description, stored)
    if context.num_series:
        check_series(context, 1)
    tensors = {name: item.numpy() for name, item in stored.items() if name not in CONTEXT_TENSORS}
    errors = tensors.pop("errors")
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
