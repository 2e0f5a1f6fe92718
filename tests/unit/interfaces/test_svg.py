"""The geometry of charts."""

import re

import numpy as np

from neuro_divergent.interfaces.plots.svg import Curve, outline, plot_curves, plot_forecast, trace
from tests.unit.interfaces.charts import chart


def test_a_line_breaks_where_a_value_is_missing() -> None:
    x = np.arange(5.0)
    assert trace(x, np.array([1, 2, np.nan, 4, np.nan])) == "M0.0 1.0L1.0 2.0M3.0 4.0L3.0 4.0"
    assert trace(x, np.full(5, np.nan)) == ""


def test_an_area_goes_there_and_back() -> None:
    x, low, high = np.arange(2.0), np.array([1.0, 2.0]), np.array([5.0, 6.0])
    assert outline(x, low, high) == "M0.0 5.0L1.0 6.0L1.0 2.0L0.0 1.0Z"


def test_everything_lies_inside_the_square() -> None:
    plot = plot_forecast(chart())
    numbers = [float(text) for shape in plot.shapes for text in re.findall(r"-?[\d.]+", shape.path)]
    assert min(numbers) >= 0
    assert max(numbers) <= 1000
    assert all(0 <= place <= 100 for place, _ in (*plot.x_ticks, *plot.y_ticks))
    assert [shape.label for shape in plot.shapes] == ["90 %", "observed", "forecast"]
    assert plot.border == 75.0


def test_high_values_are_at_the_top() -> None:
    plot = plot_curves("", [Curve("train", "training", np.array([0.0, 1.0]), np.array([0.0, 9.0]))])
    first, last = re.findall(r"([\d.]+) ([\d.]+)", plot.shapes[0].path)
    assert float(first[1]) > float(last[1])
    places = [place for place, _ in plot.y_ticks]
    assert places == sorted(places, reverse=True)


def test_a_wide_range_is_logarithmic_unless_that_is_not_wanted() -> None:
    curve = Curve("train", "training", np.arange(4.0), np.array([1.0, 0.1, 0.01, 0.001]))
    heights = [float(y) for _, y in re.findall(r"([\d.]+) ([\d.]+)", plot_curves("", [curve]).shapes[0].path)]
    assert np.allclose(np.diff(heights), np.diff(heights)[0], atol=0.2)
    linear = plot_curves("", [curve], may_be_logarithmic=False).shapes[0].path
    heights = [float(y) for _, y in re.findall(r"([\d.]+) ([\d.]+)", linear)]
    assert not np.allclose(np.diff(heights), np.diff(heights)[0], atol=50)


def test_nothing_to_draw() -> None:
    assert plot_curves("", [Curve("train", "", np.arange(2.0), np.full(2, np.nan))]).shapes == []
