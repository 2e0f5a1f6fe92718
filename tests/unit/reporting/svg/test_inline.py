"""Figures as part of a page and as files of their own."""

import re
from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.reporting.figures.figure import Axis, Band, Bars, Figure, Heatmap, Line, Mark, Points, Rule, Spans
from neuro_divergent.reporting.svg.file import render_svg
from neuro_divergent.reporting.svg.inline import render_inline_svg, stylesheet
from neuro_divergent.reporting.svg.layout import Layout
from neuro_divergent.reporting.svg.layout_engine import lay_out
from tests.unit.reporting.samples import ALL, FORECAST, HEAT, HOSTILE, LOSS, MODELS

SVG = "{http://www.w3.org/2000/svg}"
UNIT = Axis(limits=(0.0, 1.0))


def numbers(path: str) -> list[tuple[float, float]]:
    """All corners of a path, with what ``H``, ``V`` and ``h0`` leave out filled in."""
    x = y = 0.0
    found = []
    for letter, rest in re.findall(r"([MLHVhZ])([^MLHVhZ]*)", path):
        values = [float(text) for text in rest.split()]
        if letter in "ML":
            x, y = values
        elif letter == "H":
            x = values[0]
        elif letter == "V":
            y = values[0]
        found.append((x, y))
    return found


def only(*marks: Mark, x: Axis = UNIT, y: Axis = UNIT) -> list[str]:
    return [shape.path for shape in lay_out(Figure("", marks, x=x, y=y)).shapes]


@pytest.mark.parametrize("draw", [render_inline_svg, render_svg])
@pytest.mark.parametrize("name", ALL)
def test_is_well_formed_and_holds_no_markup_but_ours(name: str, draw: Callable[[Figure], str]) -> None:
    text = draw(ALL[name])
    root = ElementTree.fromstring(text)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {
        "figure", "figcaption", "p", "div", "ul", "li", "span", "svg", "g", "path", "line", "text", "title", "desc",
        "style", "rect", "clipPath",
    }  # fmt: skip
    assert "<script" not in text
    assert not any(key.startswith("on") or key in ("style", "href") for item in root.iter() for key in item.attrib)


def test_shows_hostile_names_as_they_are() -> None:
    for draw in (render_inline_svg, render_svg):
        said = " ".join(ElementTree.fromstring(draw(FORECAST)).itertext())
        for text in (f"Forecast of {HOSTILE}", f"observed {HOSTILE}", f"day {HOSTILE}", f"forecasts begin {HOSTILE}"):
            assert text in said
    drawing = ElementTree.fromstring(render_inline_svg(FORECAST)).find(".//svg[@role='img']")
    assert drawing is not None
    assert drawing.attrib["aria-label"] == f'Forecast of {HOSTILE}. Up and down "quoted" {HOSTILE}'


@pytest.mark.parametrize("name", ALL)
def test_everything_lies_inside_the_box(name: str) -> None:
    layout = lay_out(ALL[name], width=400.0, height=300.0)
    for shape in layout.shapes:
        for x, y in numbers(shape.path):
            assert 0 <= x <= 400
            assert 0 <= y <= 300
    for tick in (*layout.x_ticks, *layout.y_ticks):
        assert 0 <= round(tick.place, 6) <= 1
    assert all(0 <= text.x <= 1 and 0 <= text.y <= 1 for text in layout.texts)


def test_a_line_goes_from_corner_to_corner() -> None:
    assert only(Line(np.array([0.0, 1.0]), np.array([0.0, 1.0]))) == ["M0 1000L1000 0"]


def test_steps_go_along_and_then_up() -> None:
    assert only(Line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), steps=True)) == ["M0 1000L1000 1000L1000 0"]


def test_marks_are_where_their_values_are() -> None:
    half = np.array([0.5])
    ends = np.array([0.0, 1.0])
    assert only(Points(half, half)) == ["M500 500h0"]
    assert only(Band(ends, np.array([0.0, 0.25]), np.array([0.5, 1.0]))) == ["M0 500L1000 0L1000 750L0 1000Z"]
    assert only(Rule(x=0.25), Rule(y=0.25)) == ["M250 0L250 1000", "M0 750L1000 750"]
    spans = Spans(["a", "b"], np.array([0.0, 0.5]), np.array([0.5, 1.0]))
    assert only(spans) == ["M0 70H500V430H0ZM500 570H1000V930H500Z"]
    (bar,) = only(Bars(["a"], half))
    assert [x for x, _ in numbers(bar)] == [0, 500, 500, 0, 0]
    (bar,) = only(Bars(half, half, low=None))
    assert {y for _, y in numbers(bar)} == {500, 1000}


def test_bars_below_zero_hang() -> None:
    layout = lay_out(Figure("", (Bars(np.array([1.0, 2.0]), np.array([2.0, -1.0])),)))
    (above, below) = [[y for _, y in numbers(shape.path)] for shape in layout.shapes]
    assert max(above) == min(below)
    assert (max(above) - min(above)) == pytest.approx(2 * (max(below) - min(below)), abs=0.2)


def test_whiskers_reach_from_low_to_high() -> None:
    shapes = lay_out(Figure("", (Bars(["a"], np.array([0.5]), low=np.array([0.25]), high=np.array([0.75])),), x=UNIT))
    whisker = next(shape for shape in shapes.shapes if shape.style == "whisker")
    xs = [x for x, _ in numbers(whisker.path)]
    assert (min(xs), max(xs)) == (250, 750)


def test_logarithmic_heights() -> None:
    line = Line(np.arange(4.0), np.array([1.0, 0.1, 0.01, 0.001]))
    layout = lay_out(Figure("", (line,), y=Axis(logarithmic=None)))
    heights = [y for _, y in numbers(layout.shapes[0].path)]
    np.testing.assert_allclose(np.diff(heights), np.diff(heights)[0], atol=0.2)
    assert np.diff(heights)[0] > 250
    places = [tick.place for tick in layout.y_ticks]
    assert places == sorted(places, reverse=True)  # small numbers at the bottom


def test_an_axis_of_times_has_dates() -> None:
    layout = lay_out(FORECAST)
    assert (layout.x_ticks[0].text, layout.x_ticks[0].context) == ("6 Feb", "2023")
    assert all(re.fullmatch(r"\d+ (Feb|Mar|Apr)", tick.text) for tick in layout.x_ticks)


def test_a_million_points_are_thinned_and_their_extremes_kept() -> None:
    y = np.random.default_rng(0).uniform(0.2, 0.8, 1_000_000)
    y[123_456], y[654_321] = 0.0, 1.0
    x = np.linspace(0, 1, len(y))
    (path,) = only(Line(x, y))
    corners = numbers(path)
    assert len(corners) <= 2000
    assert corners[0][0] == 0
    assert corners[-1][0] == 1000
    assert {height for _, height in corners} >= {0, 1000}
    (path,) = only(Points(x, y))
    assert path.count("M") <= 4004
    assert {height for _, height in numbers(path)} >= {0, 1000}
    (path,) = only(Band(x, y, y))
    assert len(path) < 100_000


def test_heatmap_levels_follow_the_numbers() -> None:
    layout = lay_out(HEAT)
    cells = {corner: shape.style for shape in layout.shapes for corner in re.findall(r"M([\d.]+ [\d.]+)", shape.path)}
    assert cells == {
        "0 0": "heat above-3", "333.3 0": "heat below-6", "666.7 0": "heat above-8",
        "333.3 500": "heat above-1", "666.7 500": "heat below-3",
    }  # fmt: skip
    assert layout.colorbar is not None
    assert (layout.colorbar.low, layout.colorbar.high) == ("-3", "3")
    assert len(layout.colorbar.styles) == 16


def test_a_large_table_is_averaged() -> None:
    values = np.repeat(np.arange(4.0), 250)[None, :].repeat(600, axis=0)
    layout = lay_out(Figure("", (Heatmap(np.arange(1000), [str(row) for row in range(600)], values),)))
    assert sum(shape.path.count("M") for shape in layout.shapes) <= 60 * 120
    assert len(layout.y_ticks) <= 31
    assert {shape.style for shape in layout.shapes} >= {"heat above-1", "heat above-3", "heat above-6", "heat above-8"}


def looks(layout: Layout) -> list[str]:
    return [key.style for key in layout.keys]


def test_no_two_marks_look_the_same() -> None:
    x = np.arange(2.0)
    lines = tuple(Line(x, x, f"{number}") for number in range(16))
    assert len(set(looks(lay_out(Figure("", lines))))) == 16
    same = tuple(Line(x, x, f"{number}", "actual") for number in range(5))
    assert len(set(looks(lay_out(Figure("", same))))) == 5
    dots = tuple(Points(x, x, f"{number}") for number in range(8))
    assert len(set(looks(lay_out(Figure("", dots))))) == 8
    dashes = [style.split()[-1] for style in looks(lay_out(LOSS))]
    assert len(set(dashes)) == 3  # without colours, too
    dashed = tuple(Line(x, x, f"{number}", dashed=True) for number in range(3))
    assert len({style.split()[-1] for style in looks(lay_out(Figure("", dashed)))} - {"dash-0"}) == 3


def test_every_style_is_in_the_style_sheet() -> None:
    names = {name for figure in ALL.values() for name in re.findall(r'class="([^"]*)"', render_inline_svg(figure))}
    # These only say that nothing is to be added.
    plain = {"dash-0", "shape-0", "shape-2"}
    for name in {part for text in names for part in text.split()} - plain:
        assert re.search(rf"\.{re.escape(name)}\b", stylesheet()), name


def test_long_names_are_shortened_but_can_be_read() -> None:
    text = render_inline_svg(MODELS)
    assert "blocks.0.en…ction.weight" in text
    assert "<title>blocks.0.encoder.attention.projection.weight</title>" in text


def test_bars_of_one_name_share_a_row_and_other_names_get_their_own() -> None:
    shared = lay_out(Figure("", (Bars(["a"], np.ones(1)), Bars(["a"], np.ones(1)))))
    tops = [numbers(shape.path)[0][1] for shape in shared.shapes]
    bottoms = [max(y for _, y in numbers(shape.path)) for shape in shared.shapes]
    assert bottoms[0] <= tops[1]
    twice = lay_out(Figure("", (Bars(["a", "a"], np.ones(2)),)))
    assert [tick.text for tick in twice.y_ticks] == ["a", "a"]
    with pytest.raises(InputError, match="two figures"):
        lay_out(Figure("", (Bars(["a"], np.ones(1)), Bars(np.ones(1), np.ones(1)))))


def test_notes_stand_behind_bars_and_long_ones_below() -> None:
    short = lay_out(Figure("", (Bars(["a", "b"], np.array([1.0, 2.0]), notes=["short", ""]),)))
    (note,) = short.texts
    bar = numbers(short.shapes[0].path)
    assert note.x == pytest.approx(max(x for x, _ in bar) / 1000, abs=1e-3)
    assert min(y for _, y in bar) < note.y * 1000 < max(y for _, y in bar)
    long = lay_out(Figure("", (Bars(["a", "b"], np.array([1.0, 2.0]), notes=["so long that it does not fit", ""]),)))
    (note,) = long.texts
    assert note.x == 0
    assert (
        max(y for _, y in numbers(long.shapes[0].path))
        < note.y * 1000
        < min(y for _, y in numbers(long.shapes[1].path))
    )


def test_figure_without_values_says_so() -> None:
    assert "no values to show" in render_inline_svg(ALL["empty"])


def test_an_outlier_beyond_the_limits_is_cut_off() -> None:
    figure = Figure("", (Line(np.arange(3.0), np.array([0.0, 1e300, 1.0])),), y=UNIT)
    assert 'class="figure-box cut"' in render_inline_svg(figure)
    assert "clip-path" in render_svg(figure)
    assert max(abs(y) for _, y in numbers(lay_out(figure).shapes[0].path)) <= 2000


def test_the_caption_can_be_left_out() -> None:
    assert "<figcaption>Loss</figcaption>" in render_inline_svg(LOSS)
    assert "figcaption" not in render_inline_svg(LOSS, caption=False)
    assert 'viewBox="0 0 1000 600"' in render_inline_svg(LOSS, ratio=0.6)


def test_svg_file_has_no_css_variables() -> None:
    text = render_svg(FORECAST)
    assert "var(" not in text
    assert "prefers-color-scheme: dark" in text
    assert "#b5179e" in text
    assert "#f178d8" in text
