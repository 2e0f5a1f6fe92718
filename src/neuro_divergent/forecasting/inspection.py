"""Checks that the parts of a model that was read fit together, so that it can be used like one that was just trained.

A manifest detects damage, not malice: whoever alters a file can write a new manifest. These checks make sure that such
a model forecasts, if perhaps nonsense, and that building it takes no more memory than its file accounts for. All checks
raise ``ValueError`` with what is wrong.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.spec import Feature, TaskSpec
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.base import SeriesScaler
from neuro_divergent.data.scaling.covariates import CovariateScaling
from neuro_divergent.forecasting.task import Task

ROLES = ("past", "future", "static")


@contextmanager
def building_within(tensors: Mapping[str, Tensor]) -> Iterator[None]:
    """Refuse to build a network in the block that is far larger than the tensors of its file.

    A network may make a parameter more than once on the way, so four times as many are fine.
    """
    thread = threading.get_ident()
    count = 1000 + 4 * len(tensors)
    numbers = 1_000_000 + 4 * sum(tensor.numel() for tensor in tensors.values())

    def enter(_module: nn.Module, _name: str, parameter: nn.Parameter) -> None:
        nonlocal count, numbers
        if threading.get_ident() == thread:
            count, numbers = count - 1, numbers - parameter.numel()
            _require(count >= 0 and numbers >= 0, "the network is far larger than its weights")

    hook = register_module_parameter_registration_hook(enter)
    try:
        yield
    finally:
        hook.remove()


def check_shapes(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Refuse weights that are not exactly those of a network."""
    own = network.state_dict()
    _require(set(own) == set(weights), f"weights {sorted(set(own) ^ set(weights))[:5]} are not those of the network")
    for name, tensor in weights.items():
        found, wanted = ((item.dtype, list(item.shape)) for item in (tensor, own[name]))
        _require(found == wanted, f"weight {name!r} is {found}, the network has {wanted}")


def check_weights(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Refuse weights that are not finite; a buffer, such as a mask, may be so where the new network has it so."""
    parameters = dict(network.named_parameters(remove_duplicate=False))
    for name, new in network.state_dict().items():
        finite = weights[name].isfinite()
        if name not in parameters:
            finite |= ~new.isfinite()
        _require(bool(finite.all()), f"weight {name!r} holds numbers that are not finite")


def check_context(panel: Panel, task: Task, spec: TaskSpec) -> None:
    """Refuse series that are not what a task forecasts from; a model without context has none."""
    _require(panel.is_consistent(), "the sizes of the series do not agree")
    if not panel.num_series:
        _require(spec.channels >= 1 and bool(task.joint or spec.channels == 1), f"{spec.channels} channels")
        for role in ROLES:
            _check_features(panel, role)
        return
    _require(bool((panel.lengths == task.history).all()), "series that do not have the length of the history")
    _require(spec.channels == (panel.num_series if task.joint else 1), f"{spec.channels} channels")
    _require(not task.joint or panel.aligned, "series that do not cover the same times")
    check_series(panel, task.horizon)


def check_series(panel: Panel, horizon: int) -> None:
    """Refuse series with values, names, covariates or times that no data can have."""
    _require(panel.is_consistent(), "the sizes of the series do not agree")
    _require(_is(panel.y, np.float32) and (panel.mask is None or _is(panel.mask, np.bool_)), "the type of the series")
    _require(bool(np.isfinite(panel.y).all()), "series with numbers that are not finite")
    _require(panel.ids.null_count() == 0 and panel.ids.n_unique() == panel.num_series, "series that share a name")
    for role in ROLES:
        _check_features(panel, role)
    _check_times(panel, horizon)


def check_scaling(
    panel: Panel, scaler: SeriesScaler | None, numbers: Array | None, covariates: CovariateScaling
) -> None:
    """Refuse numbers of scalers that do not belong to the series or cannot be divided by."""
    needed = scaler is not None and panel.num_series > 0
    _require(needed == (numbers is not None), "parameters of a series scaler without one, or none")
    if scaler is not None and numbers is not None:
        size = scaler.fit(np.array([1.0, 2.0])).size
        _require(numbers.shape == (panel.num_series, size), "parameters of the series scaler")
        _require(numbers.dtype.kind == "f" and bool(np.isfinite(numbers).all()), "parameters of the series scaler")
        _require(size != 2 or bool((numbers[:, 1] > 0).all()), "a spread of a series that is not positive")
        observed = panel.y if panel.mask is None else panel.y[panel.mask]
        _require(bool((observed > scaler.lowest).all()), f"values that {scaler.name!r} cannot scale")
    for role in ROLES:
        features, scaling = getattr(panel, role), getattr(covariates, role)
        _require((scaling is None) == (not features), f"scaling of {role} covariates")
        if scaling is not None:
            _require(_is(scaling, np.float32) and scaling.shape == (2, len(features)), f"scaling of {role} covariates")
            _require(bool(np.isfinite(scaling).all() and (scaling[1] > 0).all()), f"scaling of {role} covariates")
            coded = [place for place, feature in enumerate(features) if feature.cardinality is not None]
            _require(bool((scaling[:, coded] == [[0], [1]]).all()), f"scaling of {role} categories")


def check_errors(errors: Tensor | None, horizon: int) -> None:
    """Refuse errors that no interval can be made of."""
    if errors is not None:
        _require(errors.ndim == 2 and errors.shape[0] > 0 and errors.shape[1] == horizon, "the shape of the errors")
        _require(errors.is_floating_point() and bool((errors.isfinite() & (errors >= 0)).all()), "errors below zero")


def check_ranks(ranks: Tensor | None, horizon: int) -> None:
    """Refuse ranks of windows that are not each rank once at every step."""
    if ranks is not None:
        _require(ranks.ndim == 2 and ranks.shape[0] > 0 and ranks.shape[1] == horizon, "the shape of the ranks")
        _require(ranks.dtype == torch.int16, "the type of the ranks")
        wanted = torch.arange(len(ranks)).unsqueeze(1)
        _require(bool((ranks.sort(0).values == wanted).all()), "ranks that are missing or there twice")


def check_history(rows: Any) -> None:
    """Refuse a history that is not a list of rows with numbers."""
    _require(isinstance(rows, list) and all(isinstance(row, dict) for row in rows), "the history")
    for row in rows:
        for value in row.values():
            whole = type(value) is int and abs(value) < 2**63
            _require(value is None or whole or type(value) is float, f"{value!r:.80} in the history")


def _check_features(panel: Panel, role: str) -> None:
    features: Sequence[Feature] = getattr(panel, role)
    values, schema = getattr(panel, f"{role}_x"), panel.schema
    names = (*getattr(schema, role), *(schema.calendar if role == "future" else ()))
    _require(tuple(feature.name for feature in features) == names, f"{role} covariates are not those of the schema")
    _require((values is None) == (not features), f"{role} covariates without values")
    for place, feature in enumerate(features):
        column = values[:, place]
        _require(_is(column, np.float32) and bool(np.isfinite(column).all()), f"values of {feature.name!r}")
        if feature.cardinality is None:
            continue
        known = panel.categories.get(feature.name)
        _require(isinstance(known, list) and feature.cardinality == len(known) + 1, f"categories of {feature.name!r}")
        codes = (column >= 0) & (column < feature.cardinality) & (column == np.floor(column))
        _require(bool(codes.all()), f"codes of {feature.name!r}")


def _check_times(panel: Panel, horizon: int) -> None:
    """Refuse times that cannot be counted on to the end of the forecast."""
    starts = panel.starts
    ends = panel.frequency.time_at(starts, panel.lengths + horizon)
    _require(starts.null_count() == 0 and ends.null_count() == 0 and bool((ends > starts).all()), "times")
    for times in (starts, ends):
        str(times.min()), str(times.max())  # raises beyond the years that Python knows


def _is(values: Array | None, dtype: type) -> bool:
    return values is not None and values.dtype == dtype


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)
