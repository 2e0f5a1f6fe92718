"""Small tables for tests of pipelines."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl

DAY = datetime.date(2024, 1, 1)


def daily(rows: int = 60, series: int = 2, *, first: datetime.date = DAY) -> pl.DataFrame:
    """Return daily series with a week, each at its own level."""
    frames = []
    for number in range(series):
        day = np.arange(rows)
        values = 10.0 * (number + 1) + np.sin(2 * np.pi * day / 7) + 0.01 * day
        dates = pl.date_range(first, first + datetime.timedelta(days=rows - 1), "1d", eager=True)
        frames.append(pl.DataFrame({"unique_id": [f"s{number}"] * rows, "ds": dates, "y": values}))
    return pl.concat(frames)
