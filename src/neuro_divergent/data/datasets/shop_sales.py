"""Daily sales of shops with prices, promotions and public holidays."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.data.datasets.autoregression import autoregression

_DAYS = [date(2023, 1, 2) + timedelta(days=day) for day in range(910)]  # 130 weeks, from a Monday on
_REGIONS = ("north", "north", "north", "south", "south", "west", "west", "west")
_WEEKDAYS = (0.90, 0.85, 0.90, 1.00, 1.25, 1.45, 0.65)
_FIXED_HOLIDAYS = ((1, 1), (5, 1), (10, 3), (12, 25), (12, 26))
_EASTER = (date(2023, 4, 9), date(2024, 3, 31), date(2025, 4, 20))
_FROM_EASTER = (-2, 1, 39, 50)  # Good Friday, Easter Monday, Ascension Day, Whit Monday
_KINDS = {"none": 1.0, "eve": 1.35, "holiday": 0.25}  # sales on such days, relative to others


def shop_sales(seed: int = 0) -> pl.DataFrame:
    """Return daily sales of eight shops from January 2023 to June 2025, made by formulas and a random generator.

    Sales follow the weekday, the season, the price, and whether the article is promoted. They rise on the day before a
    public holiday, fall on the holiday itself, and are lower for four days after a promotion, because people have
    filled their cupboards.

    Args:
        seed: Of everything random.

    Returns:
        ``store``, ``date`` and ``units``; what is planned ahead: ``price``, ``promotion`` (0 or 1) and ``holiday``
        (``"none"``, ``"eve"`` or ``"holiday"``); what is counted on the day: ``visitors``; and what does not change:
        ``region``.

    Examples:
        >>> import neuro_divergent as nd
        >>> nd.datasets.shop_sales().columns
        ['store', 'date', 'units', 'price', 'promotion', 'holiday', 'visitors', 'region']
    """
    holiday = [_kind_of(day) for day in _DAYS]
    calendar = _season() * np.array([_KINDS[kind] for kind in holiday])
    campaigns = _campaigns(np.random.default_rng((seed, 0)))
    known = pl.DataFrame({"date": _DAYS, "holiday": holiday})
    stores = [
        # Each shop has a generator of its own, so it does not depend on the others.
        known.hstack(_store(np.random.default_rng((seed, number)), calendar, campaigns)).with_columns(
            store=pl.lit(f"store-{number}"), region=pl.lit(region)
        )
        for number, region in enumerate(_REGIONS, start=1)
    ]
    columns = ("store", "date", "units", "price", "promotion", "holiday", "visitors", "region")
    return pl.concat(stores).select(columns)


def _store(random: np.random.Generator, calendar: Floats, campaigns: Ints) -> pl.DataFrame:
    """Return the columns of one shop that are its own."""
    number_of_days, number_of_campaigns = len(_DAYS), campaigns.max() + 1
    usual = round(random.uniform(3.5, 5.5), 1)
    takes_part = random.random(number_of_campaigns) < 0.85
    takes_part[0] = False  # days without a campaign
    promotion = takes_part[campaigns]
    discount = random.choice([0.15, 0.2, 0.3], number_of_campaigns)[campaigns]
    price = np.where(promotion, np.round(usual * (1 - discount), 2), usual)
    after = np.zeros(number_of_days, bool)
    for delay in range(1, 5):
        after[delay:] |= promotion[:-delay]
    expected = (
        random.lognormal(4.6, 0.4)
        * calendar
        * (1 + random.uniform(-0.05, 0.12) * np.arange(number_of_days) / 365)
        * (price / usual) ** -1.8
        * np.where(promotion, 1.35, np.where(after, 0.88, 1.0))
        * np.exp(autoregression(random, number_of_days, 0.95, 0.02))
    )
    units = random.poisson(expected * random.gamma(60, 1 / 60, number_of_days))
    visitors = random.poisson(20 + 5 * units)
    return pl.DataFrame({"units": units, "price": price, "promotion": promotion.astype(np.int64), "visitors": visitors})


def _season() -> Floats:
    """Return the factor of the weekday and the time of the year."""
    of_year = np.array([day.timetuple().tm_yday for day in _DAYS])
    before_christmas = np.where((of_year > 335) & (of_year < 359), 1.25, 1.0)
    weekday = np.array([_WEEKDAYS[day.weekday()] for day in _DAYS])
    return weekday * (1 + 0.1 * np.sin(2 * np.pi * (of_year - 80) / 365)) * before_christmas


def _kind_of(day: date) -> str:
    return "holiday" if _is_holiday(day) else "eve" if _is_holiday(day + timedelta(days=1)) else "none"


def _is_holiday(day: date) -> bool:
    from_easter = (day - _EASTER[day.year - _EASTER[0].year]).days
    return (day.month, day.day) in _FIXED_HOLIDAYS or from_easter in _FROM_EASTER


def _campaigns(random: np.random.Generator) -> Ints:
    """Return the number of the campaign of each day, 0 on days without one."""
    numbers, day, number = np.zeros(len(_DAYS), np.int64), 10, 0
    while day < len(_DAYS):
        number += 1
        numbers[day : day + int(random.choice([6, 12]))] = number
        day += int(random.integers(21, 42))
    return numbers
