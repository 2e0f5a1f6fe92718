"""What a figure shows, independent of how it is drawn.

A figure is a title, two axes and marks. ``svg.inline.render_inline_svg`` draws it as SVG that follows the colours of
its page, and ``plotly.figure.to_plotly`` as an interactive chart. Values are numpy arrays of floats, NaN where
there is none; times are ``datetime64``; names are lists of text. Where the vertical axis has names (bars with names,
spans, heat maps), other marks count its rows from 0 at the top.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from neuro_divergent.core.arrays import Array

Values = Array | Sequence[str]
Tone = Literal["actual", "forecast", "backtest", "train", "validation", "good", "bad", "neutral", "other"]
"""What a mark stands for, which decides about its colour: the same thing has the same colour in every figure."""


@dataclass(frozen=True, eq=False)
class Line:
    """A line through points, broken where a height is NaN.

    Attributes:
        x: Places from left to right: numbers or times.
        label: What the legend calls it; empty for not at all.
        tone: What it stands for; ``other`` takes the next of the colours.
        steps: Whether it goes along and up instead of across.
    """

    x: Array
    y: Array
    label: str = ""
    tone: Tone = "other"
    dashed: bool = False
    steps: bool = False


@dataclass(frozen=True, eq=False)
class Band:
    """The area between two lines; the smaller the level, the darker."""

    x: Array
    low: Array
    high: Array
    label: str = ""
    tone: Tone = "forecast"
    level: float = 80.0


@dataclass(frozen=True, eq=False)
class Points:
    """Points that are not joined."""

    x: Array
    y: Array
    label: str = ""
    tone: Tone = "other"


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars from zero; lengths of named things are drawn from left to right, below each other, in the order given.

    Attributes:
        places: Names of things, or numbers on the horizontal axis.
        lengths: How long the bars are.
        low: Lower ends of the uncertainty, or ``None``.
        high: Upper ends of it.
        notes: A text for each bar, or nothing.
    """

    places: Values
    lengths: Array
    label: str = ""
    tone: Tone = "neutral"
    low: Array | None = None
    high: Array | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Spans:
    """Bars from a begin to an end in named rows, below each other: what is trained on, what is tested."""

    rows: Sequence[str]
    begin: Array
    end: Array
    label: str = ""
    tone: Tone = "neutral"


@dataclass(frozen=True, eq=False)
class Heatmap:
    """A table of numbers as colours: ``values[row, column]``, rows from top to bottom."""

    x: Values
    y: Values
    values: Array
    label: str = ""


@dataclass(frozen=True)
class Rule:
    """A straight line across the whole figure, vertical at ``x`` or horizontal at ``y``."""

    x: Any = None
    y: float | None = None
    label: str = ""


Mark = Line | Band | Points | Bars | Spans | Heatmap | Rule


@dataclass(frozen=True)
class Axis:
    """What an axis counts.

    Attributes:
        label: With its unit.
        logarithmic: Whether equal ratios are equally far apart; ``None`` for where values differ more than tenfold.
        from_zero: Whether zero is shown whatever the values are.
        limits: Lowest and highest value, or ``None`` for what the marks need.
    """

    label: str = ""
    logarithmic: bool | None = False
    from_zero: bool = False
    limits: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Figure:
    """A title, two axes and marks.

    Attributes:
        title: What it shows, in a few words.
        marks: From back to front.
        x: The axis below.
        y: The axis to the left.
        note: What to know about it, in a sentence.
        alt_text: What can be seen in it, in a sentence, for screen readers.
    """

    title: str
    marks: tuple[Mark, ...]
    x: Axis = Axis()
    y: Axis = Axis()
    note: str = ""
    alt_text: str = ""

    def _repr_svg_(self) -> str:
        from neuro_divergent.reporting.svg.file import render_svg

        return render_svg(self)
