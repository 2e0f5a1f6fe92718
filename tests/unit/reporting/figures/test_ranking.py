import math
import time

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.figure import Bars, Rule
from neuro_divergent.reporting.figures.ranking import ranking_figure

from .backtests import make_backtest

NAMES = ["a", "b", "<script>", "d", "e"]
BACKTEST = make_backtest(NAMES)


def _reference(backtest: pl.DataFrame) -> list[tuple[float, str]]:
    ranks = []
    for name in backtest["unique_id"].unique().to_list():
        rows = [
            row
            for row in backtest.to_dicts()
            if row["unique_id"] == name and row["actual"] is not None and math.isfinite(row["actual"])
        ]
        own = sum(abs(row["actual"] - row["forecast"]) for row in rows)
        other = sum(abs(row["actual"] - row["seasonal naive"]) for row in rows)
        ranks.append((own / other, str(name)))
    return sorted(ranks)


def _bars(figure) -> list[Bars]:
    return [mark for mark in figure.marks if isinstance(mark, Bars)]


def test_series_are_ranked_by_their_error_relative_to_the_seasonal_naive():
    backtest = BACKTEST.with_columns(
        pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("actual").alias("actual")
    )
    expected = _reference(backtest)
    figure = ranking_figure(backtest)
    names = [name for mark in _bars(figure) for name in mark.places]
    lengths = [length for mark in _bars(figure) for length in mark.lengths]
    assert names == [name for _, name in expected]
    np.testing.assert_allclose(lengths, [rank for rank, _ in expected])
    assert figure.marks[-1] == Rule(x=1.0)
    for mark in _bars(figure):
        assert (mark.tone == "good") == bool((mark.lengths < 1).all())
    assert figure.note == "All 5 series."
    better = sum(rank < 1 for rank, _ in expected)
    assert figure.alt_text.endswith(f"The model is better than seasonal naive on {better} of 5.")


def test_the_best_and_the_worst_of_many_are_shown():
    backtest = make_backtest(list(range(30)), cutoffs=1)
    expected = [name for _, name in _reference(backtest)]
    figure = ranking_figure(backtest, most=3)
    assert [name for mark in _bars(figure) for name in mark.places] == expected[:3] + expected[-3:]
    assert figure.note == "The 3 best and the 3 worst of 30 series."


def test_without_a_reference_the_error_itself_ranks():
    figure = ranking_figure(BACKTEST.drop("seasonal naive"))
    (bars,) = figure.marks
    assert isinstance(bars, Bars)
    assert bars.tone == "neutral"
    assert bars.lengths.tolist() == sorted(bars.lengths.tolist())
    assert figure.x.label == "mean absolute error"


def test_series_that_the_reference_knows_exactly_are_left_out():
    backtest = BACKTEST.with_columns(
        pl.when(pl.col("unique_id") == "a").then("actual").otherwise("seasonal naive").alias("seasonal naive")
    )
    figure = ranking_figure(backtest)
    assert "a" not in [name for mark in _bars(figure) for name in mark.places]


def test_too_few_series_are_an_error():
    with pytest.raises(InputError, match="1 series with errors, and ranking needs two"):
        ranking_figure(make_backtest(["a"]))
    with pytest.raises(InputError, match="one series cannot be ranked"):
        ranking_figure(BACKTEST.drop("unique_id"))
    with pytest.raises(InputError, match="no column 'store'"):
        ranking_figure(BACKTEST, id="store")


def test_pandas_and_other_names_work():
    assert (
        ranking_figure(BACKTEST.rename({"unique_id": "store"}).to_pandas(), id="store").alt_text
        == ranking_figure(BACKTEST).alt_text
    )


def test_ten_thousand_series_are_ranked_in_less_than_a_second():
    count = 10_000 * 48
    generator = np.random.default_rng(0)
    backtest = pl.DataFrame(
        {
            "unique_id": np.repeat([f"series {number}" for number in range(10_000)], 48),
            "actual": generator.normal(size=count),
            "forecast": generator.normal(size=count),
            "seasonal naive": generator.normal(size=count),
        }
    )
    seconds = []
    for _ in range(3):
        began = time.process_time()
        ranking_figure(backtest)
        seconds.append(time.process_time() - began)
    assert min(seconds) < 2  # of all cores together
