"""Two healthy years with a yearly and a weekly season, watched by many looks."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from neuro_divergent.lifecycle.drift.alpha_spending import AlphaSpending
from neuro_divergent.lifecycle.drift.detection import detect_drift
from neuro_divergent.lifecycle.drift.errors import Errors
from tests.unit.lifecycle.drift.panels import autoregression

START = datetime(2022, 1, 1)
YEAR = 365


def yearly_errors(seed: int) -> Errors:
    """Return three years of daily errors that are larger in winter and depend on each other."""
    rng = np.random.default_rng(seed)
    days = np.arange(3 * YEAR)
    noise = autoregression(rng.standard_normal((30, len(days))), 0.4) * (1 + 0.4 * np.cos(2 * np.pi * days / YEAR))
    together = autoregression(0.2 * rng.standard_normal(len(days)), 0.6)
    season = 0.2 * np.cos(2 * np.pi * days / YEAR + 1) + rng.normal(0, 0.1, (30, 7))[:, days % 7]
    return Errors(
        ids=pl.Series([f"s{row}" for row in range(30)]),
        times=pl.Series([START + timedelta(days=int(day)) for day in days]),
        values=noise + together + season,
        season_length=YEAR,
        horizon=7,
    )


def alarms(errors: Errors, *, every: int, window: int) -> list[int]:
    """Return the days of the alarms, with the first year as the reference."""
    reference = errors.before(START + timedelta(days=YEAR))
    spending = AlphaSpending(0.05, start=reference.times[-1])
    found = []
    for day in range(YEAR + every, 3 * YEAR + 1, every):
        until = errors.before(START + timedelta(days=day)).after(reference.times[-1]).last(window)
        result = detect_drift(reference, until, alpha=spending.look(until.times[-1]), false_discoveries=0.0)
        if result.is_drift:
            found.append(day)
    return found


@pytest.mark.parametrize(("every", "window"), [(7, 7), (7, 28)])
def test_two_healthy_seasonal_years_have_no_alarm_at_five_percent_a_year(every, window):
    assert [alarms(yearly_errors(seed), every=every, window=window) for seed in range(4)] == [[]] * 4


def test_daily_looks_at_two_healthy_seasonal_years_have_no_alarm():
    assert alarms(yearly_errors(10), every=1, window=28) == []


def test_drift_in_the_second_year_is_found_by_weekly_looks():
    errors = yearly_errors(11)
    errors.values[:, 2 * YEAR :] += 1.5
    found = alarms(errors, every=7, window=28)
    assert found
    assert 2 * YEAR < found[0] <= 2 * YEAR + 60
