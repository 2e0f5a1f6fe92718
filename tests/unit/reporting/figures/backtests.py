"""Backtests whose numbers are known."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

BEGIN = datetime(2024, 1, 1)


def make_backtest(
    names: list[Any], *, cutoffs: int = 3, horizon: int = 4, apart: int | None = None, seed: int = 0
) -> pl.DataFrame:
    """Return forecasts of random values, with the baselines, whose cut-offs are so many hours apart."""
    generator = np.random.default_rng(seed)
    rows = []
    for name in names:
        truth = 10 + generator.normal(size=cutoffs * (apart or horizon) + horizon)
        for number in range(cutoffs):
            first = number * (apart or horizon)
            for step in range(1, horizon + 1):
                actual = truth[first + step - 1]
                rows.append(
                    {
                        "unique_id": name,
                        "ds": BEGIN + timedelta(hours=first + step),
                        "cutoff": BEGIN + timedelta(hours=first),
                        "step": step,
                        "actual": actual,
                        "forecast": actual - 0.1 * step * generator.normal(),
                        "last value": actual + generator.normal(),
                        "seasonal naive": actual + 0.3 * generator.normal(),
                        "drift": actual + 2 * generator.normal(),
                    }
                )
    return pl.DataFrame(rows)
