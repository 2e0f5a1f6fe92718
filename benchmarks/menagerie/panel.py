"""What both sides learn, and how much of it at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from menagerie.pairs import PAIRS, Pair
from versus.series import daily_series

if TYPE_CHECKING:
    import polars as pl

STEPS = 1_000  # rows of a series
SERIES, CHANNELS = 32, 8  # series of a panel; fewer where a window spans them all
WINDOWS = 32  # in a training step
RATE = 1e-3


def named(theirs: str) -> Pair:
    """Return the pair that has this name in NeuralForecast."""
    return next(pair for pair in PAIRS if pair.theirs == theirs)


def num_series(pair: Pair) -> int:
    """Return how many series the panel of a pair has."""
    return CHANNELS if pair.joint else SERIES


def panel(pair: Pair) -> pl.DataFrame:
    """Return the series of a pair, a long table in order."""
    return daily_series(num_series(pair), STEPS)
