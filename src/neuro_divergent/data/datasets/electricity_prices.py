"""Hourly electricity prices with forecasts of load and wind."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.data.datasets.autoregression import autoregression

_START = datetime(2025, 1, 1)
_DAYS, _CALM_DAYS = 180, 138
_DAY = np.array([-9, -11, -12, -12, -11, -8, -2, 4, 7, 6, 5, 5, 4, 3, 2, 2, 4, 8, 10, 9, 5, 1, -4, -7], np.float64)


def electricity_prices(seed: int = 0) -> pl.DataFrame:
    """Return hourly prices of one market from January to June 2025, made by formulas and a random generator.

    Prices follow the load that wind does not cover: slowly where there is enough of everything, steeply where power
    plants become scarce, and below zero in windy nights. In the last six weeks the market is nervous: the same load and
    wind give prices that vary about twice as much.

    Args:
        seed: Of everything random.

    Returns:
        ``time``, ``price``, and two forecasts that are published the day before: ``load`` and ``wind``.

    Examples:
        >>> import neuro_divergent as nd
        >>> nd.datasets.electricity_prices().shape
        (4320, 4)
    """
    random = np.random.default_rng(seed)
    hours = np.arange(24 * _DAYS)
    load = _load(random, hours)
    wind = np.clip(14 + autoregression(random, len(hours), 0.98, 1.3), 0, None)
    # What is published the day before is not quite what comes.
    scarce = load - wind + autoregression(random, len(hours), 0.9, 0.5)
    nervous = np.where(hours < 24 * _CALM_DAYS, 1.0, 2.2)
    noise = autoregression(random, len(hours), 0.7, 3.0 * nervous)
    spikes = random.gamma(1.5, 25, len(hours)) * (
        random.random(len(hours)) < 0.004 * nervous * np.exp((scarce - 45) / 8)
    )
    price = 55 + 1.6 * (scarce - 38) + 0.8 * np.exp((scarce - 48) / 5) + noise + spikes
    times = pl.datetime_range(_START, _START.replace(year=2026), "1h", eager=True).head(len(hours))
    return pl.DataFrame({"time": times, "price": price.round(2), "load": load.round(2), "wind": wind.round(2)})


def _load(random: np.random.Generator, hours: Ints) -> Floats:
    """Return a load with a day, a week and a year."""
    day = hours // 24
    is_weekend = (_START.weekday() + day) % 7 >= 5
    yearly = 4 * np.cos(2 * np.pi * day / 365)
    return 52 + yearly + _DAY[hours % 24] - 6 * is_weekend + autoregression(random, len(hours), 0.95, 0.4)
