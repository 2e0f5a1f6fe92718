"""The files of a saved ensemble: those of its members, its weights and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from neuro_divergent import __version__
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors
from neuro_divergent.data.io.source import Backend
from neuro_divergent.forecasting.ensemble.combination import Combination, check_weights
from neuro_divergent.forecasting.ensemble.fitted import FittedEnsemble
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.inspection import check_errors
from neuro_divergent.forecasting.load import read_description, rebuilding
from neuro_divergent.forecasting.uncertainty.intervals import Intervals

FORMAT = 1
_DESCRIPTION = "ensemble.json"
_TENSORS = "ensemble.safetensors"
_MOST = 10_000  # members; more are a mistake or malice


@dataclass(frozen=True, eq=False)
class EnsembleParts:
    """What a trained ensemble is made from.

    Attributes:
        members: The trained forecasters.
        fitted: The fitted members, how they are combined, and the errors of the whole.
        weights: The weights as they were requested.
        is_one_training: Whether the members are snapshots of one training.
    """

    members: tuple[Forecaster, ...]
    fitted: FittedEnsemble
    weights: str | tuple[float, ...] | None
    is_one_training: bool


def pack_ensemble(parts: EnsembleParts, *, context: bool = True) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an ensemble, one at a time; ``context`` is as for ``Forecaster.save``."""
    for number, member in enumerate(parts.members, 1):
        for name, content in member.to_files(context=context):
            yield f"member-{number}.{name}", content
    fitted = parts.fitted
    weights = fitted.combination.weights
    description = {
        "format": FORMAT,
        "version": __version__,
        "members": len(parts.members),
        "combine": fitted.combination.method,
        "weights": parts.weights,
        "fitted_weights": None if weights is None else weights.tolist(),
        "is_one_training": parts.is_one_training,
        "backend": fitted.backend,
    }
    yield _DESCRIPTION, strict_json.dumps(description, indent=1)
    if fitted.intervals is not None:
        intervals = fitted.intervals if context else fitted.intervals.summarized()
        yield _TENSORS, dump_tensors({"intervals.errors": intervals.errors})


def unpack_ensemble(files: dict[str, bytes], place: str) -> EnsembleParts:
    """Return the ensemble that files hold, called ``place`` in messages.

    Raises:
        UntrustedFileError: If they do not describe an ensemble that can be used, or were written by a newer version.
    """
    files = dict(files)
    description = read_description(files.pop(_DESCRIPTION), f"{place}/{_DESCRIPTION}", FORMAT, kind="Ensemble")
    errors = files.pop(_TENSORS, None)
    with rebuilding(place, "Ensemble"):
        members = _members(files, description.get("members"), place)
        return _rebuild(description, members, None if errors is None else load_tensors(errors, f"{place}/{_TENSORS}"))


def _members(files: dict[str, bytes], count: Any, place: str) -> tuple[Forecaster, ...]:
    if type(count) is not int or not 1 <= count <= _MOST:
        raise ValueError(f"{count!r} members")
    members = []
    for number in range(1, count + 1):
        begin = f"member-{number}."
        own = {name[len(begin) :]: files.pop(name) for name in list(files) if name.startswith(begin)}
        members.append(Forecaster.from_files(own, f"{place}/{begin[:-1]}"))
    if files:
        raise ValueError(f"file {sorted(files)[0]!r}")
    return tuple(members)


def _rebuild(
    description: dict[str, Any], members: tuple[Forecaster, ...], tensors: dict[str, Any] | None
) -> EnsembleParts:
    requested, weights, backend = description["weights"], description["fitted_weights"], description["backend"]
    if backend not in get_args(Backend) or type(description["is_one_training"]) is not bool:
        raise ValueError("backend or kind")
    if len({member.task.horizon for member in members}) > 1:
        raise ValueError("members with different horizons")
    combination = Combination(
        tuple(member.task.loss for member in members),
        description["combine"],
        None if weights is None else check_weights(weights, len(members)),
    )
    fitted = FittedEnsemble.of([member.fitted for member in members], combination, backend)
    errors = None if tensors is None else tensors.pop("intervals.errors")
    check_errors(errors, members[0].task.horizon)
    if tensors:
        raise ValueError(f"tensor {sorted(tensors)[0]!r}")
    if errors is not None:
        fitted = FittedEnsemble(fitted.members, combination, Intervals(errors), backend)
    if isinstance(requested, list):
        requested = tuple(check_weights(requested, len(members)).tolist())
    elif requested not in (None, "validation"):
        raise ValueError(f"weights {requested!r}")
    return EnsembleParts(members, fitted, requested, description["is_one_training"])
