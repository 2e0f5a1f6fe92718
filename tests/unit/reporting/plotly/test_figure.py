"""Figures for Plotly."""

import json
import sys
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from neuro_divergent.core.errors import MissingDependencyError
from neuro_divergent.reporting.figures.figure import Axis, Band, Bars, Figure, Heatmap, Line, Points, Rule, Spans
from neuro_divergent.reporting.plotly.figure import to_json, to_plotly
from tests.unit.reporting.samples import ALL, FOLDS, FORECAST, GROUPS, HEAT, LOSS, MODELS


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def trace(figure: Figure, at: int = 0) -> dict[str, Any]:
    found = to_json(figure)["data"][at]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", ALL)
def test_is_plain_json_that_plotly_accepts(name: str) -> None:
    content = to_json(ALL[name])
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert set(content) == {"data", "layout"}
    drawn = to_plotly(ALL[name])  # it refuses whatever it does not know
    assert len(drawn.data) == len(content["data"])


@pytest.mark.parametrize("name", ALL)
def test_no_text_holds_markup_that_is_not_ours(name: str) -> None:
    for text in texts(to_json(ALL[name])):
        assert "<" not in text.replace("<extra></extra>", "")
    assert "&lt;script&gt;" in json.dumps(to_json(FORECAST))


def test_values_are_those_that_came_in() -> None:
    x, y = np.array([1, 2, 3, 4]), np.array([0.1, np.nan, np.inf, 1 / 3])
    found = trace(Figure("", (Line(x, y, "a"),)))
    assert found["x"] == [1, 2, 3, 4]
    assert found["y"] == [0.1, None, None, 1 / 3]
    assert trace(Figure("", (Points(x, y.astype(np.float32)),)))["y"][0] == float(np.float32(0.1))
    bars = trace(Figure("", (Bars(x, y, low=y - 0.05, high=y + 0.1),)))
    assert (bars["x"], bars["y"]) == ([1, 2, 3, 4], [0.1, None, None, 1 / 3])
    assert bars["error_y"]["array"][0] == pytest.approx(0.1)
    assert bars["error_y"]["arrayminus"][0] == pytest.approx(0.05)


def test_times_are_iso() -> None:
    def x(times: Any) -> list[str | None]:
        return trace(Figure("", (Line(times, np.arange(float(len(times)))),)))["x"]  # type: ignore[no-any-return]

    assert x(np.array(["2024-01-01", "2024-02-01"], dtype="M8[D]")) == ["2024-01-01", "2024-02-01"]
    assert x(np.array(["2024-01-01T05:00", "NaT"], dtype="M8[ns]")) == ["2024-01-01T05:00:00", None]
    assert x(np.array(["2024-01-01T05:00:00.25"], dtype="M8[ms]")) == ["2024-01-01T05:00:00.250000"]
    assert x(np.array([datetime(2024, 1, 1, 5, tzinfo=UTC)])) == ["2024-01-01T05:00:00"]
    assert to_json(FORECAST)["layout"]["xaxis"]["type"] == "date"


def test_band_has_hover_text_at_its_ends() -> None:
    gap = np.array([1.0, 2.0, np.nan, 4.0])
    content = to_json(Figure("", (Band(np.arange(4), gap, gap + 1, "80 %"),)))
    area, line = content["data"]
    assert area["fill"] == "toself"
    assert area["x"] == [0, 1, 1, 0, None, 3, 3]
    assert area["y"] == [2.0, 3.0, 2.0, 1.0, None, 5.0, 4.0]
    assert line["customdata"] == [1.0, 2.0, None, 4.0]
    assert line["y"] == [2.0, 3.0, None, 5.0]
    assert (area["showlegend"], line["showlegend"]) == (True, False)


def test_a_narrow_band_is_darker() -> None:
    x = np.arange(2.0)
    opacity = [
        float(trace(Figure("", (Band(x, x, x, level=level),)))["fillcolor"].split(",")[-1].rstrip(")"))
        for level in (99, 90, 80, 50, 20)
    ]
    assert opacity == sorted(opacity)
    assert len(set(opacity)) == 5


def test_lines_are_thinned_and_keep_their_extremes() -> None:
    y = np.random.default_rng(0).normal(size=1_000_000)
    found = trace(Figure("", (Line(np.arange(1_000_000), y),)))
    assert len(found["x"]) <= 5000
    assert (min(found["y"]), max(found["y"])) == (y.min(), y.max())
    assert (found["x"][0], found["x"][-1]) == (0, 999_999)
    dots = trace(Figure("", (Points(np.arange(1_000_000.0), y),)))
    assert len(dots["x"]) <= 20_004
    assert (min(dots["y"]), max(dots["y"])) == (y.min(), y.max())


def test_axes_follow_the_description() -> None:
    layout = to_json(LOSS)["layout"]
    assert layout["yaxis"]["type"] == "log"
    assert layout["hovermode"] == "x unified"
    limited = Axis(limits=(1.0, 100.0), logarithmic=True)
    layout = to_json(Figure("", (Line(np.arange(2), np.ones(2)),), x=Axis(from_zero=True), y=limited))["layout"]
    assert layout["yaxis"]["range"] == [0.0, 2.0]
    assert layout["xaxis"]["rangemode"] == "tozero"


def test_rules_are_lines_across_and_their_labels_know_logarithms() -> None:
    x = np.array([1.0, 1000.0])
    layout = to_json(Figure("", (Line(x, x), Rule(y=10.0, label="ten"), Rule(x=500)), y=Axis(logarithmic=True)))[
        "layout"
    ]
    assert [(shape["y0"], shape["y1"]) for shape in layout["shapes"]] == [(10.0, 10.0), (0, 1)]
    assert [note["y"] for note in layout["annotations"]] == [1.0]


def test_named_bars_lie_in_rows_from_top_to_bottom() -> None:
    content = to_json(MODELS)
    assert content["data"][0]["orientation"] == "h"
    assert content["data"][0]["y"] == [0, 1, 2]
    assert content["layout"]["yaxis"]["range"] == [2.5, -0.5]
    assert content["layout"]["yaxis"]["ticktext"][1:] == [
        "&lt;script&gt;ale…(1)&lt;/script&gt;",
        "blocks.0.en…ction.weight",
    ]
    assert to_json(GROUPS)["layout"]["barmode"] == "group"


def test_spans_begin_and_last() -> None:
    span = trace(FOLDS)
    assert span["base"] == ["2023-02-01", "2023-02-01"]
    assert span["x"] == [20 * 86_400_000, 40 * 86_400_000]
    numbers = trace(Figure("", (Spans(["a"], np.array([2]), np.array([5])),)))
    assert (numbers["base"], numbers["x"]) == ([2], [3.0])


def test_heatmap_trace_has_the_numbers() -> None:
    heat = trace(HEAT)
    assert heat["z"] == [[1.0, -2.0, 3.0], [None, 0.0, -1.0]]
    assert (heat["zmin"], heat["zmax"]) == (-3.0, 3.0)
    assert trace(ALL["flow"])["x"] == list(range(0, 1000, 10))
    large = Heatmap(np.arange(1000), [str(row) for row in range(300)], np.ones((300, 1000)))
    z = trace(Figure("", (large,)))["z"]
    assert (len(z), len(z[0])) == (150, 334)


def test_a_lone_point_is_marked() -> None:
    x = np.arange(3)
    assert trace(Figure("", (Line(x, np.array([1.0, np.nan, 2.0])),)))["mode"] == "lines+markers"
    assert trace(Figure("", (Line(x, np.array([1.0, 3.0, 2.0])),)))["mode"] == "lines"


def test_plotly_is_only_needed_for_its_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "plotly" or name.startswith("plotly.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "plotly", None)
    assert to_json(LOSS)["data"]
    with pytest.raises(MissingDependencyError, match=r'pip install "neuro-divergent\[plots\]"'):
        to_plotly(LOSS)
