"""The files of a saved HINT: those of its forecaster, its hierarchy and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor

from neuro_divergent import __version__
from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import UntrustedFileError, check_choice
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors, require_finite
from neuro_divergent.data.io.source import Backend
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.hierarchy.hierarchy import Hierarchy
from neuro_divergent.forecasting.hierarchy.joint_errors import JointErrors
from neuro_divergent.forecasting.hierarchy.reconciliation import METHODS, Method
from neuro_divergent.forecasting.hierarchy.residuals import HierarchyResiduals
from neuro_divergent.forecasting.load import read_description

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
    residuals: HierarchyResiduals | None
    backend: Backend


def pack_hint(parts: HintParts, *, context: bool = True) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a HINT; without ``context``, its errors are those of ``HierarchyResiduals.summarized``."""
    yield from parts.forecaster.to_files(context=context)
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
    if parts.residuals is not None:
        residuals = parts.residuals if context else parts.residuals.summarized()
        arrays["errors"] = residuals.errors.values
        if residuals.splits is not None:
            arrays["splits"] = residuals.splits
        if residuals.stored_covariance is not None:
            arrays["covariance"] = residuals.stored_covariance
    tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
    yield _TENSORS, dump_tensors(tensors)
    yield _DESCRIPTION, strict_json.dumps(description, indent=1)


def unpack_hint(files: dict[str, bytes], place: str) -> HintParts:
    """Return the HINT that files hold, called ``place`` in messages; the caller blames the files for other errors.

    Raises:
        UntrustedFileError: If they do not describe a HINT that can be used, or were written by a newer version.
    """
    files = dict(files)
    description = read_description(files.pop(_DESCRIPTION), f"{place}/{_DESCRIPTION}", FORMAT, kind="HINT")
    if _TENSORS not in files:
        raise UntrustedFileError(f"{place}: does not describe a HINT.")
    tensors = load_tensors(files.pop(_TENSORS), f"{place}/{_TENSORS}")
    require_finite(tensors, f"{place}/{_TENSORS}")
    return _rebuild(description, tensors, Forecaster.from_files(files, place))


def _rebuild(description: dict[str, Any], tensors: dict[str, Tensor], forecaster: Forecaster) -> HintParts:
    method, backend = description["method"], description["backend"]
    check_choice("reconciliation", method, METHODS)
    nodes, bottom = (_names(description[kind]) for kind in ("nodes", "bottom"))
    unknown = set(tensors) - {*_MATRIX, "errors", "splits", "covariance"}
    if unknown or backend not in get_args(Backend):
        raise ValueError(f"tensor {unknown.pop()!r}" if unknown else f"backend {backend!r}")
    hierarchy = Hierarchy(nodes, bottom, _matrix(tensors, len(nodes), len(bottom)))
    return HintParts(forecaster, hierarchy, method, _residuals(tensors, hierarchy, forecaster.task.horizon), backend)


def _residuals(tensors: dict[str, Tensor], hierarchy: Hierarchy, horizon: int) -> HierarchyResiduals | None:
    errors, splits, covariance = (tensors.get(name) for name in ("errors", "splits", "covariance"))
    if covariance is not None:
        size = len(hierarchy.nodes)
        if errors is None or covariance.dtype != torch.float64 or tuple(covariance.shape) != (size, size):
            raise ValueError("covariance of the errors")
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
    return HierarchyResiduals(
        JointErrors(errors.numpy()),
        None if splits is None else splits.numpy(),
        None if covariance is None else covariance.numpy(),
    )


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
