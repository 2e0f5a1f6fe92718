"""Standard deviation of the history that a forecast was made from."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.base import SMALLEST

_ROWS = 4096  # histories that are copied at once


def spread_before(panel: Panel, rows: Ints, input_size: int) -> Floats:
    """Return the standard deviation of the observed values in the ``input_size`` rows before each row.

    It is 1 for a constant history, as in the scaler of windows.
    """
    result = np.empty(len(rows))
    back = np.arange(-input_size, 0)
    for first in range(0, len(rows), _ROWS):
        places = rows[first : first + _ROWS, None] + back
        values = panel.y[places].astype(np.float64)
        seen = np.ones(values.shape, bool) if panel.mask is None else panel.mask[places]
        count = np.maximum(seen.sum(1), 1)
        mean = np.where(seen, values, 0).sum(1) / count
        deviation = np.where(seen, values - mean[:, None], 0)
        spread = np.sqrt(np.square(deviation).sum(1) / count)
        result[first : first + _ROWS] = np.where(spread > SMALLEST * np.abs(mean), spread, 1.0)
    return result
