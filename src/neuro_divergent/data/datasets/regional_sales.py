"""Weekly sales of shops in regions, some of which have just been opened."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats
from neuro_divergent.data.datasets.autoregression import autoregression

_REGIONS = {"north": 6, "south": 5, "east": 4, "west": 5}
_WEEKS = 156
_NEW = {4: 36, 9: 44, 13: 34, 18: 60}  # shops that have been open for so many weeks only, by their number


def regional_sales(seed: int = 0) -> pl.DataFrame:
    """Return weekly sales of 20 shops in four regions, made by formulas and a random generator.

    All shops have good and bad weeks together, those of a region even more so. Four of them have been open for only 34
    to 60 weeks.

    Args:
        seed: Of everything random.

    Returns:
        ``shop``, ``region``, ``week`` (its Monday) and ``units``.

    Examples:
        >>> import neuro_divergent as nd
        >>> nd.datasets.regional_sales()["shop"].n_unique()
        20
    """
    random = np.random.default_rng(seed)
    weeks = pl.date_range(date(2023, 1, 2), date(2025, 12, 22), "1w", eager=True)
    everywhere = autoregression(random, _WEEKS, 0.9, 0.03)
    shops, number = [], 0
    for region, count in _REGIONS.items():
        here = everywhere + autoregression(random, _WEEKS, 0.9, 0.02)
        for _ in range(count):
            number += 1
            open_for = _NEW.get(number, _WEEKS)
            named = {"shop": f"shop-{number:02d}", "region": region, "week": weeks, "units": _sales(random, here)}
            shops.append(pl.DataFrame(named).tail(open_for))
    return pl.concat(shops)


def _sales(random: np.random.Generator, common: Floats) -> Floats:
    """Return the sales of a shop, with a season of a year that all shops have, each of them more or less."""
    week = np.arange(_WEEKS)
    season = 1 + random.uniform(0.12, 0.22) * np.sin(2 * np.pi * (week + random.normal(0, 1)) / 52)
    noise = np.exp(common + random.normal(0, 0.05, _WEEKS))
    return np.round(random.lognormal(5.5, 0.4) * season * noise)
