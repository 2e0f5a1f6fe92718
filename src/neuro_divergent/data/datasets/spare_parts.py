"""Monthly demand for spare parts, which is mostly zero."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl

_PARTS, _MONTHS = 60, 72


def spare_parts(seed: int = 0) -> pl.DataFrame:
    """Return the monthly demand for 60 spare parts over six years, made by formulas and a random generator.

    About two thirds of the months of a part have no demand, and now and then a workshop orders several at once. Parts
    differ in how often they break, and break more often in winter.

    Args:
        seed: Of everything random.

    Returns:
        ``part``, ``month`` and ``units``.

    Examples:
        >>> import neuro_divergent as nd
        >>> nd.datasets.spare_parts().shape
        (4320, 3)
    """
    random = np.random.default_rng(seed)
    month = np.arange(_MONTHS)
    season = 1 + 0.5 * np.cos(2 * np.pi * month / 12)
    rate = (0.1 + random.gamma(1.2, 0.55, (_PARTS, 1))) * season
    spread = 0.7  # of a negative binomial distribution: the smaller, the more at once and the more zeros
    units = random.negative_binomial(spread, spread / (spread + rate))
    months = pl.date_range(date(2019, 1, 1), date(2024, 12, 1), "1mo", eager=True)
    names = [f"part-{number:02d}" for number in range(1, _PARTS + 1)]
    return pl.DataFrame(
        {
            "part": pl.Series(names).gather(np.repeat(np.arange(_PARTS), _MONTHS)),
            "month": months.gather(np.tile(month, _PARTS)),
            "units": units.reshape(-1),
        }
    )
