"""Windows that intervals are calibrated on."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.evaluation.arguments import new_panel, require_counts, rows_at_end, windows_from
from neuro_divergent.evaluation.cross_validation.window_list import WindowList
from neuro_divergent.evaluation.window_blocks import SMALL, all_windows
from neuro_divergent.forecasting.predictor import WindowForecasts
from neuro_divergent.forecasting.protocol import ForecastModel

_WINDOWS = 5000  # maximum, unless a step is given
_MOST_WINDOWS = 2**15  # of a large panel, unless a step or a number of cut-offs is given


def held_out(forecaster: ForecastModel, *, cutoffs: int | None, step: int | None) -> Windows:
    """Return windows of the part of the training data that was held out for validation."""
    if forecaster.split is None:
        raise InputError("a loaded forecaster does not hold the data of training: pass data to calibrate on.")
    if not len(forecaster.split.validation):
        raise InputError(
            "there is no validation part to calibrate on: train with validation=0.2, or "
            "pass data that training has not seen."
        )
    return _apart(forecaster.split.validation, cutoffs, step)


def end_of(
    forecaster: ForecastModel, data: Any, last: int | float, *, cutoffs: int | None, step: int | None
) -> Windows:
    """Return windows over the end of each series of new data."""
    panel = new_panel(forecaster, data)
    begins = panel.offsets[1:] - rows_at_end(panel, last, forecaster.task.horizon)
    return _apart(windows_from(panel, forecaster.task, begins, 1), cutoffs, step)


def completed_since(forecaster: ForecastModel, data: Any, known: dict[Any, int], step: int) -> Windows:
    """Return windows whose last target is later than the latest known time of their series."""
    panel = new_panel(forecaster, data)
    seen = np.array([known.get(name, np.iinfo(np.int64).min) for name in panel.ids.to_list()])
    begins = panel.offsets[:-1] + _rows_until(panel, seen) - (forecaster.task.horizon - 1)
    return windows_from(panel, forecaster.task, begins, step)


def _rows_until(panel: Panel, times: Ints) -> Ints:
    """Return how many rows of each series are not later than a time of its own, by bisection."""
    low, high = np.zeros_like(panel.lengths), panel.lengths
    while (low < high).any():
        middle = np.minimum((low + high) // 2, panel.lengths - 1)
        found = panel.frequency.time_at(panel.starts, middle).to_physical().to_numpy()
        is_until = (found <= times) & (low < high)
        low, high = np.where(is_until, middle + 1, low), np.where(is_until, high, np.minimum(high, middle))
    return low


def target_times(panel: Panel, made: WindowForecasts) -> Ints:
    """Return the time of every target as an integer, ``(windows, horizon)``."""
    count, horizon = made.point.shape
    series = np.repeat(made.series, horizon)
    steps = (made.rows - panel.offsets[made.series])[:, None] + np.arange(horizon)
    times = panel.frequency.time_at(panel.starts.gather(series.astype(np.uint32)), steps.reshape(-1))
    return times.to_physical().to_numpy().astype(np.int64).reshape(count, horizon)


def _apart(windows: Windows, cutoffs: int | None, step: int | None) -> Windows:
    """Return the latest ``cutoffs`` windows of each series, ``step`` rows apart."""
    require_counts(cutoffs=cutoffs, step=step)
    dense = dataclasses.replace(all_windows(windows), step=step or 1)
    if cutoffs is not None:
        first = dense.ends - dense.horizon - (cutoffs - 1) * dense.step
        dense = dataclasses.replace(dense, begins=np.maximum(dense.begins, first))
    if step is None and len(dense) > _WINDOWS:
        dense = dataclasses.replace(dense, step=math.ceil(len(dense) / _WINDOWS))
        if len(dense.panel) > SMALL and cutoffs is None and not dense.joint:
            return WindowList.sample(dense, _MOST_WINDOWS)  # Each series has a window still.
    if not len(dense):
        raise InputError(
            f"there is no window to calibrate on: one needs {dense.input_size} rows of history and {dense.horizon} of "
            "targets. Pass more data."
        )
    return dense
