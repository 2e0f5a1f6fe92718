"""Naive errors of the series of a study, which scaled objectives divide by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuro_divergent.evaluation.metrics import seasonal_error
from neuro_divergent.search.objective import Objective, metric_of

if TYPE_CHECKING:
    from neuro_divergent.core.arrays import Floats, Ints
    from neuro_divergent.data.panel import Panel

_SCALE_FREE = ("mase", "rmsse", "mape", "smape")


def is_scale_free(objective: Objective) -> bool:
    """Whether all series count alike in an objective, however large their values are."""
    return metric_of(objective.name) in _SCALE_FREE


def naive_errors(panel: Panel, ends: Ints) -> Floats:
    """Return the mean absolute difference of values one season apart before some rows, for each series.

    It is NaN where there is no such pair, and 0 for a constant series.
    """
    return seasonal_error(panel.y, panel.offsets, ends, panel.frequency.season_length, panel.mask)
