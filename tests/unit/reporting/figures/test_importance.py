import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.figure import Bars, Heatmap
from neuro_divergent.reporting.figures.importance import attention_figure, attribution_figure, importance_figure

VARIABLES = pl.DataFrame(
    {
        "unique_id": ["a"] * 4 + ["b"] * 4,
        "part": ["past", "past", "future", "future"] * 2,
        "variable": ["y", "price", "price", "<i>"] * 2,
        "weight": [0.6, 0.4, 0.9, 0.1, 0.8, 0.2, 0.7, 0.3],
    }
)


def test_weights_are_averaged_over_series_and_sorted_within_their_part():
    figure = importance_figure(VARIABLES)
    past, future = figure.marks
    assert isinstance(past, Bars)
    assert isinstance(future, Bars)
    assert (past.label, list(past.places)) == ("past", ["y", "price (past)"])
    assert (future.label, list(future.places)) == ("future", ["price (future)", "<i>"])
    np.testing.assert_allclose(past.lengths, [70, 30])
    np.testing.assert_allclose(future.lengths, [80, 20])
    assert past.low is not None
    assert past.low[0] == pytest.approx(100 * np.quantile([0.6, 0.8], 0.1))
    assert figure.alt_text == "Heaviest in each part: future: price (80 %), past: y (70 %)."


def test_one_series_has_no_whiskers_and_the_lightest_are_left_out():
    figure = importance_figure(VARIABLES.head(4).drop("unique_id").to_pandas(), most=2)
    assert all(mark.low is None for mark in figure.marks if isinstance(mark, Bars))
    assert [name for mark in figure.marks if isinstance(mark, Bars) for name in mark.places] == ["y", "price"]
    assert figure.note == "The 2 heaviest of 4."


def test_attention_is_averaged_over_series():
    attention = pl.DataFrame(
        {
            "unique_id": ["a"] * 4 + ["b"] * 4,
            "step": [1, 1, 2, 2] * 2,
            "position": [-1, 0, -1, 0] * 2,
            "weight": [0.5, 0.5, 0.2, 0.8, 0.1, 0.9, 0.4, 0.6],
        }
    )
    figure = attention_figure(attention)
    (heat,) = figure.marks
    assert isinstance(heat, Heatmap)
    np.testing.assert_allclose(heat.values, [[0.3, 0.7], [0.3, 0.7]])
    assert heat.x.tolist() == [-1, 0]
    assert figure.alt_text == "Over all steps of the horizon, position 0 has most weight."


def test_attributions_of_variables_are_sorted_by_their_size():
    table = pl.DataFrame(
        {
            "variable": ["y", "<b>", "none", "undefined"],
            "importance": [0.5, -2.0, 0.0, float("nan")],
            "low": [0.4, -3.0, None, 0.0],
            "high": [0.6, -1.0, None, 0.0],
        }
    )
    figure = attribution_figure(table)
    (bars,) = figure.marks
    assert isinstance(bars, Bars)
    assert list(bars.places) == ["<b>", "y", "none"]
    assert bars.lengths.tolist() == [-2, 0.5, 0]
    np.testing.assert_array_equal(bars.low, [-3, 0.4, np.nan])
    assert figure.alt_text == "<b> matters most (-2), none least (0)."


def test_attributions_of_positions_stand_in_their_order():
    figure = attribution_figure(pl.DataFrame({"position": [0, -2, -1, 0], "importance": [3.0, 1.0, 2.0, 5.0]}))
    bars = figure.marks[0]
    assert isinstance(bars, Bars)
    assert np.asarray(bars.places).tolist() == [-2, -1, 0]
    assert bars.lengths.tolist() == [1, 2, 4]
    assert figure.alt_text == "Position 0 matters most (4)."


def test_attributions_by_variable_and_position_are_a_heatmap():
    table = pl.DataFrame(
        {"variable": ["y", "y", "x"], "position": [-1, 0, 0], "importance": [1.0, 2.0, -3.0]}
    ).to_pandas()
    figure = attribution_figure(table)
    (heat,) = figure.marks
    assert isinstance(heat, Heatmap)
    np.testing.assert_array_equal(heat.values, [[1, 2], [np.nan, -3]])
    assert figure.alt_text == "x at position 0 matters most."


def test_integrated_gradients_of_one_variable_are_bars():
    table = pl.DataFrame({"variable": ["y"] * 3, "position": [-1, 0, None], "attribution": [1.0, 2.0, 9.0]})
    bars = attribution_figure(table).marks[0]
    assert isinstance(bars, Bars)
    assert bars.lengths.tolist() == [1, 2]


def test_what_is_missing_is_said():
    with pytest.raises(InputError, match="no weights"):
        importance_figure(VARIABLES.with_columns(weight=pl.lit(None)))
    with pytest.raises(InputError, match="neither a column 'variable'"):
        attribution_figure(pl.DataFrame({"importance": [1.0]}))
    with pytest.raises(InputError, match="no values"):
        attribution_figure(pl.DataFrame({"variable": ["a"], "importance": [None]}))
    with pytest.raises(InputError, match="no column 'weight'"):
        attention_figure(pl.DataFrame({"step": [1], "position": [1]}))
