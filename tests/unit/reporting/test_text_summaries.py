"""Verdicts on scores and intervals."""

import pytest

from neuro_divergent.reporting.text_summaries import Verdict, compare, judge, judge_interval


def judged(mase: dict[str, float] | None = None, **errors: float) -> Verdict:
    """Return the verdict on mean absolute errors by name; MASE is half of them unless given."""
    rows = [
        {"name": name.replace("_", " "), "mae": error, "mase": error / 2 if mase is None else mase[name]}
        for name, error in errors.items()
    ]
    return judge("mine", compare("mine", rows))


def test_verdict_for_a_model_that_beats_all_baselines() -> None:
    verdict = judged(mine=5.0, last_value=20.0, seasonal_naive=10.0, drift=12.0)
    assert verdict.is_better
    assert "50 % less than seasonal naive (10)" in verdict.text


def test_verdict_for_a_model_that_is_worse_than_one_baseline() -> None:
    verdict = judged(mine=15.0, last_value=20.0, seasonal_naive=10.0, drift=12.0)
    assert not verdict.is_better
    assert "50 % more than seasonal naive (10)" in verdict.text


@pytest.mark.parametrize("error", [0.0, 5.0])
def test_verdict_for_a_tie_is_not_better(error: float) -> None:
    verdict = judged(mine=error, last_value=error, seasonal_naive=10.0, drift=12.0)
    assert not verdict.is_better
    assert "as much as last value" in verdict.text


def test_a_model_that_loses_by_large_series_alone_is_judged_by_mase() -> None:
    verdict = judged({"mine": 0.8, "last_value": 2.0, "seasonal_naive": 1.0}, mine=15, last_value=20, seasonal_naive=10)
    assert verdict.is_better
    assert "MASE 0.8, 20 % less than seasonal naive (1)" in verdict.text
    assert "the series with the largest values decide, is higher: 15, that of seasonal naive 10." in verdict.text


def test_a_model_that_wins_by_large_series_alone_is_judged_by_mase() -> None:
    verdict = judged({"mine": 1.5, "last_value": 2.0, "seasonal_naive": 1.0}, mine=5, last_value=20, seasonal_naive=10)
    assert not verdict.is_better
    assert "MASE 1.5, 50 % more than seasonal naive (1)" in verdict.text
    assert "is lower: 5, that of seasonal naive 10." in verdict.text


def test_a_model_without_mase_is_judged_by_mean_absolute_error() -> None:
    nan = float("nan")
    verdict = judged({"mine": nan, "last_value": nan, "seasonal_naive": nan}, mine=5, last_value=20, seasonal_naive=10)
    assert verdict.is_better
    assert "mean absolute error 5" in verdict.text


def test_verdict_without_observed_values_says_so() -> None:
    assert "nothing to score" in judged(mine=float("nan"), seasonal_naive=float("nan")).text


@pytest.mark.parametrize(
    ("level", "coverage", "verdict"),
    [
        (80.0, 82.0, "close to its level"),
        (80.0, 70.0, "too narrow"),
        (80.0, 90.0, "too wide"),
        (95.0, 90.0, "too narrow"),
    ],
)
def test_interval_is_judged_by_the_distance_of_coverage_and_level(level: float, coverage: float, verdict: str) -> None:
    text = judge_interval(level, coverage)
    assert text.startswith(f"The {level:g} % interval holds {coverage:.1f} % of the values")
    assert verdict in text
