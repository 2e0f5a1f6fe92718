"""Levels of intervals that a forecaster supports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from neuro_divergent.core.errors import InputError

if TYPE_CHECKING:
    from neuro_divergent.data.windows import Windows
    from neuro_divergent.forecasting.forecaster import Forecaster


def supported_levels(
    forecaster: Forecaster, windows: Windows, levels: Sequence[float]
) -> tuple[tuple[float, ...], dict[float, str]]:
    """Try each level on one window.

    Returns:
        The levels that are supported, and for each of the others the reason why not.
    """
    from neuro_divergent.forecasting.uncertainty.requested import interval_quantiles  # loads torch

    fitted = forecaster.fitted
    batcher = fitted.batcher(windows.panel)
    batch = batcher.windows(*windows.locate(np.arange(1)))
    reasons: dict[float, str] = {}
    for level in levels:
        try:
            fitted.predictor.values(batcher, batch, interval_quantiles(level))
        except InputError as error:
            reasons[level] = str(error)
    return tuple(level for level in levels if level not in reasons), reasons
