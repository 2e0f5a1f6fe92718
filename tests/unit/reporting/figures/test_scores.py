import numpy as np
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.evaluation.comparison.comparison import compare
from neuro_divergent.reporting.figures.comparison import comparison_figure
from neuro_divergent.reporting.figures.figure import Bars, Rule
from neuro_divergent.reporting.figures.scores import scores_figure

from .backtests import make_backtest

SCORES = {
    "model": "nhits",
    "part": "test",
    "scores": [
        {"name": "nhits", "mae": 2.0, "mase": 1.0},
        {"name": "last value", "mae": 3.0, "mase": None},
        {"name": "<b>", "mae": 1.0, "mase": float("nan")},
    ],
}


def test_scores_are_shown_best_first_with_the_model_marked():
    figure = scores_figure(SCORES)
    bars = [mark for mark in figure.marks if isinstance(mark, Bars)]
    assert [(list(mark.places), mark.tone) for mark in bars] == [
        (["<b>"], "neutral"),
        (["nhits"], "forecast"),
        (["last value"], "neutral"),
    ]
    assert figure.alt_text == "nhits is number 2 of 3. <b> 1, nhits 2, last value 3."
    assert figure.note == "On the test part."
    assert len(scores_figure(SCORES, "mase").marks) == 1


def test_scores_that_are_missing_or_unknown_are_an_error():
    with pytest.raises(InputError, match="no mae"):
        scores_figure({})
    with pytest.raises(InputError, match="'skill' must be one of"):
        scores_figure(SCORES, "skill")


@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_models_are_compared_with_their_spread(kind):
    backtest = make_backtest([f"s{number}" for number in range(12)], cutoffs=6).rename({"forecast": "nhits"})
    comparison = compare(backtest.to_pandas() if kind == "pandas" else backtest)
    figure = comparison_figure(comparison)
    bars = [mark for mark in figure.marks if isinstance(mark, Bars)]
    rows = comparison.to_dict()["models"]
    assert [name for mark in bars for name in mark.places] == [row["model"] for row in rows]
    np.testing.assert_allclose([x for mark in bars for x in mark.lengths], [row["score"] for row in rows])
    highs = [x for mark in bars if mark.high is not None for x in mark.high]
    np.testing.assert_allclose(highs, [row["score"] + row["std"] for row in rows])
    by_name = {name: mark.tone for mark in bars for name in mark.places}
    assert by_name["seasonal naive"] == "forecast"
    for row in rows:
        if row["model"] != "seasonal naive":
            better = "good" if row["skill"] > 0 else "bad"
            assert by_name[row["model"]] == (better if row["significant"] else "neutral")
    assert figure.marks[-1] == Rule(x=next(row["score"] for row in rows if row["model"] == "seasonal naive"))
    assert "Nemenyi's test" in figure.note


def test_a_single_cutoff_has_no_spread():
    comparison = compare(make_backtest(["a", "b"], cutoffs=1), test="none")
    figure = comparison_figure(comparison)
    assert all(mark.low is None for mark in figure.marks if isinstance(mark, Bars))
