"""Whatever a figure holds, both ways to draw it manage."""

import json
from xml.etree import ElementTree

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.reporting.figures.figure import Axis, Band, Bars, Figure, Heatmap, Line, Mark, Points, Rule, Spans
from neuro_divergent.reporting.plotly.figure import to_json
from neuro_divergent.reporting.svg.file import render_svg
from neuro_divergent.reporting.svg.inline import render_inline_svg
from tests.unit.reporting.samples import HOSTILE

VALUES = st.floats(allow_nan=True, allow_infinity=True) | st.integers(-5, 5).map(float)
NAMES = st.sampled_from(["a", "b", HOSTILE, "", "ä" * 40, "\"&'"]) | st.text(st.characters(), max_size=8)
AXES = st.builds(Axis, label=NAMES, logarithmic=st.sampled_from([True, False, None]), from_zero=st.booleans())


@st.composite
def counted_marks(draw: st.DrawFn) -> Mark:
    size = draw(st.integers(0, 6))
    y, z = (np.array(draw(st.lists(VALUES, min_size=size, max_size=size)), dtype=np.float64) for _ in range(2))
    x = np.arange(float(size)) if draw(st.booleans()) else y[::-1]
    label = draw(NAMES)
    kind = draw(st.integers(0, 4))
    if kind == 0:
        return Line(x, y, label, steps=draw(st.booleans()))
    if kind == 1:
        return Band(x, y, z, label, level=draw(st.floats(0, 100)))
    if kind == 2:
        return Points(x, y, label)
    if kind == 3:
        return Rule(y=draw(VALUES), label=label)
    return Bars(x, y, label, low=z, high=z, notes=[label] * size)


@st.composite
def named_marks(draw: st.DrawFn) -> tuple[Mark, ...]:
    names = draw(st.lists(NAMES, min_size=1, max_size=5))
    size = len(names)
    y, z = (np.array(draw(st.lists(VALUES, min_size=size, max_size=size)), dtype=np.float64) for _ in range(2))
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return (Bars(names, y, low=z, high=z, notes=names), Bars(names, z), Rule(x=draw(VALUES), label=names[0]))
    if kind == 1:
        return (Spans(names, y, z, names[0]), Rule(x=1.0, label=names[0]))
    return (Heatmap(names, names, np.outer(np.nan_to_num(y, posinf=1, neginf=-1) % 7, np.sign(z)), names[0]),)


@settings(max_examples=100, deadline=None)
@given(NAMES, st.lists(counted_marks(), max_size=4).map(tuple) | named_marks(), AXES, AXES)
def test_is_drawn(title: str, marks: tuple[Mark, ...], x: Axis, y: Axis) -> None:
    figure = Figure(title, marks, x=x, y=y, note=title, alt_text=title)
    text = render_inline_svg(figure)
    ElementTree.fromstring(text)
    ElementTree.fromstring(render_svg(figure).encode())
    assert "<script" not in text
    assert "nan" not in "".join(item.attrib.get("d", "") for item in ElementTree.fromstring(text).iter("path"))
    json.dumps(to_json(figure), allow_nan=False)
