"""The gate: each check on hand-made forecasts, too few origins, and how often equal challengers pass."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import ConfigError, DataError, InputError
from neuro_divergent.lifecycle.promotion.decision import Check, GateDecision
from neuro_divergent.lifecycle.promotion.gate import Gate
from neuro_divergent.lifecycle.promotion.scales import series_scales

START = datetime(2026, 1, 1)
IDS = ("a", "b", "c", "d")
ONES = dict.fromkeys(IDS, 1.0)


def table(errors: Floats, *, stride: int = 1, naive: float = 2.0, ids: tuple[str, ...] = IDS) -> pl.DataFrame:
    """Return held-out forecasts whose errors are given: ``(origins, series, steps)``; actual values are 10."""
    rows = [
        {
            "unique_id": name,
            "ds": START + timedelta(days=stride * origin + step + 1),
            "cutoff": START + timedelta(days=stride * origin),
            "step": step + 1,
            "actual": 10.0,
            "forecast": 10.0 + float(errors[origin, place, step]),
            "seasonal naive": 10.0 + naive,
        }
        for origin in range(errors.shape[0])
        for place, name in enumerate(ids)
        for step in range(errors.shape[2])
    ]
    return pl.DataFrame(rows)


def noise(origins: int = 30, *, size: float = 1.0, steps: int = 3, seed: int = 0) -> Floats:
    return size * np.abs(np.random.default_rng(seed).normal(1.0, 0.2, (origins, len(IDS), steps)))


def check(decision: GateDecision, name: str) -> Check:
    return next(item for item in decision.checks if item.name == name)


def judge(champion: pl.DataFrame | None, challenger: pl.DataFrame, **changes: Any) -> GateDecision:
    gate = {name: changes.pop(name) for name in list(changes) if name in Gate.model_fields}
    return Gate(**gate).evaluate(champion, challenger, **{"scales": ONES, **changes})


def test_challenger_that_is_clearly_better_passes_both_rules() -> None:
    champion, challenger = table(noise(), stride=3), table(noise(size=0.7, seed=1), stride=3)
    for rule in ("better", "no_worse"):
        decision = judge(champion, challenger, rule=rule)
        assert decision.passed
        assert [item.name for item in decision.checks] == ["finite", "accuracy", "naive"]
        assert decision.sentence.startswith("The challenger passes. ")


def test_challenger_that_is_clearly_worse_fails_both_rules() -> None:
    champion, challenger = table(noise(size=0.7), stride=3), table(noise(seed=1), stride=3)
    for rule in ("better", "no_worse"):
        assert check(judge(champion, challenger, rule=rule), "accuracy").passed is False


def test_same_forecasts_are_no_worse_and_not_better() -> None:
    same = table(noise())
    assert judge(same, same).passed
    decision = judge(same, same, rule="better")
    assert not decision.passed
    assert "not significantly better" in decision.sentence


def test_accuracy_is_the_one_sided_paired_t_test_where_horizons_do_not_overlap() -> None:
    one, two = noise(seed=3), 0.95 * noise(seed=4)
    values = check(judge(table(one, stride=3), table(two, stride=3)), "accuracy").values
    per_origin = two.mean((1, 2)) - one.mean((1, 2))
    # With overlap 1 the corrected statistic of Diebold and Mariano is that of Student.
    expected = stats.ttest_1samp(per_origin, 0, alternative="less")
    assert (values["origins"], values["overlap"]) == (30, 1)
    assert values["statistic"] == pytest.approx(expected.statistic)
    assert values["p_better"] == pytest.approx(expected.pvalue)
    assert values["p_worse"] == pytest.approx(1 - expected.pvalue)


@pytest.mark.parametrize(("stride", "overlap"), [(1, 3), (2, 2), (3, 1), (5, 1)])
def test_overlap_follows_from_the_distance_of_the_origins(stride: int, overlap: int) -> None:
    decision = judge(table(noise(), stride=stride), table(noise(seed=1), stride=stride))
    assert check(decision, "accuracy").values["overlap"] == overlap


@pytest.mark.parametrize(("origins", "stride"), [(1, 1), (1, 3), (5, 1), (3, 2)])
def test_too_few_origins_cannot_be_judged_and_the_champion_stays(origins: int, stride: int) -> None:
    champion, challenger = (table(noise(origins, size=size), stride=stride) for size in (1.0, 0.5))
    for rule in ("better", "no_worse"):
        decision = judge(champion, challenger, rule=rule)
        assert check(decision, "accuracy").passed is None
        assert not decision.passed
        assert "cannot be judged" in decision.sentence
        assert judge(champion, challenger, rule=rule, if_unjudged="pass").passed


def test_large_series_does_not_decide_for_all() -> None:
    one, two = noise(seed=3), noise(seed=4) * 0.8
    one[:, 0], two[:, 0] = 1e6 * noise(seed=5)[:, 0] * 0.9, 1e6 * noise(seed=5)[:, 0]
    scales = {**ONES, "a": 1e6}
    champion, challenger = table(one, stride=3, naive=3), table(two, stride=3, naive=3)
    values = check(judge(champion, challenger, scales=scales), "accuracy").values
    assert values["challenger"] < values["champion"]
    assert values["champion"] == pytest.approx(np.mean([one[:, 0].mean() / 1e6, *one[:, 1:].mean((0, 2))]))


def test_scale_is_the_naive_error_of_each_series_if_none_is_given() -> None:
    champion, challenger = table(noise(), naive=4.0), table(noise(seed=1), naive=4.0)
    values = check(judge(champion, challenger, scales=None), "accuracy").values
    assert values["champion"] == pytest.approx(noise().mean() / 4)


def test_an_exact_naive_forecast_leaves_the_mean_absolute_value_as_the_scale() -> None:
    champion, challenger = table(noise(), naive=0.0), table(noise(seed=1), naive=0.0)
    decision = judge(champion, challenger, scales=None)
    assert check(decision, "accuracy") == check(
        judge(champion, challenger, scales=dict.fromkeys(IDS, 10.0)), "accuracy"
    )
    naive = check(decision, "naive")
    assert (naive.passed, naive.values["naive"]) == (False, 0.0)


def test_challenger_must_beat_the_seasonal_naive_forecast() -> None:
    champion, challenger = table(noise(), naive=0.5), table(noise(size=0.7), naive=0.5)
    decision = judge(champion, challenger)
    assert [item.name for item in decision.checks if not item.passed] == ["naive"]
    assert not decision.passed


def test_without_a_champion_only_naive_forecast_and_intervals_count() -> None:
    decision = judge(None, with_interval(table(noise()), 0.8), groups={"a": "north"})
    assert [item.name for item in decision.checks] == ["finite", "naive", "coverage"]
    assert decision.passed


def test_group_more_than_two_percent_worse_fails() -> None:
    groups = {"a": "north", "b": "north", "c": "south", "d": "south"}
    champion = noise()
    for factor, passed in ((1.019, True), (1.021, False)):
        challenger = 0.8 * champion
        challenger[:, 2:] = factor * champion[:, 2:]
        decision = judge(table(champion, stride=3), table(challenger, stride=3), groups=groups)
        result = check(decision, "groups")
        assert (result.passed, decision.passed) == (passed, passed)
        assert result.values["losses"] == {"north": pytest.approx(-0.2), "south": pytest.approx(factor - 1)}
    assert "south +2.1 %" in decision.sentence


def test_declared_group_without_held_out_values_cannot_be_judged() -> None:
    decision = judge(table(noise()), table(0.8 * noise()), groups={"a": "north", "zzz": "west"})
    assert check(decision, "groups").passed is None
    assert "west" in decision.sentence


def with_interval(frame: pl.DataFrame, covered: float, level: int = 80) -> pl.DataFrame:
    """Add an interval that covers the given fraction of the values, here and there."""
    count = round(covered * frame.height)
    low = np.where(np.random.default_rng(0).permutation(frame.height) < count, 9.0, 11.0)
    return frame.with_columns(pl.Series(f"lo-{level}", low), pl.Series(f"hi-{level}", low + 2))


@pytest.mark.parametrize(
    ("covered", "passed"), [(0.80, True), (0.775, True), (0.825, True), (0.755, False), (0.845, False)]
)
def test_coverage_must_be_within_three_points_of_the_level(covered: float, passed: bool) -> None:
    decision = judge(None, with_interval(table(noise(400)), covered))
    assert check(decision, "coverage").passed is passed
    assert check(decision, "coverage").values["coverage"] == pytest.approx(100 * covered)


def test_coverage_of_few_origins_fails_only_beyond_what_chance_makes_of_it() -> None:
    few = judge(None, with_interval(table(noise(5)), 0.70))
    assert check(few, "coverage").passed is True
    assert "may be chance" in check(few, "coverage").sentence
    assert check(judge(None, with_interval(table(noise(5)), 0.1)), "coverage").passed is False


def test_coverage_that_is_off_passes_where_that_of_the_champion_is_further_off() -> None:
    champion, challenger = table(noise(400)), table(0.9 * noise(400))
    closer = judge(with_interval(champion, 0.5), with_interval(challenger, 0.6))
    assert check(closer, "coverage").passed is True
    assert "champion is 50.0 %" in check(closer, "coverage").sentence
    farther = judge(with_interval(champion, 0.75), with_interval(challenger, 0.6))
    assert check(farther, "coverage").passed is False


def test_interval_that_the_champion_has_must_not_get_lost() -> None:
    decision = judge(with_interval(table(noise()), 0.8), table(0.8 * noise()))
    assert check(decision, "coverage").passed is False
    assert not judge(None, table(noise()), levels=(95,)).passed
    assert judge(None, table(noise()), coverage_tolerance=None).passed


@pytest.mark.parametrize("broken", [math.nan, math.inf, None])
def test_forecasts_that_are_not_finite_fail(broken: float | None) -> None:
    challenger = table(0.5 * noise())
    challenger = challenger.with_columns(
        forecast=pl.when(pl.int_range(pl.len()) == 7).then(broken).otherwise(pl.col("forecast"))
    )
    decision = judge(table(noise()), challenger)
    assert check(decision, "finite").passed is False
    assert not decision.passed
    json.dumps(decision.to_dict(), allow_nan=False)


def test_only_values_that_both_forecast_are_compared() -> None:
    champion, challenger = table(noise(), stride=3), table(0.8 * noise(), stride=3)
    decision = judge(champion.filter(pl.col("unique_id") != "a"), challenger)
    values = check(decision, "accuracy").values
    assert values["left_out"] == 90
    assert values["champion"] == pytest.approx(noise()[:, 1:].mean())


def test_order_of_the_rows_does_not_matter() -> None:
    champion, challenger = table(noise()), table(noise(seed=1))
    one = judge(champion, challenger).to_dict()
    two = judge(champion.sample(fraction=1, shuffle=True, seed=1), challenger.sample(fraction=1, shuffle=True, seed=2))
    for first, second in zip(one["checks"], two.to_dict()["checks"], strict=True):
        assert second["values"] == pytest.approx(first["values"])


def test_mistakes_are_named() -> None:
    good = table(noise())
    with pytest.raises(DataError, match="no column 'cutoff'"):
        judge(good, good.drop("cutoff"))
    with pytest.raises(DataError, match="no forecast in common"):
        judge(good.with_columns(pl.col("ds") + timedelta(days=999)), good)
    with pytest.raises(DataError, match="twice"):
        judge(good, pl.concat([good, good]))
    with pytest.raises(InputError, match="pass scales"):
        judge(None, good.drop("seasonal naive"), scales=None)
    with pytest.raises(ConfigError, match="rule"):
        Gate(rule="best")


def test_settings_round_trip() -> None:
    gate = Gate(rule="better", levels=(80, 95), coverage_tolerance=None)
    assert Gate.from_toml(gate.to_toml()) == gate


@pytest.mark.parametrize("rule", ["better", "no_worse"])
def test_equal_challengers_pass_about_as_often_as_the_level_says(rule: str) -> None:
    generator = np.random.default_rng(0)
    passed = []
    for _ in range(150):
        one, two = np.abs(generator.normal(1, 0.3, (2, 20, 4, 3)))
        decision = judge(table(one, stride=3), table(two, stride=3), rule=rule)
        passed.append(check(decision, "accuracy").passed)
    expected = 0.05 if rule == "better" else 0.95
    low, high = stats.binom.interval(0.999, len(passed), expected)
    assert low <= sum(passed) <= high


def test_scales_are_mean_differences_one_season_apart() -> None:
    generator = np.random.default_rng(0)
    values = {
        "a": generator.normal(size=50),
        "b": generator.normal(size=9),
        "short": np.arange(3.0),
        "zero": np.zeros(20),
    }
    exact = {"flat": np.full(20, -3.0), "periodic": np.tile([1.0, -2.0, 4.0, 5.0], 5)}
    values |= exact
    values["a"][7] = np.nan
    frame = pl.concat(
        pl.DataFrame({"unique_id": name, "ds": np.arange(len(series)), "y": series}) for name, series in values.items()
    )
    scales = series_scales(frame.sample(fraction=1, shuffle=True, seed=0), season_length=4)
    expected = {name: pytest.approx(np.nanmean(np.abs(values[name][4:] - values[name][:-4]))) for name in "ab"}
    assert scales == {**expected, "flat": 3.0, "periodic": 3.0}
