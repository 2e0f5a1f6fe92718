"""The ends of the series that a run was trained on, as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.data.panel import Panel

_LEAST_ROWS, _MOST_ROWS = 100, 2_000  # of the end of a series
_MOST_ROWS_IN_ALL = 1_000_000


def context_of(panel: Panel, *, horizon: int, history: int) -> pl.DataFrame:
    """Return the ends of the series: id, time and target, null where it was not observed.

    Kept are five times the rows that are forecast, and at least those that a forecast is made from.
    """
    rows = min(max(5 * horizon, history, _LEAST_ROWS), _MOST_ROWS, _MOST_ROWS_IN_ALL // max(panel.num_series, 1))
    end = panel.tail(max(rows, 1))
    columns: dict[str, Any] = {}
    if panel.schema.id is not None:
        columns[panel.schema.id] = end.ids.gather(np.repeat(np.arange(end.num_series), end.lengths))
    observed = np.ones(len(end), np.bool_) if end.mask is None else end.mask
    columns[panel.schema.time] = end.times()
    columns[panel.schema.target] = pl.Series(end.y).set(~pl.Series(observed), None)
    return pl.DataFrame(columns)
