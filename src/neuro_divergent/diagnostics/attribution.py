"""Attribution of forecasts to inputs: permutation importance and integrated gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
import torch
from torch import Tensor

from neuro_divergent.core.errors import InputError, MissingDependencyError
from neuro_divergent.core.spec import Batch, Feature
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.io.source import backend_of, to_native
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.diagnostics.sample import spread, take
from neuro_divergent.diagnostics.undisturbed import undisturbed
from neuro_divergent.evaluation.arguments import new_panel, windows_from
from neuro_divergent.evaluation.cross_validation.forecast_values import native
from neuro_divergent.forecasting.prediction_context import PredictionContext
from neuro_divergent.forecasting.uncertainty.paths import forecast_from

if TYPE_CHECKING:
    from neuro_divergent.forecasting.fitted import FittedModel
    from neuro_divergent.forecasting.forecaster import Forecaster

Baseline = Literal["mean", "zero"]
_GROUPS = 8  # of steps of a history
_TOGETHER = 256  # windows per forward pass
_EXPLAINED = 64  # series that are explained at once
_ROLES = ("past", "future", "static")


def permutation_importance(
    forecaster: Forecaster, *, data: Any = None, windows: int = 512, repeats: int = 5, seed: int = 0
) -> Any:
    """Measure how much the error increases when a variable is permuted between windows.

    The importance of an unused variable is zero. Two correlated variables replace each other, so that both may seem
    unimportant. The history is permuted after scaling: each window keeps its own level and spread and gets the scaled
    history of another.

    Args:
        forecaster: A trained forecaster.
        data: Series to forecast, as for ``predict``; unset, the test part of the data of training, or else the
            validation part, or else the training part.
        windows: Windows to forecast at most, evenly spread.
        repeats: Number of permutations of each variable.
        seed: Seed of the permutations; the same seed gives the same table.

    Returns:
        A table of the same kind as the input: ``variable``; ``part``, ``history`` for all of the target's past,
        ``steps`` for a group of its steps (position 0 is the last one), or the role of a covariate (``past``,
        ``future``, ``static``); ``importance``, the increase of the mean absolute error, as the mean over the
        repeats; ``low`` and ``high``, its minimum and maximum.

    Raises:
        InputError: If there are fewer than two windows.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, input_size=24, training=nd.TrainingConfig(max_steps=20))
        >>> table = nd.diagnostics.permutation_importance(forecaster.fit(nd.datasets.air_passengers()), repeats=2)
        >>> table.columns
        ['variable', 'part', 'importance', 'low', 'high']
        >>> table.select("variable", "part").head(2).rows()
        [('y', 'history'), ('y at -23 to -21', 'steps')]
    """
    for name, count in (("windows", windows), ("repeats", repeats)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InputError(f"{name}: {count!r} must be an integer of at least 1.")
    fitted = forecaster.fitted
    chosen = _windows(forecaster, data)
    if min(windows, len(chosen)) < 2:
        raise InputError(f"permutation importance needs at least two windows, and there is only {len(chosen)}.")
    batcher = fitted.batcher(chosen.panel)
    batch = batcher.windows(*chosen.locate(spread(len(chosen), windows)))
    random = np.random.default_rng(seed)
    orders = [torch.from_numpy(random.permutation(len(batch.past_y))).to(fitted.device) for _ in range(repeats)]
    before = _error(fitted, batcher, batch)
    rows = []
    for variable, part, swap in _variables(batcher, fitted):
        rises = [_error(fitted, batcher, swap(batch, order)) - before for order in orders]
        rows.append((variable, part, float(np.mean(rises)), min(rises), max(rises)))
    table = pl.DataFrame(rows, schema=["variable", "part", "importance", "low", "high"], orient="row")
    return native(table, fitted.backend if data is None or isinstance(data, Panel) else backend_of(data))


def integrated_gradients(
    forecaster: Forecaster,
    *,
    series: Any = None,
    step: int | None = None,
    steps: int = 50,
    baseline: Baseline = "mean",
    data: Any = None,
    future: Any = None,
) -> Any:
    """Attribute the difference between a forecast and that from a baseline to the inputs.

    Sundararajan et al., "Axiomatic Attribution for Deep Networks", ICML 2017, by captum. For each series, attributions
    sum to the forecast minus the one from the baseline, in the units of the data, up to the error of the integral.
    The level and spread that a scaler removed from a window are constant, and so are categories, which cannot be
    interpolated. Needs the extra ``attribution``.

    Args:
        forecaster: A trained forecaster.
        series: Id of the series to explain, or several of them; unset, all.
        step: Step of the horizon to explain, from 1 on; unset, the mean of all.
        steps: Number of points of the integral.
        baseline: What to compare with: every variable at its ``mean`` over the window (static ones at their mean in
            training), or at ``zero`` in the units of the data.
        data: Series to forecast, as for ``predict``; unset, those of training.
        future: Table of the covariates known ahead, as for ``predict``.

    Returns:
        A table of the same kind as the input: id; ``variable``, which is an id where windows span all series;
        ``position`` (0 is the last step of the history, negative before, positive in the horizon, null for static
        variables); and ``attribution``.

    Raises:
        MissingDependencyError: If captum is not installed.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, input_size=24, training=nd.TrainingConfig(max_steps=20))
        >>> table = nd.diagnostics.integrated_gradients(forecaster.fit(nd.datasets.air_passengers()), step=1, steps=10)
        >>> table.columns
        ['unique_id', 'variable', 'position', 'attribution']
        >>> table["position"].min(), table["position"].max()
        (-23, 0)
    """
    try:
        from captum.attr import IntegratedGradients
    except ImportError:
        raise MissingDependencyError(
            'integrated gradients need captum, which is not installed: pip install "neuro-divergent[attribution]".'
        ) from None
    horizon = forecaster.fitted.task.horizon
    if step is not None and (isinstance(step, bool) or not isinstance(step, int) or not 1 <= step <= horizon):
        raise InputError(f"step: {step!r} must be a step of the horizon, 1 to {horizon}.")
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 2:
        raise InputError(f"steps: {steps!r} must be an integer of at least 2.")
    if baseline not in ("mean", "zero"):
        raise InputError(f"baseline: {baseline!r} must be 'mean' or 'zero'.")
    context = PredictionContext.of(forecaster.fitted, data, future=future)
    batcher, fitted = context.batcher, context.fitted
    panel, network = batcher.panel, fitted.predictor.network
    places = _places(panel, series)
    whole = Batch._make(
        None if parts[0] is None else torch.cat([part.clone() for part in parts])
        for parts in zip(*context.batches, strict=True)
    )
    tables: list[pl.DataFrame] = []
    # A window of all series is explained once for each; windows of one series many at a time.
    together = 1 if batcher.joint else _EXPLAINED
    groups = [places[begin : begin + together] for begin in range(0, len(places), together)]
    with undisturbed(network), torch.enable_grad():
        for group in groups:
            batch = whole if batcher.joint else take(whole, np.array(group))
            inputs = _Inputs(batch, fitted, batcher, baseline)
            forward = inputs.forward(step, group[0] if batcher.joint else 0)
            found = IntegratedGradients(forward).attribute(
                inputs.values,
                inputs.baselines,
                additional_forward_args=inputs.rest,
                n_steps=steps,
                internal_batch_size=max(1024, len(batch.past_y)),
            )
            tables.append(inputs.table(found, group))
    frame = pl.concat(tables)
    ids = {} if panel.schema.id is None else {panel.schema.id: panel.ids.gather(frame["series"])}
    columns = {name: frame[name] for name in ("variable", "position", "attribution")}
    return to_native({**ids, **columns}, context.backend)


class _Inputs:
    """Inputs of a batch that are interpolated between a baseline and their values, and the other inputs."""

    def __init__(self, batch: Batch, fitted: FittedModel, batcher: WindowBatcher, baseline: Baseline) -> None:
        self._batch, self._fitted, self._batcher, self._baseline = batch, fitted, batcher, baseline
        self._moved = ["past_y", *(f"{role}_x" for role in _ROLES if self._numeric(role))]
        kept = {name: item for name, item in batch._asdict().items() if item is not None}
        self._kept = list(kept)
        self.rest = tuple(kept.values())
        self.values = tuple(kept[name] for name in self._moved)
        self.baselines = tuple(self._begin(name) for name in self._moved)

    def forward(self, step: int | None, channel: int) -> Callable[..., Tensor]:
        """Return the function from values and the rest to one forecast for each window."""
        network, loss = self._fitted.predictor.network, self._fitted.task.loss

        def forecast(*items: Tensor) -> Tensor:
            moved, rest = items[: len(self._moved)], items[len(self._moved) :]
            batch = Batch(**dict(zip([*self._kept, *self._moved], [*rest, *moved], strict=True)))
            point = loss.forecast(forecast_from(network, batch), (), batch).point
            values = self._batcher.restore(point, batch)[..., channel]
            chosen = values.mean(1) if step is None else values[:, step - 1]
            # Inputs that the network does not use get a gradient of zero.
            return chosen + sum(0.0 * item.flatten(1).sum(1) for item in moved)

        return forecast

    def table(self, found: tuple[Tensor, ...], series: Sequence[int]) -> pl.DataFrame:
        """Return attributions as rows of ``series``, ``variable``, ``position`` and ``attribution``."""
        panel, length = self._batcher.panel, self._fitted.task.history
        parts = []
        for name, values in zip(self._moved, found, strict=True):
            role = name.removesuffix("_x")
            names = [panel.schema.target]
            if role in _ROLES:
                numeric = self._numeric(role)
                names, values = [getattr(panel, role)[place].name for place in numeric], values[..., numeric]
            elif self._batcher.joint:
                names = [str(item) for item in panel.ids.to_list()]
            values = values.unsqueeze(1) if values.ndim == 2 else values
            positions = [None] if role == "static" else list(range(1 - length, values.shape[1] - length + 1))
            count, steps, width = values.shape
            columns = {
                "series": np.repeat(np.array(series, np.uint32), steps * width),
                "variable": pl.Series(np.repeat(np.array(names, object), steps).tolist() * count, dtype=pl.String),
                "position": pl.Series(positions * (width * count), dtype=pl.Int64),
                "attribution": values.detach().transpose(1, 2).reshape(-1).double().cpu().numpy(),
            }
            parts.append(pl.DataFrame(columns))
        return pl.concat(parts).sort("series", maintain_order=True)

    def _numeric(self, role: str) -> list[int]:
        features: tuple[Feature, ...] = getattr(self._batcher.panel, role)
        return [place for place, feature in enumerate(features) if feature.cardinality is None]

    def _begin(self, name: str) -> Tensor:
        """Return the baseline of one input; categories and unobserved values keep their values."""
        values: Tensor = getattr(self._batch, name)
        if name == "past_y":
            mask = torch.ones_like(values) if self._batch.past_mask is None else self._batch.past_mask
            if self._baseline == "zero":
                begin = self._batcher.rescale(torch.zeros_like(values), self._batch)
            else:
                seen = mask.sum(1, keepdim=True).clamp_min(1)
                begin = ((values * mask).sum(1, keepdim=True) / seen).expand_as(values)
            if not bool(begin.isfinite().all()):
                raise InputError("baseline: the series scaler has no zero; choose baseline='mean'.")
            return torch.where(mask > 0, begin, values)
        role = name.removesuffix("_x")
        begin = values.clone()
        for place in self._numeric(role):
            if self._baseline == "zero":
                shift, spread_of = getattr(self._batcher.covariates, role)[:, place]
                begin[..., place] = -float(shift) / float(spread_of)
            else:  # static ones are scaled by their statistics in training
                begin[..., place] = 0.0 if role == "static" else values[..., place].mean(1, keepdim=True)
        return begin


def _windows(forecaster: Forecaster, data: Any) -> Windows:
    """Return the windows to forecast."""
    if data is not None:
        panel = new_panel(forecaster, data)
        return windows_from(panel, forecaster.task, panel.offsets[:-1], 1)
    split = forecaster.split
    if split is None:
        raise InputError("a loaded forecaster does not hold the data of training: pass data to forecast.")
    return next((part for part in (split.test, split.validation) if len(part) > 1), split.train)


def _error(fitted: FittedModel, batcher: WindowBatcher, batch: Batch) -> float:
    """Return the mean absolute error of some windows, in the units of the data."""
    total, count = 0.0, 0.0
    for begin in range(0, len(batch.past_y), _TOGETHER):
        some = take(batch, slice(begin, begin + _TOGETHER))
        assert some.future_y is not None
        point, _ = fitted.predictor.values(batcher, some, ())
        error = (point - batcher.restore(some.future_y, some)).abs().double()
        if some.future_mask is not None:
            error = error * some.future_mask
        total += float(error.sum())
        count += float(error.numel() if some.future_mask is None else some.future_mask.sum())
    return total / max(count, 1.0)


_Swap = Callable[[Batch, Tensor], Batch]


def _variables(batcher: WindowBatcher, fitted: FittedModel) -> Iterator[tuple[str, str, _Swap]]:
    """Yield each variable with its part and the function that permutes it."""
    target, length = batcher.panel.schema.target, batcher.input_size
    yield target, "history", _history_swap(batcher, slice(None))
    edges = np.linspace(0, length, min(_GROUPS, length) + 1).round().astype(int)
    for begin, end in pairwise(edges.tolist()):
        first, last = begin - length + 1, end - length
        label = f"{target} at {last}" if first == last else f"{target} at {first} to {last}"
        yield label, "steps", _history_swap(batcher, slice(begin, end))
    for role in _ROLES:
        for place, feature in enumerate(getattr(fitted.spec, role)):
            yield feature.name, role, _covariate_swap(f"{role}_x", place)


def _history_swap(batcher: WindowBatcher, steps: slice) -> _Swap:
    def swap(batch: Batch, order: Tensor) -> Batch:
        values, mask = batch.past_y.clone(), None
        loc, scale = batch.loc, batch.scale
        if batcher.scaler.applied or loc is None or scale is None:
            values[:, steps] = batch.past_y[order][:, steps]
        else:
            # Here the network itself removes level and spread; each window still keeps its own.
            values[:, steps] = ((batch.past_y - loc) / scale)[order][:, steps] * scale + loc
        if batch.past_mask is not None:
            mask = batch.past_mask.clone()
            mask[:, steps] = batch.past_mask[order][:, steps]
            values = values * mask
        return batch._replace(past_y=values, past_mask=mask)

    return swap


def _covariate_swap(field: str, place: int) -> _Swap:
    def swap(batch: Batch, order: Tensor) -> Batch:
        values = getattr(batch, field).clone()
        values[..., place] = values[order][..., place]
        return batch._replace(**{field: values})

    return swap


def _places(panel: Panel, series: Any) -> list[int]:
    """Return the indices of series by their ids."""
    if series is None:
        return list(range(panel.num_series))
    known = {name: place for place, name in enumerate(panel.ids.to_list())}
    wanted = list(series) if isinstance(series, (list, tuple, set, pl.Series, np.ndarray)) else [series]
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        some = ", ".join(repr(name) for name in list(known)[:3])
        raise InputError(f"series: {(unknown or [series])[0]!r} is not one of the {len(known)} series, such as {some}.")
    return [known[name] for name in wanted]
