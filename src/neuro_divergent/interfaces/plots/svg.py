"""The geometry of charts for a page: paths and the places of labels, without any markup.

Lines are given in a square of 1000 by 1000 that the page stretches to the room there is; labels are given in percent of
that room, so text keeps its size and shape on a phone as on a desk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from neuro_divergent.interfaces.plots.chart import Floats, ForecastChart
from neuro_divergent.interfaces.plots.ticks import power_ticks, round_ticks, show_number

_SIZE = 1000.0


@dataclass(frozen=True)
class Shape:
    """A line or an area.

    Attributes:
        kind: What it shows, which is also the name of its style.
        path: Drawing instructions as in the ``d`` of an SVG path.
        label: What the legend calls it.
    """

    kind: str
    path: str
    label: str


@dataclass(frozen=True)
class Plot:
    """A drawing.

    Attributes:
        title: What it shows.
        shapes: From back to front.
        x_ticks: Place in percent and text of each label below.
        y_ticks: Place in percent from the top and text of each label to the left.
        border: Place in percent of a vertical line, or ``None``.
    """

    title: str
    shapes: list[Shape]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    border: float | None = None


@dataclass(frozen=True)
class Curve:
    """A line through points.

    Attributes:
        kind: Name of its style.
        label: What the legend calls it.
        x: Places from left to right.
        y: Heights, NaN where there is no point.
    """

    kind: str
    label: str
    x: Floats
    y: Floats


@dataclass(frozen=True)
class _Scale:
    """Maps values to places on an axis of ``_SIZE``; upside down for heights."""

    low: float
    high: float
    logarithmic: bool = False
    ticks: list[float] = field(default_factory=list)

    def place(self, values: Floats) -> Floats:
        low, high = (math.log(self.low), math.log(self.high)) if self.logarithmic else (self.low, self.high)
        with np.errstate(divide="ignore", invalid="ignore"):
            raw = np.log(values) if self.logarithmic else values
        return np.asarray((raw - low) / (high - low) * _SIZE)

    def labels(self, *, flip: bool = False) -> list[tuple[float, str]]:
        places = self.place(np.array(self.ticks)) / _SIZE * 100
        return [
            (round(100 - place if flip else place, 2), show_number(tick))
            for place, tick in zip(places, self.ticks, strict=True)
        ]


def plot_forecast(chart: ForecastChart) -> Plot:
    """Lay out a series with its forecasts and intervals."""
    count = len(chart.times)
    across = (np.arange(count) + 0.5) / count * _SIZE
    heights = _heights(*chart.limits)

    def line(values: Floats) -> str:
        return trace(across, _SIZE - heights.place(values))

    shapes = [
        Shape(f"band band-{order}", outline(across, *(_SIZE - heights.place(end) for end in ends)), f"{level:g} %")
        for order, (level, ends) in enumerate(chart.bands.items())
    ]
    shapes.append(Shape("actual", line(chart.actual), "observed"))
    shapes.append(Shape("backtest", line(chart.backtest), "forecast of held-out values"))
    shapes.append(Shape("forecast", line(chart.forecast), "forecast"))
    return Plot(
        title=chart.title,
        shapes=[shape for shape in shapes if shape.path],
        x_ticks=_time_ticks(chart),
        y_ticks=heights.labels(flip=True),
        border=round(100 * chart.future / count, 2) if chart.future < count else None,
    )


def plot_curves(
    title: str, curves: list[Curve], *, may_be_logarithmic: bool = True, floor: float | None = None
) -> Plot:
    """Lay out lines over a common axis.

    Heights that differ by more than a factor of ten get a logarithmic axis, unless that is not wanted. A floor is a
    height that is shown even if no line is that low.
    """
    heights = np.concatenate([curve.y for curve in curves])
    places = np.concatenate([curve.x for curve in curves])
    heights = heights[np.isfinite(heights)]
    if not heights.size:
        return Plot(title, [], [], [])
    low, high = float(heights.min()), float(heights.max())
    low = low if floor is None else min(low, floor)
    vertical = _heights(low, high, logarithmic=may_be_logarithmic and low > 0 and high / low > 10)
    left, right = float(places.min()), float(places.max())
    across = _Scale(left, right if right > left else left + 1, ticks=round_ticks(left, right, 5))
    shapes = []
    for curve in curves:
        known = np.isfinite(curve.y)
        path = trace(across.place(curve.x[known]), _SIZE - vertical.place(curve.y[known]))
        if path:
            shapes.append(Shape(curve.kind, path, curve.label))
    return Plot(title, shapes, across.labels(), vertical.labels(flip=True))


def trace(x: Floats, y: Floats) -> str:
    """Return a path through points, broken where one is missing; a lone point becomes a short stroke."""
    parts = []
    for run in _runs(np.isfinite(y)):
        points = [f"{x[place]:.1f} {y[place]:.1f}" for place in run]
        parts.append(f"M{'L'.join(points if len(points) > 1 else points * 2)}")
    return "".join(parts)


def outline(x: Floats, low: Floats, high: Floats) -> str:
    """Return the path around the area between two lines, for each stretch where both are known."""
    parts = []
    for run in _runs(np.isfinite(low) & np.isfinite(high)):
        there = [f"{x[place]:.1f} {high[place]:.1f}" for place in run]
        back = [f"{x[place]:.1f} {low[place]:.1f}" for place in reversed(run)]
        parts.append(f"M{'L'.join(there + back)}Z")
    return "".join(parts)


def _runs(known: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[list[int]]:
    """Return the places of each unbroken stretch."""
    places = np.flatnonzero(known)
    return [run.tolist() for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if run.size]


def _heights(low: float, high: float, *, logarithmic: bool = False) -> _Scale:
    """Return an axis with a little room above and below."""
    if logarithmic:
        room = (high / low) ** 0.05
        return _Scale(low / room, high * room, True, power_ticks(low / room, high * room))
    room = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
    low, high = (low - room if low < 0 or low > room else 0.0), high + room
    return _Scale(low, high, ticks=round_ticks(low, high, 6))


def _time_ticks(chart: ForecastChart) -> list[tuple[float, str]]:
    """Label the first time, the first one ahead (or the middle) and the last."""
    count = len(chart.times)
    inner = chart.future if count * 0.3 < chart.future < count * 0.75 else count // 2
    chosen = dict.fromkeys([0, inner, count - 1])
    return [(round(100 * (place + 0.5) / count, 2), chart.times[place]) for place in chosen]
