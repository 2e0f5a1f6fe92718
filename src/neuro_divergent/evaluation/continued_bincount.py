"""Sums by place over blocks of values."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints


def continued_bincount(totals: Floats, places: Ints, weights: Floats) -> Floats:
    """Return ``totals`` with weights added at places, one after another, as if all were added by one ``bincount``."""
    both = np.concatenate([np.arange(len(totals)), places])
    return np.bincount(both, weights=np.concatenate([totals, weights]), minlength=len(totals)).astype(np.float64)
