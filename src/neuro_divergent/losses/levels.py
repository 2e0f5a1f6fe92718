"""Levels between 0 and 1 that a loss is trained for: of quantiles, of expectiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""How much one of several counts; only the ratios matter."""


def check_levels(levels: tuple[float, ...]) -> tuple[float, ...]:
    """Return the levels, or say what is wrong with them; for validators of settings."""
    if not levels or any(not 0 < level < 1 for level in levels) or len(set(levels)) != len(levels):
        raise ValueError("must be different numbers between 0 and 1, at least one")
    return levels


def middle(levels: Sequence[float]) -> int:
    """Return the place of the level nearest to one half; of two that are as near, the first."""
    return min(range(len(levels)), key=lambda place: abs(levels[place] - 0.5))
