"""The check that an export ends with: its graph against ``predict``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from neuro_divergent.core.arrays import Array, Floats
from neuro_divergent.core.errors import ExportError
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.forecasting.fitted import FittedModel
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.serving.description import Description
from neuro_divergent.serving.export.describe import networks_of
from neuro_divergent.serving.export.relaxed import relaxed
from neuro_divergent.serving.export.sample import Sample

TOLERANCE = 1e-4
"""Largest difference from ``predict``, as a part of the spread of a window."""
INT8_TOLERANCE = 0.05
"""The same for weights of 8 bits."""

_ROUNDING = 1e-6  # of the size of values: what 32-bit floats cannot tell apart after a few operations
_MOST_COUNTS = 0.02  # part of the counts that may be rounded to the next one
_SIZES = ((1, (False,)), (1, (True,)), (3, (False,)), (3, (True,)), (257, (False, True)))

Run = Callable[[Mapping[str, Array]], Array]


@dataclass(frozen=True)
class Verification:
    """What a check has found.

    Attributes:
        largest: Largest difference from ``predict``, as a part of the spread of its window, or of the usual spread at
            its level where the window is constant. Where a forecast is further from the mean of the window than that,
            as a part of its distance. What 32-bit floats cannot tell apart is within the tolerance, however small the
            spread is.
        windows: Windows that were compared.
    """

    largest: float
    windows: int


def verify(model: ForecastModel, description: Description, run: Run, *, tolerance: float) -> Verification:
    """Compare a graph with ``predict`` on batches of 1, 3 and 257 windows, with and without missing values.

    Windows are made from the end of the series that the model holds, or are invented if it holds none. Quantiles of
    counts may differ by one in a few places, where rounding begins from another side.

    Args:
        model: The fitted model; its own ``predict`` is what counts.
        description: What the graph reads and returns.
        run: Runs the graph.
        tolerance: Largest difference, as a part of the spread of a window.

    Raises:
        ExportError: If they differ by more.
    """
    masking, largest, windows = relaxed(model), 0.0, 0
    for seed, (size, missing) in enumerate(_SIZES):
        sample = Sample.draw(masking.fitted.context, description, size, missing=missing, seed=seed)
        expected, found = predicted(masking, sample), np.asarray(run(sample.inputs()), np.float64)
        if found.shape != expected.shape:
            raise ExportError(f"the graph returns {found.shape} for {size} windows, not {expected.shape}.")
        difference, unit, rounding = _differences(model, sample, expected, found)
        apart = difference / (unit + rounding / tolerance)
        if description.integer_valued:
            _allow_counts(apart[..., 1:], difference[..., 1:], rounding[..., 1:], tolerance)
        if not apart.max() <= tolerance:  # also where it is NaN
            raise _too_far(apart, description, tolerance)
        largest, windows = max(largest, float(apart.max())), windows + size
    return Verification(largest, windows)


def predicted(model: ForecastModel, sample: Sample) -> Floats:
    """Return what a model forecasts for windows, ``(windows, horizon, channels, 1 + quantiles)``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the data, which are not the user's
        if sample.description.joint and len(sample) > 1 and sample.context.num_series:
            return _by_window(model, sample)
        return _by_table(model, sample)


def _by_table(model: ForecastModel, sample: Sample) -> Floats:
    """Forecast with ``predict``, in tables that have each series once."""
    described, schema = sample.description, sample.context.schema
    columns = ["forecast", *(f"q-{quantile:g}" for quantile in described.quantiles)]
    result = np.full((len(sample), described.horizon, described.channels, len(columns)), np.nan)
    for windows in sample.calls():
        data, future = sample.tables(windows)
        table = model.predict(data, future=future, levels=(), quantiles=described.quantiles)
        values = table.select(columns).to_numpy().reshape(-1, described.horizon, len(columns))
        names = [None] if schema.id is None else table[schema.id].to_list()[:: described.horizon]
        if described.joint:
            order = {name: place for place, name in enumerate(sample.ids.to_list())}
            result[windows[0], :, [order.get(name, 0) for name in names]] = values
        else:
            order = {name: place for place, name in zip(windows, sample.ids.gather(windows).to_list(), strict=True)}
            result[[order.get(name, windows[0]) for name in names], :, 0] = values
    return result


def _by_window(model: ForecastModel, sample: Sample) -> Floats:
    """Forecast windows that follow each other by one step with ``forecast_windows``."""
    described, context = sample.description, sample.context
    panel = build_panel(sample.long_table(), context.schema, fitted=context)
    windows = Windows(
        panel,
        described.input_size,
        described.horizon,
        panel.offsets[:-1] + described.input_size,
        panel.offsets[1:],
        joint=bool(model.task.joint),
    )
    made = model.forecast_windows(windows, quantiles=described.quantiles)
    places = made.rows - panel.offsets[made.series] - described.input_size
    columns = [made.point, *(made.quantiles[quantile] for quantile in described.quantiles)]
    result = np.full((len(sample), described.horizon, described.channels, len(columns)), np.nan)
    result[places, :, made.series] = np.stack(columns, -1)
    return result


def _differences(
    model: ForecastModel, sample: Sample, expected: Floats, found: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return absolute differences, the unit of each, and what is only rounding."""
    values = sample.y.astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a short window of a joint model may have no value at all
        statistics = np.nanmean(values, 1), np.nanstd(values, 1), np.nanmax(np.abs(values), 1)
    level, spread, largest = (np.nan_to_num(item)[:, None, :, None] for item in statistics)
    spread = np.where(spread > _ROUNDING * largest, spread, _relative_spread(sample) * np.abs(level))
    unit = np.maximum(np.maximum(spread, np.abs(expected - level)), np.finfo(np.float32).tiny)
    rounding = _ROUNDING * np.maximum(largest, np.abs(expected))
    for network in networks_of(model):
        rounding = np.maximum(rounding, _scaler_rounding(network, sample, expected))
    return np.abs(found - expected), unit, rounding


def _relative_spread(sample: Sample) -> float:
    """Return the usual spread of a series compared with its level, which constant windows are measured by."""
    context = sample.context
    y = context.y.astype(np.float64)
    pieces = np.split(y if context.mask is None else np.where(context.mask, y, np.nan), context.offsets[1:-1])
    seen = [piece[~np.isnan(piece)] for piece in pieces]
    known = [values.std() / np.abs(values).mean() for values in seen if values.any()]
    return float(np.median(known)) if known else 0.0


def _scaler_rounding(network: FittedModel, sample: Sample, expected: Floats) -> Floats:
    """Return what rounding on the scale of a series scaler becomes in the units of the data.

    A scaler that bends may bring values so close together that 32-bit floats cannot tell them apart.
    """
    scaler = network.task.series_scaler
    if scaler is None or scaler.affine:
        return np.zeros_like(expected)
    places = np.zeros(len(sample.ids), np.int64)
    if network.scaler_params is not None:
        known = {name: place for place, name in enumerate(network.context.ids.to_list())}
        places = np.array([known[name] for name in sample.ids.to_list()])
    params = np.zeros((1, 0)) if network.scaler_params is None else network.scaler_params.astype(np.float64)
    rows = torch.from_numpy(params[places])
    rows = rows[None, None, :, None] if sample.description.joint else rows[:, None, None, None]
    values = torch.from_numpy(np.maximum(expected, scaler.lowest + 1e-3))
    scaled = scaler.transform(values, rows)
    moved = scaler.inverse(scaled * (1 + _ROUNDING), rows) - scaler.inverse(scaled, rows)
    rounding: Floats = moved.abs().numpy()
    return rounding


def _allow_counts(apart: Floats, difference: Floats, rounding: Floats, tolerance: float) -> None:
    """Accept counts that a few times were rounded to the next one."""
    if apart.size and (difference <= 1 + rounding).all() and (apart > tolerance).mean() <= _MOST_COUNTS:
        apart[apart > tolerance] = 0


def _too_far(apart: Floats, description: Description, tolerance: float) -> ExportError:
    place = int(np.where(np.isnan(apart), np.inf, apart).argmax())
    window, step, _, column = (int(item) for item in np.unravel_index(place, apart.shape))
    what = f"the quantile {description.quantiles[column - 1]:g}" if column else "the point"
    return ExportError(
        f"the exported graph differs from predict by {apart.flat[place]:.2g} of the spread of a window, where "
        f"{tolerance:g} is allowed: {what} of step {step + 1} of window {window + 1} in a batch of {len(apart)}. "
        "Nothing was written."
    )
