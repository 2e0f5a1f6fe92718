"""Panels of several kinds of series, for the tests of statistical models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema


def panel_of(series: Sequence[Sequence[float]], frequency: Frequency | None = None) -> Panel:
    """Return a panel of series; NaN is a value that was not observed."""
    values = [np.asarray(item, np.float32) for item in series]
    y = np.concatenate(values)
    mask = ~np.isnan(y)
    return Panel(
        schema=Schema(id="unique_id", missing="mask"),
        ids=pl.Series([f"s{place:03}" for place in range(len(values))]),
        starts=pl.Series([0] * len(values)),
        frequency=frequency or Frequency(1, ""),
        offsets=np.concatenate([[0], np.cumsum([len(item) for item in values])]).astype(np.int64),
        y=np.nan_to_num(y),
        mask=None if mask.all() else mask,
    )


def monthly(count: int = 3, length: int = 60, seed: int = 0) -> Panel:
    """Return series with a trend, a season of 12 rows and noise; each is five rows shorter than the one before."""
    rng, steps = np.random.default_rng(seed), np.arange(length)
    whole = [100 + 10 * k + 0.5 * steps + 8 * np.sin(2 * np.pi * steps / 12 + k) for k in range(count)]
    return panel_of([(one + rng.normal(0, 2, length))[: length - 5 * k].tolist() for k, one in enumerate(whole)])


def demand(count: int = 3, length: int = 60, seed: int = 0) -> Panel:
    """Return counts that are often zero."""
    rng = np.random.default_rng(seed)
    return panel_of([rng.poisson(0.4, length).astype(float).tolist() for _ in range(count)])
