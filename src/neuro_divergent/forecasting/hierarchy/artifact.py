"""A HINT on disk: the files of its model beside hierarchy and errors, with one manifest over all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor

from neuro_divergent import __version__
from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import NewerFormatError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import read_directory, write_directory
from neuro_divergent.core.storage.pickle_guard import refuse_pickle
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors, require_finite
from neuro_divergent.data.io.source import Backend
from neuro_divergent.forecasting.artifact import unpack_model
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.hierarchy.hierarchy import Hierarchy
from neuro_divergent.forecasting.hierarchy.joint_errors import JointErrors
from neuro_divergent.forecasting.hierarchy.reconciliation import Method, check_method
from neuro_divergent.forecasting.hierarchy.residuals import HierarchyResiduals
from neuro_divergent.forecasting.task import Task

FORMAT = 1
_DESCRIPTION = "hint.json"
_TENSORS = "hint.safetensors"
_MATRIX = ("rows", "columns", "weights")
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class HintParts:
    """What a HINT is made from."""

    forecaster: Forecaster
    hierarchy: Hierarchy
    method: Method
    measurement: HierarchyResiduals | None
    backend: Backend


def save_hint(path: Path, parts: HintParts) -> None:
    """Write a HINT directory, complete or not at all.

    Raises:
        InputError: If something that was not written by us is at ``path``.
        StorageError: If the disk refuses.
    """
    with tempfile.TemporaryDirectory() as place:
        parts.forecaster.save(Path(place) / "model")
        model = read_directory(Path(place) / "model")
    description = {
        "format": FORMAT,
        "version": __version__,
        "method": parts.method,
        "backend": parts.backend,
        "nodes": list(parts.hierarchy.nodes),
        "bottom": list(parts.hierarchy.bottom),
    }
    rows, columns = np.nonzero(parts.hierarchy.summing)
    arrays = dict(zip(_MATRIX, (rows, columns, parts.hierarchy.summing[rows, columns]), strict=True))
    if parts.measurement is not None:
        arrays["errors"] = parts.measurement.errors.values
        if parts.measurement.splits is not None:
            arrays["splits"] = parts.measurement.splits
    tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
    own = [(_TENSORS, dump_tensors(tensors)), (_DESCRIPTION, strict_json.dumps(description, indent=1))]
    write_directory(path, [*model.items(), *own])


@contextmanager
def reading_hint(path: Path) -> Iterator[HintParts]:
    """Read a HINT directory and check it; what goes wrong with the parts inside the block is the fault of the file.

    Raises:
        UntrustedFileError: If it is not a HINT, was altered, or was written by a newer version.
        StorageError: If it cannot be read.
    """
    refuse_pickle(path, "a HINT")
    if not (path / _DESCRIPTION).is_file():
        cure = " Forecaster.load reads a model." if (path / "model.json").is_file() else ""
        raise UntrustedFileError(f"{path}: is not a HINT: that is a directory with a {_DESCRIPTION}.{cure}")
    files = read_directory(path)
    description = strict_json.loads(files.pop(_DESCRIPTION), f"{path}/{_DESCRIPTION}")
    version = description.get("format") if isinstance(description, dict) else None
    if type(version) is not int or version < 1 or _TENSORS not in files:
        raise UntrustedFileError(f"{path}: does not describe a HINT.")
    if version > FORMAT:
        raise NewerFormatError(path, version, FORMAT)
    tensors = load_tensors(files.pop(_TENSORS), f"{path}/{_TENSORS}")
    require_finite(tensors, f"{path}/{_TENSORS}")
    architecture, training, fitted = unpack_model(files, str(path))
    forecaster = Forecaster(architecture, training=training, **_fields(fitted.task))
    forecaster._fitted = fitted
    try:
        yield _rebuild(description, tensors, forecaster)
    except Exception as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise UntrustedFileError(f"{path}: does not describe a HINT ({reason}).") from error


def _fields(task: Task) -> dict[str, Any]:
    return {name: getattr(task, name) for name in Task.model_fields}


def _rebuild(description: dict[str, Any], tensors: dict[str, Tensor], forecaster: Forecaster) -> HintParts:
    method, backend = description["method"], description["backend"]
    check_method(method)
    nodes, bottom = (_names(description[kind]) for kind in ("nodes", "bottom"))
    strangers = set(tensors) - {*_MATRIX, "errors", "splits"}
    if strangers or backend not in get_args(Backend):
        raise ValueError(f"tensor {strangers.pop()!r}" if strangers else f"backend {backend!r}")
    hierarchy = Hierarchy(nodes, bottom, _matrix(tensors, len(nodes), len(bottom)))
    return HintParts(forecaster, hierarchy, method, _measurement(tensors, hierarchy, forecaster.task.horizon), backend)


def _measurement(tensors: dict[str, Tensor], hierarchy: Hierarchy, horizon: int) -> HierarchyResiduals | None:
    errors, splits = tensors.get("errors"), tensors.get("splits")
    if (splits is None) == (errors is not None and hierarchy.total_row is not None):
        raise ValueError("splits")
    if errors is None:
        return None
    windows = len(errors) if errors.ndim else 0
    for array, series in ((errors, hierarchy.nodes), (splits, hierarchy.bottom)):
        if array is None:
            continue
        if array.dtype != torch.float64 or not windows or tuple(array.shape) != (windows, len(series), horizon):
            raise ValueError(f"errors of shape {tuple(array.shape)}")
        if float(array.abs().max()) > _LARGEST:
            raise ValueError("errors that are too large")
    return HierarchyResiduals(JointErrors(errors.numpy()), None if splits is None else splits.numpy())


def _names(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(type(value) is str for value in values):
        raise TypeError("names of series")
    return tuple(values)


def _matrix(tensors: dict[str, Tensor], nodes: int, bottom: int) -> Floats:
    rows, columns, weights = (tensors[name].numpy() for name in _MATRIX)
    if not rows.shape == columns.shape == weights.shape == (len(rows),) or not len(rows):
        raise ValueError("entries of the matrix")
    for places, count in ((rows, nodes), (columns, bottom)):
        if places.dtype != np.int64 or places.min() < 0 or places.max() >= count:
            raise ValueError("places of the matrix")
    if weights.dtype != np.float64 or np.abs(weights).max() > _LARGEST:
        raise ValueError("weights of the matrix")
    # Every bottom series has an entry of its own, so a file cannot ask for a matrix far larger than itself squared.
    if len(rows) < max(nodes, bottom):
        raise ValueError("entries of the matrix")
    summing = np.zeros((nodes, bottom))
    summing[rows, columns] = weights
    return summing
