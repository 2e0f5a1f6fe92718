"""Control of false discoveries among many tests."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import Floats


def adjust_p_values(p_values: Floats) -> Floats:
    """Adjust p values as Benjamini & Hochberg (1995) do; NaN stays NaN and is not counted.

    Those that are at most ``q`` afterwards are discoveries, of which a fraction of at most ``q`` is expected to be
    false.
    """
    adjusted = np.full(p_values.shape, np.nan)
    known = np.flatnonzero(np.isfinite(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    steps = p_values[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0)
    return adjusted
