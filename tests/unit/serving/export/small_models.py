"""Small fitted models of every kind, and tables for them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl

import neuro_divergent as nd

HORIZON, HISTORY, ROWS = 3, 12, 90
TRAINING = nd.TrainingConfig(max_steps=3, threads=1, early_stopping=None)
NAMES = ("a", "b", "c")
KINDS, COLORS = ("fair", "game", "no"), (3, 5, 9)
COVARIATES: dict[str, Any] = {
    "past": ["seen", "color"],
    "future": ["price", "event"],
    "static": ["region", "size"],
    "categorical": ["color"],
    "calendar": ["hour", "day_of_week_sin"],
}


def series_table(names: tuple[Any, ...] = NAMES, *, rows: int = ROWS, seed: int = 0) -> pl.DataFrame:
    """Return positive hourly series with covariates of every kind."""
    random = np.random.default_rng(seed)
    start = dt.datetime(2024, 2, 26)
    frames = [
        pl.DataFrame(
            {
                "unique_id": [name] * rows,
                "ds": [start + dt.timedelta(hours=row) for row in range(rows)],
                "y": 20 + 8 * place + 5 * np.sin(np.arange(rows) / 4) + random.normal(size=rows),
                "seen": 4 + 2 * random.normal(size=rows),
                "color": random.choice(COLORS, rows),
                "price": random.normal(size=rows),
                "event": random.choice(KINDS, rows),
                "region": [("north", "south")[place % 2]] * rows,
                "size": [float(place)] * rows,
            }
        )
        for place, name in enumerate(names)
    ]
    return pl.concat(frames)


TABLE = series_table()
COUNTS = TABLE.with_columns(pl.col("y").round())
TREE = nd.Hierarchy.from_columns(pl.DataFrame({"unique_id": list(NAMES)}), [])


def forecaster(architecture: Any = "nlinear", **task: Any) -> nd.Forecaster:
    """Return an unfitted forecaster."""
    settings = {"horizon": HORIZON, "input_size": HISTORY, **task}
    return nd.Forecaster(architecture, training=TRAINING, **settings)


def nhits(**task: Any) -> nd.Forecaster:
    """Return an unfitted forecaster that takes covariates of every kind."""
    return forecaster(nd.NHITS(hidden_size=8), **task)
