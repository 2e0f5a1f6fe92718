"""A rate of false alarms per year, spent over looks."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.lifecycle.drift.alpha_spending import AlphaSpending

START = datetime(2024, 1, 1)


@pytest.mark.parametrize("days", [1, 7, 30])
def test_looks_of_a_year_get_the_rate_together(days):
    spending = AlphaSpending(0.05, start=START)
    looks = [spending.look(START + timedelta(days=day)) for day in range(days, 366, days)]
    assert sum(looks) == pytest.approx(0.05 * (days * len(looks)) / 365.25)
    assert looks[0] == pytest.approx(0.05 * days / 365.25)
    assert spending.spent == pytest.approx(sum(looks))


def test_the_same_look_again_costs_nothing():
    spending = AlphaSpending(start=START)
    first = spending.look(START + timedelta(days=1))
    second = spending.look(START + timedelta(days=3))
    assert spending.look(START + timedelta(days=1)) == first
    assert spending.look(START + timedelta(days=3)) == second == pytest.approx(2 * first)
    assert spending.looks == 2


def test_an_earlier_time_that_was_not_looked_at_gets_nothing():
    spending = AlphaSpending(start=START)
    spending.look(START + timedelta(days=10))
    before = spending.to_dict()
    assert spending.look(START + timedelta(days=5)) == 0.0
    assert spending.look(START - timedelta(days=5)) == 0.0
    assert spending.to_dict() == before


@given(st.lists(st.integers(0, 3000), max_size=60))
def test_looks_in_any_order_never_spend_more_than_the_rate_per_year(days):
    spending = AlphaSpending(0.05, start=START)
    granted = {}
    for day in days:
        granted[day] = max(granted.get(day, 0.0), spending.look(START + timedelta(days=day)))
    assert sum(granted.values()) <= 0.05 * max([0, *days]) / 365.25 + 1e-12
    assert spending.spent == pytest.approx(sum(granted.values()))
    assert all(alpha <= 0.05 for alpha in granted.values())


def test_a_machine_that_slept_for_years_gets_no_more_than_the_rate():
    spending = AlphaSpending(0.05, start=START)
    assert spending.look(START + timedelta(days=3 * 365)) == 0.05


@given(st.lists(st.integers(1, 400), min_size=1, max_size=20, unique=True))
def test_restored_state_goes_on_as_if_it_had_never_stopped(days):
    going, stopped = (AlphaSpending(0.1, start=START) for _ in range(2))
    for day in sorted(days):
        stopped = AlphaSpending.from_dict(strict_json.loads(strict_json.dumps(stopped.to_dict()), "state"))
        assert stopped.look(START + timedelta(days=day)) == going.look(START + timedelta(days=day))
    assert stopped.to_dict() == going.to_dict()


def test_dates_and_zoned_times_are_the_same_moments():
    spending = AlphaSpending(start=date(2024, 1, 1))
    assert spending.look(date(2024, 1, 8)) == AlphaSpending(start=START).look(datetime(2024, 1, 8, tzinfo=UTC))


def test_times_that_count_need_the_length_of_a_year():
    assert AlphaSpending(0.05, start=0, year=8760).look(24) == pytest.approx(0.05 * 24 / 8760)
    with pytest.raises(InputError, match="year"):
        AlphaSpending(0.05, start=0)


@pytest.mark.parametrize("rate", [0, 1, -0.1])
def test_rate_that_is_no_probability_is_refused(rate):
    with pytest.raises(ConfigError, match="rate"):
        AlphaSpending(rate, start=START)


@pytest.mark.parametrize(
    "state", [{}, {"rate": 0.05}, {"rate": 0.05, "year": None, "start": 0, "forgotten": 0, "looks": 3}]
)
def test_other_state_is_refused(state):
    with pytest.raises(InputError, match="alpha spending"):
        AlphaSpending.from_dict(state)


@pytest.mark.parametrize("time", [None, "2024-01-01", True, float("nan")])
def test_what_is_no_time_is_refused(time):
    with pytest.raises(InputError, match="no time"):
        AlphaSpending(start=START).look(time)


def test_old_looks_are_forgotten_but_stay_spent(monkeypatch):
    from neuro_divergent.lifecycle.drift import alpha_spending

    monkeypatch.setattr(alpha_spending, "_MOST_LOOKS", 5)
    spending = AlphaSpending(0.05, start=0, year=365)
    total = sum(spending.look(day) for day in range(1, 21))
    assert spending.looks == 5
    assert spending.spent == pytest.approx(total)
    assert spending.look(1) == 0.0
