"""Windows of a large panel, some at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from neuro_divergent.core.arrays import Ints
from neuro_divergent.data.windows import Windows, across
from neuro_divergent.evaluation.cross_validation.window_list import WindowList

if TYPE_CHECKING:
    from neuro_divergent.forecasting.predictor import WindowForecasts

SMALL = 2**22
"""Rows of a panel up to which all of its windows are forecast at once."""

_VALUES = 2**19  # forecast values of a block: a few dozen arrays of 4 MB while it is scored
_BATCH = 4096  # windows that go through a network at once: blocks are made of whole batches


def block_size(windows: Windows) -> int:
    """Return how many windows are forecast together; all of them if the panel is small."""
    if len(windows.panel) <= SMALL:
        return max(len(windows), 1)
    channels = windows.panel.num_series if windows.joint else 1
    return max(_VALUES // (windows.horizon * channels) // _BATCH, 1) * _BATCH


def forecast_blocks(
    model: Any, windows: Windows, levels: Sequence[float] = (), quantiles: Sequence[float] = ()
) -> Iterator[WindowForecasts]:
    """Forecast windows of a panel block by block, with the observed values; those of a small panel are one block.

    So are those of models whose forecasts of windows depend on each other: adaptive conformal intervals and reconciled
    forecasts.
    """
    from neuro_divergent.forecasting.predicting import PredictingModel  # loads torch

    size = block_size(windows)
    if size >= len(windows) or type(model).forecast_windows is not PredictingModel.forecast_windows:
        yield model.forecast_windows(windows, levels, quantiles)
    elif hasattr(model.fitted, "forecast_blocks"):
        yield from model.fitted.forecast_blocks(windows, levels, quantiles, size=size)
    else:
        for first in range(0, len(windows), size):
            numbers = np.arange(first, min(first + size, len(windows)))
            yield model.forecast_windows(WindowList.like(windows, *windows.locate(numbers)), levels, quantiles)


def first_targets(windows: Windows) -> Ints:
    """Return the first target row of each series of the panel; the number of rows of the panel where there is none."""
    panel = windows.panel
    first = np.full(panel.num_series, len(panel), dtype=np.int64)
    if not len(windows):
        return first
    if isinstance(windows, WindowList):
        step = max(_VALUES // (panel.num_series if windows.joint else 1), 1)
        for begin in range(0, len(windows), step):
            series, rows = windows.locate(np.arange(begin, min(begin + step, len(windows))))
            if windows.joint:
                series, rows = across(panel, rows)
            np.minimum.at(first, series, rows + windows.input_size)
        return first
    counts = windows.counts  # Numbers grow with time within a series, so that the first one is the earliest.
    series, rows = windows.locate((np.cumsum(counts) - counts)[counts > 0])
    if windows.joint:
        series, rows = across(panel, rows)
    first[series] = rows + windows.input_size
    return first


def all_windows(windows: Windows) -> Windows:
    """Return the windows that a sample or a list of them was taken from."""
    if type(windows) is Windows:
        return windows
    return Windows(**{field.name: getattr(windows, field.name) for field in fields(Windows)})
