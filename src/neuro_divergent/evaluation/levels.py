"""Levels of intervals that a forecaster supports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from neuro_divergent.core.errors import InputError
from neuro_divergent.evaluation.cross_validation.window_list import WindowList

if TYPE_CHECKING:
    from neuro_divergent.data.windows import Windows
    from neuro_divergent.forecasting.protocol import ForecastModel


def supported_levels(
    forecaster: ForecastModel, windows: Windows, levels: Sequence[float]
) -> tuple[tuple[float, ...], dict[float, str]]:
    """Try the levels on one window, each by itself where not all of them are supported.

    Returns:
        The levels that are supported, and for each of the others the reason why not.
    """
    one, reasons = WindowList.sample(windows, 1), dict[float, str]()
    try:
        forecaster.forecast_windows(one, levels)
        return tuple(levels), reasons
    except InputError:
        pass  # of one level, or of several
    for level in levels:
        try:
            forecaster.forecast_windows(one, [level])
        except InputError as error:
            reasons[level] = str(error)
    return tuple(level for level in levels if level not in reasons), reasons
