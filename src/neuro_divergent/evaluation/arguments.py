"""Checks of arguments that several functions of this package share."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.panel import Panel


def require_counts(**counts: int | None) -> None:
    """Refuse an argument that is neither unset nor a positive integer."""
    for name, count in counts.items():
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise InputError(f"{name}: {count!r} must be an integer of at least 1.")


def rows_at_end(panel: Panel, last: int | float, least: int) -> Ints:
    """Return how many rows at the end of each series ``last`` means: a fraction below 1, or a number of rows.

    Args:
        panel: The series.
        last: Fraction of each series, or number of rows.
        least: Rows of each series at least.

    Raises:
        InputError: If it is neither.
    """
    if isinstance(last, bool) or not last > 0 or (last >= 1 and last != int(last)):
        raise InputError(f"last: {last!r} must be a fraction between 0 and 1 or an integer number of rows.")
    rows = np.round(last * panel.lengths) if last < 1 else np.full(panel.num_series, last)
    return np.maximum(rows.astype(np.int64), least)
