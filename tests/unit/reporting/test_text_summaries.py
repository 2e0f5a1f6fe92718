"""Verdicts on scores and intervals."""

import pytest

from neuro_divergent.reporting.text_summaries import Verdict, judge, judge_interval


def judged(**errors: float) -> Verdict:
    return judge("mine", {name.replace("_", " "): error for name, error in errors.items()})


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
