"""The colour map of heat maps: sequential, or diverging where numbers are below and above zero."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuro_divergent.core.arrays import Array, Floats, Ints
from neuro_divergent.core.formatting import format_number

COLOR_LEVELS = 8
"""Number of levels of a colour."""


class ColorLevels(NamedTuple):
    """Colour levels of the cells of a table, and the ``scale`` of all levels in order, from a low value to a high one.

    Levels are 1 to 8 from pale to full, negative for numbers below zero, and 0 for no number.
    """

    levels: Ints
    low: str
    high: str
    scale: list[int]


def map_colors(values: Array) -> ColorLevels:
    """Map numbers to colour levels, symmetric about zero where there are values on both sides."""
    numbers = np.asarray(values, dtype=np.float64)
    known = np.isfinite(numbers)
    if not known.any():
        return ColorLevels(np.zeros(numbers.shape, dtype=np.int64), "", "", [])
    low, high = float(numbers[known].min()), float(numbers[known].max())
    if low < 0 < high:
        size = max(-low, high)
        levels = np.where(numbers < 0, -1, 1) * _level(np.abs(numbers), 0.0, size)
        scale = [*range(-COLOR_LEVELS, 0), *range(1, COLOR_LEVELS + 1)]
        low, high = -size, size
    elif high <= 0 and low < 0:
        levels, scale = -_level(-numbers, -high, -low), [*range(-COLOR_LEVELS, 0)]
    else:
        levels, scale = _level(numbers, low, high), [*range(1, COLOR_LEVELS + 1)]
    return ColorLevels(np.where(known, levels, 0).astype(np.int64), format_number(low), format_number(high), scale)


def shrink(values: Array, most: tuple[int, int]) -> tuple[Floats, int, int]:
    """Average neighbours in a table too large to see, without NaN; return also how many rows and columns make one."""
    numbers = np.asarray(values, dtype=np.float64)
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    down, across = (max(1, -(-size // limit)) for size, limit in zip(numbers.shape, most, strict=True))
    for axis, size in ((0, down), (1, across)):
        if size > 1:
            begins = np.arange(0, numbers.shape[axis], size)
            known = np.add.reduceat(np.isfinite(numbers).astype(np.float64), begins, axis=axis)
            total = np.add.reduceat(np.nan_to_num(numbers), begins, axis=axis)
            numbers = np.where(known > 0, total / np.maximum(known, 1), np.nan)
    return numbers, down, across


def _level(numbers: Floats, low: float, high: float) -> Floats:
    """Return 1 to 8 for numbers between two ends; the highest level where the ends are equal."""
    fraction = (numbers - low) / (high - low) if high > low else np.ones_like(numbers)
    return np.clip(np.ceil(np.nan_to_num(fraction) * COLOR_LEVELS), 1, COLOR_LEVELS)
