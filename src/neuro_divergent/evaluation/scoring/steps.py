"""The step before each row of a table of forecasts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuro_divergent.core.arrays import Bools, Floats, Ints
from neuro_divergent.data.io.table import Table
from neuro_divergent.evaluation.scoring.columns import CUTOFF, FOLD, STEP

_ROW = "row of the table"


@dataclass(frozen=True, eq=False)
class Steps:
    """Position of the step before each row.

    Attributes:
        previous: Row of the step before, for each row; -1 if the table has none.
        first: Whether a row is the first step after its cut-off.
        last: Value at the cut-off of each row, which the first step is compared with; NaN where it is not known.
    """

    previous: Ints
    first: Bools
    last: Floats

    @classmethod
    def of(cls, table: Table, series: str | None, time: str, last: Floats | None = None) -> Steps:
        """Find the steps of a table; a window is a series, a cut-off and a fold."""
        frame = table.frame
        window = [name for name in (FOLD, series, CUTOFF) if name is not None and name in frame.columns]
        order = STEP if STEP in frame.columns else time
        if order not in frame.columns:
            raise table.lacks(order)
        ordered = frame.select(*window, order).with_row_index(_ROW).sort(*window, order)
        rows = ordered[_ROW].to_numpy()
        follows = np.ones(max(len(rows) - 1, 0), np.bool_)
        for name in window:
            follows &= ordered[name].slice(1).eq_missing(ordered[name].slice(0, len(rows) - 1)).to_numpy()
        if order == STEP:
            follows &= np.diff(ordered[STEP].to_numpy()) == 1
        previous = np.full(len(rows), -1, np.int64)
        previous[rows[1:][follows]] = rows[:-1][follows]
        first = frame[STEP].to_numpy() == 1 if order == STEP else previous < 0
        return cls(previous, first, np.full(len(rows), np.nan) if last is None else last)

    def before(self, values: Floats) -> Floats:
        """Return the value of the step before each row; NaN if there is none."""
        found = np.where(self.previous >= 0, values[self.previous], np.nan)
        return np.where(self.first, self.last, found)
