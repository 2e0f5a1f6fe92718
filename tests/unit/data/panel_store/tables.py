"""Tables with every kind of column, and panels that are compared bit for bit."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.data.panel import Panel

ROLES: dict[str, Any] = {
    "past": ("visitors", "mood"),
    "future": ("price", "weather"),
    "static": ("size", "region"),
    "weight": "w",
    "calendar": ("hour", "day_of_week_sin"),
    "missing": "mask",
}
START = datetime(2024, 3, 1)
ARRAYS = ("offsets", "y", "mask", "weight", "past_x", "future_x", "static_x")
REST = ("schema", "frequency", "past", "future", "static", "categories")


def table(lengths: dict[str, int], *, missing: float = 0.1, seed: int = 0) -> pl.DataFrame:
    """Return series of some lengths with covariates of all kinds, and some missing targets."""
    rng = np.random.default_rng(seed)
    frames = []
    for number, (name, length) in enumerate(lengths.items()):
        y = rng.normal(size=length).cumsum() + 50
        hidden = (rng.random(length) < missing) & (np.arange(length) > 0)
        frames.append(
            pl.DataFrame(
                {
                    "unique_id": [name] * length,
                    "ds": [START + timedelta(hours=3 * number + step) for step in range(length)],
                    "y": [None if gone else value for gone, value in zip(hidden, y.tolist(), strict=True)],
                    "w": rng.integers(1, 5, length),
                    "visitors": rng.integers(0, 100, length),
                    "mood": [("bad", "good")[step % 2] for step in range(length)],
                    "price": rng.normal(size=length),
                    "weather": [("rain", "snow", "sun")[(step + number) % 3] for step in range(length)],
                    "size": [1.1 * (number + 1)] * length,
                    "region": [("east", "north")[number % 2]] * length,
                },
                schema_overrides={"y": pl.Float64},
            )
        )
    return pl.concat(frames)


def assert_same(one: Panel, other: Panel) -> None:
    """Compare two panels bit for bit, whatever their arrays are."""
    for name in ARRAYS:
        mine, theirs = getattr(one, name), getattr(other, name)
        assert (mine is None) == (theirs is None), name
        if mine is not None:
            assert np.asarray(mine).tobytes() == np.asarray(theirs).tobytes(), name
            assert mine.dtype == theirs.dtype
            assert mine.shape == theirs.shape
    for name in REST:
        assert getattr(one, name) == getattr(other, name), name
    assert one.ids.equals(other.ids, check_dtypes=True, check_names=True)
    assert one.starts.equals(other.starts, check_dtypes=True, check_names=True)
