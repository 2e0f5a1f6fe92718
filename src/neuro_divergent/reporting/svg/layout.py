"""The layout of a figure, independent of the markup.

Lines and areas are paths in a box of a chosen size with its origin at the top left. Text is placed by fractions
of that box, so that a page can stretch the box and leave the text as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from neuro_divergent.reporting.svg.scales import Tick

Anchor = Literal["start", "middle", "end"]


class Shape(NamedTuple):
    """A line, an area or dots: names of styles, drawing instructions, and a tooltip or nothing."""

    style: str
    path: str
    title: str = ""


class Text(NamedTuple):
    """Something written at a place in the box, in fractions of its width and height from the top left.

    Attributes:
        anchor: Which of its ends is at the place.
        right: Pixels to move it to the right.
        down: Letters' heights to move it down.
    """

    x: float
    y: float
    text: str
    anchor: Anchor = "middle"
    right: int = 0
    down: float = 0.35


class LegendEntry(NamedTuple):
    """An entry of the legend: a sample with its styles, what it means, and the styles of the hole in a dot, if any."""

    sample: Literal["line", "area", "dots"]
    style: str
    label: str
    hole: str = ""


class ColorBar(NamedTuple):
    """The colour bar: styles in order, and the values of the first and the last."""

    label: str
    styles: list[str]
    low: str
    high: str


@dataclass
class Layout:
    """A figure with the place of everything in it.

    Attributes:
        shapes: From back to front.
        texts: In front of them.
        x_ticks: Labels below, by their fraction of the width.
        y_ticks: Labels to the left, by their fraction of the height from the top.
        keys: The legend.
        colorbar: The legend of a heat map, if there is one.
        height: Pixels from top to bottom that rows need, or ``None`` where any height will do.
        grid: Which lines help to compare: level ones at the labels to the left, upright ones at those below, or none.
        is_cut: Whether something may lie outside the box, because the limits were given.
    """

    shapes: list[Shape] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    x_ticks: list[Tick] = field(default_factory=list)
    y_ticks: list[Tick] = field(default_factory=list)
    keys: list[LegendEntry] = field(default_factory=list)
    colorbar: ColorBar | None = None
    height: int | None = None
    grid: Literal["level", "upright", "none"] = "level"
    is_cut: bool = False

    @property
    def has_context(self) -> bool:
        """Whether the labels below have two lines."""
        return any(tick.context for tick in self.x_ticks)

    @property
    def has_text_above(self) -> bool:
        """Whether something is written above the box."""
        return any(text.y == 0 and text.down < 0 for text in self.texts)
