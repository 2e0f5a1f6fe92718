"""Incidents of the feed: found where something is broken, and not in healthy data."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.lifecycle.drift.feed import broken_series, check_feed, find_incidents
from neuro_divergent.lifecycle.drift.run_length import longest_runs
from tests.unit.lifecycle.drift.panels import matrix_of, names_of

PAST, NEW, SERIES = 400, 200, 60


def healthy(kind, rng, series=SERIES):
    """Return values of a kind of healthy series."""
    shape, times = (series, PAST + NEW), np.arange(PAST + NEW)
    if kind == "season":
        return 50 + 20 * np.sin(2 * np.pi * times / 24) + rng.normal(0, 3, shape)
    if kind == "nights without sun":
        return np.maximum(0, 100 * np.sin(2 * np.pi * times / 24)) * rng.uniform(0.3, 1, shape)
    if kind == "intermittent":
        return rng.poisson(2, shape) * (rng.random(shape) < rng.uniform(0.02, 0.5, (series, 1))) * 1.0
    if kind == "counts":
        return rng.poisson(rng.uniform(0.1, 20, (series, 1)), shape) * 1.0
    if kind == "growth":
        return np.exp(times * rng.uniform(0, 0.005, (series, 1))) * rng.uniform(0.8, 1.2, shape)
    if kind == "skewed":
        return np.exp(rng.normal(0, 1.5, shape))
    if kind == "closed on Sundays and holidays":
        values = rng.gamma(5, 10, shape)
        values[:, times % 7 == 6] = 0
        values[:, [355, 356, 358, 560, 561, 562]] = 0
        return values
    if kind == "common shock":
        return 100 * np.exp(np.cumsum(rng.normal(0, 0.05, shape[1]))) * rng.uniform(0.5, 1.5, shape)
    if kind == "prices that stay for days":
        changes = rng.random(shape) < rng.uniform(0.02, 0.2, (series, 1))
        return 100 + np.cumsum(changes * rng.normal(0, 0.5, shape), axis=1)
    if kind == "always constant":
        return np.ones(shape) * rng.uniform(1, 9, (series, 1))
    if kind == "temperature around zero":
        return 3 + 4 * np.sin(2 * np.pi * times / 24) + rng.normal(0, 2, shape)
    if kind == "missing here and there":
        values = rng.normal(100, 5, shape)
        values[rng.random(shape) < 0.1] = np.nan
        return values
    assert kind == "steep ramp"
    return rng.uniform(0.9, 1.1, shape) * np.where(times > 450, 10 ** ((times - 450) / 150), 1)


HEALTHY = (
    "season", "nights without sun", "intermittent", "counts", "growth", "skewed", "closed on Sundays and holidays",
    "common shock", "prices that stay for days", "always constant", "temperature around zero",
    "missing here and there", "steep ramp",
)  # fmt: skip


def incidents_of(values, season_length=24):
    times = pl.Series(np.arange(PAST, PAST + NEW))
    return find_incidents(values[:, :PAST], values[:, PAST:], names_of(values), times, season_length=season_length)


@pytest.mark.parametrize("kind", HEALTHY)
def test_healthy_series_have_no_incident(kind):
    season = 7 if "Sundays" in kind else 24
    for seed in range(8):
        found = incidents_of(healthy(kind, np.random.default_rng(seed)), season)
        assert found == [], (seed, [one.sentence for one in found])


@pytest.mark.parametrize("factor", [10, 60, 100, 1000, 0.1, 0.01, 0.001])
@pytest.mark.parametrize("kind", ["season", "prices that stay for days"])
def test_another_unit_of_the_whole_feed_is_one_incident_with_its_factor(kind, factor):
    values = healthy(kind, np.random.default_rng(0))
    values[:, 450:] *= factor
    (found,) = incidents_of(values)
    assert found.kind == "unit"
    assert found.amount == pytest.approx(factor)
    assert found.since == 450
    assert found.until is None
    assert len(found.series) == SERIES
    assert found.is_whole_feed


@pytest.mark.parametrize("kind", ["counts", "growth", "common shock", "intermittent", "nights without sun"])
def test_thousand_times_larger_values_are_found_in_noisy_series(kind):
    values = healthy(kind, np.random.default_rng(1))
    values[:, 450:] *= 1000
    found = [one for one in incidents_of(values) if one.kind == "unit" and one.amount == pytest.approx(1000)]
    assert sum(len(one.series) for one in found) >= 0.4 * SERIES


@pytest.mark.parametrize("factor", [100, 1000, 0.001])
def test_jump_far_beyond_the_past_is_found_whatever_a_longer_season_makes_of_its_factor(factor):
    times = np.arange(PAST + NEW)
    for start in range(420, 588, 24):
        values = healthy("season", np.random.default_rng(start)) + 15 * np.sin(2 * np.pi * times / 168)
        values[:, start:] *= factor
        found = [one for one in incidents_of(values) if one.kind == "unit"]
        assert sum(len(one.series) for one in found) == SERIES, start
        assert found[0].amount == pytest.approx(factor)


def test_another_unit_of_one_series_names_it():
    values = healthy("season", np.random.default_rng(2))
    values[7, 500:520] *= 1000
    (found,) = incidents_of(values)
    assert (found.series, found.since, found.until) == (("s0007",), 500, 519)
    assert not found.is_whole_feed
    assert "s0007" in found.sentence
    assert "1,000" in found.sentence


def test_two_values_of_another_unit_at_the_end_are_enough():
    values = healthy("season", np.random.default_rng(3))
    values[:, -2:] /= 1000
    (found,) = incidents_of(values)
    assert found.kind == "unit"
    assert "divided by about 1,000" in found.sentence


def test_growth_by_a_factor_that_is_no_unit_is_no_incident():
    values = healthy("season", np.random.default_rng(4))
    values[:, 450:] *= 6
    assert incidents_of(values) == []


@pytest.mark.parametrize("kind", ["season", "counts"])
def test_series_that_stands_still_is_constant(kind):
    values = healthy(kind, np.random.default_rng(5))
    values[-1, 480:] = values[-1, 480]
    found = [one for one in incidents_of(values) if one.kind == "constant"]
    assert [(one.series, one.since, one.amount) for one in found] == [(("s0059",), 480, 120.0)]


def test_series_that_was_constant_before_is_not_reported():
    values = healthy("season", np.random.default_rng(6))
    values[3] = 5.0
    assert incidents_of(values) == []


@pytest.mark.parametrize("kind", ["season", "missing here and there"])
def test_feed_that_stops_is_missing(kind):
    values = healthy(kind, np.random.default_rng(7))
    values[:, 480:] = np.nan
    (found,) = incidents_of(values)
    assert found.kind == "missing"
    assert found.is_whole_feed
    assert found.since <= 480


def test_series_that_ended_before_is_not_missing_now():
    values = healthy("season", np.random.default_rng(8))
    values[4, 350:] = np.nan
    assert incidents_of(values) == []


def test_zeros_instead_of_values_are_found_in_series_with_zeros_at_night():
    values = healthy("nights without sun", np.random.default_rng(9))
    values[:, 500:] = 0
    (found,) = incidents_of(values)
    assert found.kind == "constant"
    assert found.is_whole_feed


def test_many_scattered_zeros_are_a_mass_of_zeros():
    rng = np.random.default_rng(10)
    values = healthy("season", rng)
    values[:, 401::2] = 0
    values[:, 402::4] = 0
    (found,) = incidents_of(values)
    assert found.kind == "zeros"
    assert found.amount > 0.7


def test_negative_values_of_counts_are_found():
    values = healthy("counts", np.random.default_rng(11))
    values[5] = np.random.default_rng(0).poisson(1, PAST + NEW)
    values[5, 550] = -1
    found = [one for one in incidents_of(values) if one.kind == "negative"]
    assert [(one.series, one.since, one.until, one.amount) for one in found] == [(("s0005",), 550, 550, -1.0)]


def test_series_with_hardly_any_past_are_not_checked():
    values = healthy("season", np.random.default_rng(12))
    values[:, : PAST - 10] = np.nan
    values[:, 450:] *= 1000
    assert incidents_of(values) == []


def table_of(values, start=0):
    times = [datetime(2024, 1, 1) + timedelta(hours=start + hour) for hour in range(values.shape[1])]
    ids = names_of(values).to_list()
    return pl.DataFrame(
        {
            "unique_id": [name for name in ids for _ in times],
            "ds": times * len(ids),
            "y": values.ravel(),
        }
    ).filter(pl.col("y").is_not_nan())


def test_check_feed_of_tables_finds_what_matrices_have():
    values = healthy("season", np.random.default_rng(13))
    values[:, 450:] *= 60
    (found,) = check_feed(table_of(values[:, :PAST]), table_of(values[:, PAST:], start=PAST))
    assert (found.kind, found.amount) == ("unit", pytest.approx(60))
    assert found.since == datetime(2024, 1, 1) + timedelta(hours=450)
    same = check_feed(matrix_of(values[:, :PAST]), matrix_of(values[:, PAST:], start=PAST))
    assert [(one.kind, one.series) for one in same] == [(found.kind, found.series)]


def test_check_feed_leaves_out_rows_that_the_past_has():
    values = healthy("season", np.random.default_rng(14))
    assert check_feed(table_of(values[:, :PAST]), table_of(values)) == []
    with pytest.raises(InputError, match="newer"):
        check_feed(table_of(values[:, :PAST]), table_of(values[:, :PAST]))


def test_check_feed_finds_repeated_rows():
    values = healthy("season", np.random.default_rng(15), series=5)
    new = table_of(values[:, PAST:], start=PAST)
    twice = pl.concat([new, new.filter(pl.col("unique_id") == "s0002").head(7)])
    (found,) = check_feed(table_of(values[:, :PAST]), twice)
    assert (found.kind, found.series, found.amount) == ("duplicates", ("s0002",), 7.0)
    assert "7 rows repeat" in found.sentence


def test_check_feed_finds_rows_that_nobody_has():
    values = healthy("season", np.random.default_rng(16), series=5)
    new = table_of(values[:, PAST:], start=PAST)
    hole = new.filter(~pl.col("ds").is_between(datetime(2024, 1, 18), datetime(2024, 1, 19)))
    (found,) = check_feed(table_of(values[:, :PAST]), hole)
    assert (found.kind, len(found.series), found.amount) == ("missing", 5, 25.0)


def test_check_feed_knows_that_a_feed_is_late():
    values = healthy("season", np.random.default_rng(17), series=5)
    past, new = table_of(values[:, :PAST]), table_of(values[:, PAST : PAST + 10], start=PAST)
    assert check_feed(past, new) == []
    (found,) = check_feed(past, new, expected=datetime(2024, 1, 1) + timedelta(hours=PAST + 40))
    assert found.kind == "missing"
    assert found.is_whole_feed
    assert found.amount == 31


def test_series_without_new_rows_is_missing_and_new_series_are_not_checked():
    values = healthy("season", np.random.default_rng(18), series=5)
    new = table_of(values[:, PAST:], start=PAST).filter(pl.col("unique_id") != "s0001")
    other = new.filter(pl.col("unique_id") == "s0002").with_columns(unique_id=pl.lit("z"), y=pl.lit(0.0))
    found = check_feed(table_of(values[:, :PAST]), pl.concat([new, other]))
    assert [(one.kind, one.series) for one in found] == [("missing", ("s0001",))]


def test_incidents_can_be_stored_and_list_each_series_once():
    values = healthy("season", np.random.default_rng(19))
    values[3, 450:] *= 1000
    values[3, 420:440] = np.nan
    found = incidents_of(values)
    assert {one.kind for one in found} == {"unit", "missing"}
    assert broken_series(found) == ["s0003"]
    stored = strict_json.loads(strict_json.dumps([one.to_dict() for one in found]), "incidents")
    assert stored[0]["series"] == ["s0003"]


def test_longest_runs_equal_a_loop():
    rng = np.random.default_rng(20)
    state = rng.random((50, 30)) < 0.6
    runs = longest_runs(state)
    for row, one in enumerate(state):
        text = "".join("x" if value else " " for value in one)
        longest = max(len(part) for part in text.split(" "))
        assert runs.lengths[row] == longest
        assert longest == 0 or text[runs.begins[row] :].startswith("x" * longest)
