"""Simulated errors and values for the tests of drift."""

from __future__ import annotations

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats
from neuro_divergent.lifecycle.drift.errors import Errors
from neuro_divergent.lifecycle.drift.series_matrix import SeriesMatrix

KINDS = ("white", "autoregressive", "season 24", "season 168", "trend", "volatility clusters", "common shock")


def autoregression(noise: Floats, memory: float) -> Floats:
    """Filter noise along its last axis."""
    made = noise.copy()
    for place in range(1, made.shape[-1]):
        made[..., place] += memory * made[..., place - 1]
    return made


def forecast_residuals(kind: str, rng: np.random.Generator, *, series: int = 40, length: int = 600) -> Floats:
    """Return what is left of a series after a reasonable but imperfect forecast, ``(series, length)``.

    Each kind leaves a part of what it is named after: some autocorrelation, a tenth of the season, a slow trend.
    """
    noise = rng.standard_normal((series, length + 100))
    times = np.arange(length)
    if kind == "autoregressive":
        return autoregression(noise, 0.5)[:, 100:]
    if kind == "volatility clusters":
        variance = np.ones(series)
        for place in range(noise.shape[1]):
            noise[:, place] *= np.sqrt(variance)
            variance = 0.05 + 0.1 * noise[:, place] ** 2 + 0.85 * variance
    noise = noise[:, 100:]
    if kind.startswith("season"):
        season = int(kind.split()[1])
        noise = noise + 0.2 * np.sin(2 * np.pi * times / season + rng.uniform(0, 0.5, (series, 1)))
    if kind == "trend":
        noise = noise + 2e-4 * times * rng.standard_normal((series, 1))
    if kind == "common shock":
        noise = noise + 0.7 * autoregression(np.sqrt(1 - 0.8**2) * rng.standard_normal(length), 0.8)
    return noise


def errors_of(values: Floats, *, start: int = 0, season_length: int = 24, horizon: int = 1) -> Errors:
    """Return errors with times that count."""
    return Errors(
        ids=names_of(values),
        times=pl.Series("time", np.arange(start, start + values.shape[1])),
        values=values,
        season_length=season_length,
        horizon=horizon,
    )


def split(values: Floats, *, reference: int = 400, season_length: int = 24) -> tuple[Errors, Errors]:
    """Return the first columns as reference, and the others as new errors."""
    return (
        errors_of(values[:, :reference], season_length=season_length),
        errors_of(values[:, reference:], start=reference, season_length=season_length),
    )


def matrix_of(values: Floats, *, start: int = 0, season_length: int = 24) -> SeriesMatrix:
    """Return values with times that count."""
    times = pl.Series("time", np.arange(start, start + values.shape[1]))
    return SeriesMatrix(ids=names_of(values), times=times, values=values, season_length=season_length)


def names_of(values: Floats) -> pl.Series:
    """Return a name for each series."""
    return pl.Series("id", [f"s{row:04d}" for row in range(len(values))])
