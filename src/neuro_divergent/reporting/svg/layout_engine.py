"""Lays a figure out: turns its marks into paths, and names and values into labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.formatting import format_number
from neuro_divergent.reporting.figures.figure import Band, Bars, Figure, Heatmap, Line, Mark, Points, Rule, Spans
from neuro_divergent.reporting.sampling import PER_BUCKET, min_max_places, raster_places
from neuro_divergent.reporting.svg.axes import Axes
from neuro_divergent.reporting.svg.colormap import map_colors, shrink
from neuro_divergent.reporting.svg.labels import shorten, write_values
from neuro_divergent.reporting.svg.layout import Anchor, ColorBar, Layout, LegendEntry, Shape, Text
from neuro_divergent.reporting.svg.paths import Box, dots, outline, rectangles, stairs, trace
from neuro_divergent.reporting.svg.style import MarkStyle, mark_styles

MOST_POINTS = 2_000
"""How many points of a line are drawn; there are no more dots from left to right on most screens."""
_CELLS = 80, 50  # of the raster in each of which one of very many points is drawn
_MOST_TITLES = 200  # bars that show their length as a tooltip
_MOST_WRITTEN = 12  # upright bars with a note above
_MOST_HEAT = 60, 120  # rows and columns
_NOTE = 44  # letters of a note below a bar


def lay_out(figure: Figure, *, width: float = 1000.0, height: float = 1000.0) -> Layout:
    """Find the place of everything in a figure, whose paths are drawn in a box of this size.

    What ``Layout.height`` asks for is for the caller to follow or to stretch.
    """
    engine = _LayoutEngine(figure, width, height)
    for mark, style in zip(figure.marks, mark_styles(figure.marks), strict=True):
        engine.draw(mark, style)
    if not engine.layout.shapes:
        engine.layout.texts.append(Text(0.5, 0.5, "no values to show"))
    return engine.layout


class _LayoutEngine:
    """Draws marks one after the other between two axes."""

    def __init__(self, figure: Figure, width: float, height: float) -> None:
        self.axes = axes = Axes(figure, width, height)
        self.width, self.height = width, height
        self.row = height / max(1, len(axes.rows)) if axes.rows is not None else 0.0
        self.layout = Layout(
            x_ticks=axes.x_ticks,
            y_ticks=axes.y_ticks,
            height=axes.pixels,
            grid="none" if axes.heat is not None else "upright" if axes.rows is not None else "level",
            is_cut=bool(figure.x.limits or figure.y.limits),
        )
        self.labels = 0  # of upright rules so far, which are written below each other

    def draw(self, mark: Mark, style: MarkStyle) -> None:
        """Draw a mark in front of those before."""
        ways: dict[type, Callable[[Any, MarkStyle], None]] = {
            Line: self._line, Band: self._band, Points: self._points, Spans: self._spans, Heatmap: self._heat,
            Bars: self._upright_bars if self.axes.rows is None else self._lying_bars, Rule: self._rule,
        }  # fmt: skip
        ways[type(mark)](mark, style)

    def _add(self, style: str, path: str, title: str = "") -> None:
        if path:
            self.layout.shapes.append(Shape(style, path, title))

    def _explain(self, sample: Literal["line", "area", "dots"], style: str, label: str, hole: str = "") -> None:
        key = LegendEntry(sample, style, label, hole)
        if label and key not in self.layout.keys:
            self.layout.keys.append(key)

    def _line(self, mark: Line, style: MarkStyle) -> None:
        kept = _thinned(mark.y)
        x, y = self.axes.at_x(np.asarray(mark.x)[kept]), self.axes.at_y(np.asarray(mark.y)[kept])
        looks = f"line tone-{style.tone} dash-{style.dash}"
        self._add(looks, trace(*(stairs(x, y) if mark.steps else (x, y))))
        self._explain("line", looks, mark.label)

    def _band(self, mark: Band, style: MarkStyle) -> None:
        kept = np.union1d(_thinned(mark.low), _thinned(mark.high))
        low, high = (self.axes.at_y(np.asarray(end)[kept]) for end in (mark.low, mark.high))
        looks = f"area tone-{style.tone} strength-{style.strength}"
        self._add(looks, outline(self.axes.at_x(np.asarray(mark.x)[kept]), low, high))
        self._explain("area", looks, mark.label)

    def _points(self, mark: Points, style: MarkStyle) -> None:
        x, y = self.axes.at_x(mark.x), self.axes.at_y(mark.y)
        if len(x) > _CELLS[0] * _CELLS[1]:
            kept = raster_places(x, y, *_CELLS)
            x, y = x[kept], y[kept]
        looks = f"dots tone-{style.tone} shape-{style.shape}"
        hole = f"hole shape-{style.shape}" if style.shape >= 2 else ""
        path = dots(x, y)
        self._add(looks, path)
        if hole:
            self._add(hole, path)
        self._explain("dots", looks, mark.label, hole)

    def _upright_bars(self, mark: Bars, style: MarkStyle) -> None:
        room = self.axes.bar_width(mark) * 0.9
        wide = room / self.axes.slots
        left = self.axes.at_x(mark.places) - room / 2 + wide * self.axes.slot(mark)
        floor, top = self.axes.zero_y, self.axes.at_y(mark.lengths)
        boxes = [
            (float(begin), min(floor, float(end)), float(begin) + wide, max(floor, float(end)))
            for begin, end in zip(left, top, strict=True)
        ]
        self._bars(mark, style, boxes)
        middle = left + wide / 2
        if mark.low is not None and mark.high is not None:
            for low, high, at in zip(*map(self.axes.at_y, (mark.low, mark.high)), middle, strict=True):
                self._whisker([(at, low), (at, high)], (wide / 5, 0.0))
        ends = np.fmin(top if mark.high is None else np.fmin(top, self.axes.at_y(mark.high)), floor)
        if len(mark.notes) <= _MOST_WRITTEN:
            for x, y, note in zip(middle / self.width, ends / self.height, mark.notes, strict=False):
                self._write(Text(float(x), float(y), note, down=-0.4))

    def _lying_bars(self, mark: Bars, style: MarkStyle) -> None:
        assert self.axes.rows is not None, "lying bars have names"
        tall = self.row * (0.46 if self.axes.has_notes_below else 0.76) / self.axes.slots
        top = self.axes.at_y(self.axes.rows.numbers(mark)) - self.row * 0.38 + tall * self.axes.slot(mark)
        floor, end = self.axes.zero_x, self.axes.at_x(mark.lengths)
        boxes = [
            (min(floor, float(right)), float(above), max(floor, float(right)), float(above) + tall * 0.92)
            for right, above in zip(end, top, strict=True)
        ]
        self._bars(mark, style, boxes)
        middle = top + tall * 0.46
        if mark.low is not None and mark.high is not None:
            for low, high, at in zip(*map(self.axes.at_x, (mark.low, mark.high)), middle, strict=True):
                self._whisker([(low, at), (high, at)], (0.0, tall / 5))
        if self.axes.has_notes_below:
            for y, note in zip((top + self.row * 0.68) / self.height, mark.notes, strict=False):
                self._write(Text(floor / self.width, float(y), shorten(note, _NOTE), "start", 2))
            return
        for x, y, note in zip(self.axes.ends(mark), middle / self.height, mark.notes, strict=False):
            is_crowded = self.layout.is_cut and x > 0.8
            text = Text(1.0, float(y), note, "end", -4) if is_crowded else Text(float(x), float(y), note, "start", 7)
            self._write(text)

    def _bars(self, mark: Bars, style: MarkStyle, boxes: list[Box]) -> None:
        """Draw boxes, with their lengths as tooltips where they are few enough."""
        looks = f"bar tone-{style.tone}"
        lengths = np.asarray(mark.lengths, dtype=np.float64)
        known = [at for at, box in enumerate(boxes) if np.isfinite(box).all() and np.isfinite(lengths[at])]
        if len(known) > _MOST_TITLES:
            self._add(looks, rectangles(boxes[at] for at in known))
        else:
            names = write_values(mark.places)
            for at in known:
                note = f" ({mark.notes[at]})" if at < len(mark.notes) and mark.notes[at] else ""
                self._add(looks, rectangles([boxes[at]]), f"{names[at]}: {format_number(float(lengths[at]))}{note}")
        self._explain("area", looks, mark.label)

    def _whisker(self, ends: list[tuple[float, float]], cap: tuple[float, float]) -> None:
        """Draw the uncertainty of a bar, with a short stroke across each end."""
        strokes = [ends, *([(x - cap[0], y - cap[1]), (x + cap[0], y + cap[1])] for x, y in ends)]
        if np.isfinite(ends).all():
            path = "".join(trace(*np.array(stroke).T) for stroke in strokes)
            self._add("whisker edge", path)  # so that it can be seen on a bar of about its own brightness
            self._add("whisker", path)

    def _spans(self, mark: Spans, style: MarkStyle) -> None:
        assert self.axes.rows is not None, "spans have rows"
        half = self.row * 0.36
        ends = zip(self.axes.at_x(mark.begin), self.axes.at_x(mark.end), strict=True)
        boxes = [
            (float(left), float(y) - half, float(right), float(y) + half)
            for (left, right), y in zip(ends, self.axes.at_y(self.axes.rows.numbers(mark)), strict=True)
        ]
        self._add(f"span bar tone-{style.tone}", rectangles(box for box in boxes if np.isfinite(box).all()))
        self._explain("area", f"bar tone-{style.tone}", mark.label)

    def _heat(self, mark: Heatmap, _: MarkStyle) -> None:
        values, down, across = shrink(np.asarray(mark.values).reshape(len(mark.y), len(mark.x)), _MOST_HEAT)
        colors = map_colors(values)
        wide, tall = across * self.width / max(1, len(mark.x)), down * self.height / max(1, len(mark.y))
        styles = [f"heat {'below' if level < 0 else 'above'}-{abs(level)}" for level in colors.scale]
        for level, looks in zip(colors.scale, styles, strict=True):
            boxes = (
                (column * wide, row * tall, min(self.width, (column + 1) * wide), min(self.height, (row + 1) * tall))
                for row, column in np.argwhere(colors.levels == level).tolist()
            )
            self._add(looks, rectangles(boxes))
        if styles:
            self.layout.colorbar = ColorBar(mark.label, styles, colors.low, colors.high)

    def _rule(self, mark: Rule, _: MarkStyle) -> None:
        if mark.x is not None:
            x = float(self.axes.at_x(np.array([mark.x]))[0])
            self._add("rule", trace(np.array([x, x]), np.array([0.0, self.height])))
            fraction = x / self.width
            side: tuple[Anchor, int] = ("end", -6) if fraction > 0.6 else ("start", 6)
            # Between rows there is no room for words, so they stand above the first.
            down = 1.0 + 1.2 * self.labels if self.axes.rows is None else -0.4
            self._write(Text(fraction, 0.0, mark.label, *side, down))
            self.labels += bool(mark.label)
        if mark.y is not None:
            y = float(self.axes.at_y(np.array([mark.y]))[0])
            self._add("rule", trace(np.array([0.0, self.width]), np.array([y, y])))
            fraction = y / self.height
            self._write(Text(1.0, fraction, mark.label, "end", -2, 1.1 if fraction < 0.1 else -0.4))

    def _write(self, text: Text) -> None:
        """Write a text if there is one and its place is in the box."""
        if text.text and 0 <= round(text.x, 6) <= 1 and 0 <= round(text.y, 6) <= 1:
            self.layout.texts.append(text)


def _thinned(y: Array) -> Array:
    return min_max_places(y, MOST_POINTS // PER_BUCKET)
