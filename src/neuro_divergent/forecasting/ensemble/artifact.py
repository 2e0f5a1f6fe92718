"""An ensemble on disk: the files of its members beside weights and errors, with one manifest over all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from neuro_divergent import __version__
from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import NewerFormatError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import read_directory, write_directory
from neuro_divergent.core.storage.pickle_guard import refuse_pickle
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors
from neuro_divergent.data.io.source import Backend
from neuro_divergent.forecasting.artifact import unpack_model
from neuro_divergent.forecasting.ensemble.combination import Combination
from neuro_divergent.forecasting.ensemble.fitted import FittedEnsemble
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.inspection import check_errors
from neuro_divergent.forecasting.task import Task
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
        committee: Their combination and what was measured.
        weights: What was asked for as weights.
        is_one_training: Whether the members are snapshots of one training.
    """

    members: tuple[Forecaster, ...]
    committee: FittedEnsemble
    weights: str | tuple[float, ...] | None
    is_one_training: bool


def save_ensemble(path: Path, parts: EnsembleParts) -> None:
    """Write an ensemble directory, complete or not at all; one member is in memory a second time at once.

    Raises:
        InputError: If something that was not written by us is at ``path``.
        StorageError: If the disk refuses.
    """
    write_directory(path, _files(parts))


def load_ensemble(path: Path) -> EnsembleParts:
    """Read an ensemble directory and check it.

    Raises:
        UntrustedFileError: If it is no ensemble, was altered, or was written by a newer version.
        StorageError: If it cannot be read.
    """
    refuse_pickle(path, "an ensemble")
    if not (path / _DESCRIPTION).is_file():
        cure = " Forecaster.load reads a model." if (path / "model.json").is_file() else ""
        raise UntrustedFileError(f"{path}: is not an ensemble: that is a directory with a {_DESCRIPTION}.{cure}")
    files = read_directory(path)
    description = strict_json.loads(files.pop(_DESCRIPTION), f"{path}/{_DESCRIPTION}")
    version = description.get("format") if isinstance(description, dict) else None
    if type(version) is not int or version < 1:
        raise UntrustedFileError(f"{path}: does not describe an ensemble.")
    if version > FORMAT:
        raise NewerFormatError(path, version, FORMAT)
    errors = files.pop(_TENSORS, None)
    try:
        members = _members(files, description.get("members"), path)
        return _rebuild(description, members, None if errors is None else load_tensors(errors, f"{path}/{_TENSORS}"))
    except UntrustedFileError:
        raise
    except Exception as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise UntrustedFileError(f"{path}: does not describe an ensemble ({reason}).") from error


def _files(parts: EnsembleParts) -> Iterator[tuple[str, bytes]]:
    for number, member in enumerate(parts.members, 1):
        with tempfile.TemporaryDirectory() as place:
            member.save(Path(place) / "model")
            files = read_directory(Path(place) / "model")
        for name, content in files.items():
            yield f"member-{number}.{name}", content
    committee = parts.committee
    fitted = committee.combination.weights
    description = {
        "format": FORMAT,
        "version": __version__,
        "members": len(parts.members),
        "combine": committee.combination.method,
        "weights": parts.weights,
        "fitted_weights": None if fitted is None else fitted.tolist(),
        "is_one_training": parts.is_one_training,
        "backend": committee.backend,
    }
    yield _DESCRIPTION, strict_json.dumps(description, indent=1)
    if committee.intervals is not None:
        yield _TENSORS, dump_tensors({"intervals.errors": committee.intervals.errors})


def _members(files: dict[str, bytes], count: Any, path: Path) -> tuple[Forecaster, ...]:
    if type(count) is not int or not 1 <= count <= _MOST:
        raise ValueError(f"{count!r} members")
    members = []
    for number in range(1, count + 1):
        begin = f"member-{number}."
        own = {name[len(begin) :]: files.pop(name) for name in list(files) if name.startswith(begin)}
        architecture, training, fitted = unpack_model(own, f"{path}/{begin[:-1]}")
        fields = {name: getattr(fitted.task, name) for name in Task.model_fields}
        member = Forecaster(architecture, training=training, **fields)
        member._fitted = fitted
        members.append(member)
    if files:
        raise ValueError(f"file {sorted(files)[0]!r}")
    return tuple(members)


def _rebuild(
    description: dict[str, Any], members: tuple[Forecaster, ...], tensors: dict[str, Any] | None
) -> EnsembleParts:
    asked, fitted, backend = description["weights"], description["fitted_weights"], description["backend"]
    if backend not in get_args(Backend) or type(description["is_one_training"]) is not bool:
        raise ValueError("backend or kind")
    if len({member.task.horizon for member in members}) > 1:
        raise ValueError("members with different horizons")
    combination = Combination(
        tuple(member.task.loss for member in members),
        description["combine"],
        None if fitted is None else check_weights(fitted, len(members)),
    )
    committee = FittedEnsemble.of([member.fitted for member in members], combination, backend)
    errors = None if tensors is None else tensors.pop("intervals.errors")
    check_errors(errors, members[0].task.horizon)
    if tensors:
        raise ValueError(f"tensor {sorted(tensors)[0]!r}")
    if errors is not None:
        committee = FittedEnsemble(committee.members, combination, Intervals(errors), backend)
    if isinstance(asked, list):
        asked = tuple(check_weights(asked, len(members)).tolist())
    elif asked not in (None, "validation"):
        raise ValueError(f"weights {asked!r}")
    return EnsembleParts(members, committee, asked, description["is_one_training"])


def check_weights(weights: Any, count: int) -> Floats:
    """Return weights that add up to 1.

    Raises:
        ValueError: If they are not one number of at least 0 for each member, with a positive sum.
    """
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (count,) or not np.isfinite(values).all() or (values < 0).any() or values.sum() <= 0:
        raise ValueError(f"weights must be {count} numbers of at least 0, not all 0; got {weights!r}")
    return values if abs(values.sum() - 1) < 1e-12 else values / values.sum()
