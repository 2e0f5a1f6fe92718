"""Scores in words."""

import polars as pl
import pytest

from neuro_divergent.evaluation.evaluate import Evaluation
from neuro_divergent.reporting.text_summaries import judge


def evaluation(**errors: float) -> Evaluation:
    table = pl.DataFrame({"name": [name.replace("_", " ") for name in errors], "mae": list(errors.values())})
    return Evaluation("mine", "test", "", 1, 1, table, pl.DataFrame(), pl.DataFrame(), pl.DataFrame())


def test_better_than_all() -> None:
    verdict = judge(evaluation(mine=5.0, last_value=20.0, seasonal_naive=10.0, drift=12.0))
    assert verdict.is_better
    assert "50 % less than seasonal naive (10)" in verdict.text


def test_worse_than_one() -> None:
    verdict = judge(evaluation(mine=15.0, last_value=20.0, seasonal_naive=10.0, drift=12.0))
    assert not verdict.is_better
    assert "50 % more than seasonal naive (10)" in verdict.text


@pytest.mark.parametrize("error", [0.0, 5.0])
def test_a_tie_is_no_win(error: float) -> None:
    verdict = judge(evaluation(mine=error, last_value=error, seasonal_naive=10.0, drift=12.0))
    assert not verdict.is_better
    assert "as much as last value" in verdict.text


def test_nothing_to_score() -> None:
    assert "nothing to score" in judge(evaluation(mine=float("nan"), seasonal_naive=float("nan"))).text
