"""Marks as traces of Plotly: plain lists and text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from neuro_divergent.core.arrays import Array
from neuro_divergent.reporting.figures.figure import Band, Bars, Heatmap, Line, Mark, Points, Rule, Spans, Values
from neuro_divergent.reporting.plotly.palette import ABOVE, BELOW, TONES, faded
from neuro_divergent.reporting.sampling import PER_BUCKET, min_max_places, raster_places
from neuro_divergent.reporting.svg.axes import Axes
from neuro_divergent.reporting.svg.colormap import shrink
from neuro_divergent.reporting.svg.labels import shorten, write_values
from neuro_divergent.reporting.svg.scales import NameScale, Scale, to_numeric
from neuro_divergent.reporting.svg.style import MarkStyle

Json = dict[str, Any]

MOST_POINTS = 5_000
"""How many points of a line are given to the browser."""
_MOST_DOTS = 20_000
_MOST_HEAT = 200, 400
_NOTED_BAR, _NOTE = 0.46, 44  # thickness of a bar that has its note below, in rows, and letters of such a note
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_SYMBOLS = ("circle", "square", "circle-open", "square-open")
_OPACITIES = (0.0, 0.13, 0.17, 0.22, 0.3, 0.42)


def safe(text: str) -> str:
    """Escape text, as Plotly interprets some HTML in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def plain(values: Values) -> list[Any]:
    """Return values as JSON has them: finite numbers, ISO times, text, and ``None`` for what is not there."""
    array = np.asarray(values)
    if array.dtype.kind in "US":
        return [safe(str(value)) for value in array]
    if array.dtype.kind == "M" or (array.dtype.kind == "O" and array.size):
        times = to_numeric(array, "time").astype("M8[us]")
        known = times[~np.isnat(times)]
        unit = next((unit for unit in ("D", "s") if (known == known.astype(f"M8[{unit}]")).all()), "us")
        return [None if text == "NaT" else text for text in np.datetime_as_string(times.astype(f"M8[{unit}]")).tolist()]
    if array.dtype.kind in "iub":
        return cast(list[Any], array.tolist())
    numbers = array.astype(np.float64)
    return [value if finite else None for value, finite in zip(numbers.tolist(), np.isfinite(numbers), strict=True)]


class Traces:
    """Traces of the marks of a figure: what Plotly calls its ``data``, from back to front."""

    def __init__(self, axes: Axes) -> None:
        self.axes = axes
        self.data: list[Json] = []

    def add(self, mark: Mark, style: MarkStyle) -> None:
        """Add what a mark needs; rules are part of the layout instead."""
        ways: dict[type, Callable[[Any, MarkStyle], None]] = {
            Line: self._line, Band: self._band, Points: self._points, Bars: self._bars, Spans: self._spans,
            Heatmap: self._heat,
        }  # fmt: skip
        if not isinstance(mark, Rule):
            ways[type(mark)](mark, style)

    def _add(self, mark: Line | Band | Points | Bars | Spans, kind: str, **settings: Any) -> None:
        named = {"name": safe(mark.label), "showlegend": bool(mark.label)}
        self.data.append({"type": kind, **named, **settings})

    def _line(self, mark: Line, style: MarkStyle) -> None:
        kept = min_max_places(mark.y, MOST_POINTS // PER_BUCKET)
        x, y = np.asarray(mark.x)[kept], np.asarray(mark.y)[kept]
        colour = TONES[style.tone]
        line = {"color": colour, "width": 2.4 if style.tone == "forecast" else 1.8, "dash": _DASHES[style.dash]}
        self._add(
            mark,
            "scatter",
            mode="lines+markers" if _has_lone_point(y) else "lines",
            x=plain(x),
            y=plain(y),
            line={**line, "shape": "hv"} if mark.steps else line,
            marker={"color": colour, "size": 5},
            hovertemplate=f"%{{y:{_format(y)}}}{_extra(mark.label)}",
        )

    def _band(self, mark: Band, style: MarkStyle) -> None:
        buckets = MOST_POINTS // PER_BUCKET
        kept = np.union1d(min_max_places(mark.low, buckets), min_max_places(mark.high, buckets))
        x, low, high = (np.asarray(values)[kept] for values in (mark.x, mark.low, mark.high))
        across, heights = _outline(x, low, high)
        colour = TONES[style.tone]
        group = f"band {len(self.data)}"
        self._add(
            mark,
            "scatter",
            mode="lines",
            x=across,
            y=heights,
            fill="toself",
            fillcolor=faded(colour, _OPACITIES[style.strength]),
            line={"width": 0, "color": colour},
            legendgroup=group,
            hoverinfo="skip",
        )
        # An area has no hover text; an invisible line along its edge does.
        form = _format(high)
        self._add(
            mark,
            "scatter",
            mode="lines",
            x=plain(x),
            y=plain(high),
            customdata=plain(low),
            line={"width": 0, "color": faded(colour, 0.4)},
            legendgroup=group,
            hovertemplate=f"%{{customdata:{form}}} to %{{y:{form}}}{_extra(mark.label)}",
            showlegend=False,
        )

    def _points(self, mark: Points, style: MarkStyle) -> None:
        x, y = np.asarray(mark.x), np.asarray(mark.y)
        if len(x) > _MOST_DOTS:
            kept = raster_places(self.axes.at_x(x), self.axes.at_y(y), 200, 100)
            x, y = x[kept], y[kept]
        form = "" if x.dtype.kind in "MO" else f":{_format(x)}"
        self._add(
            mark,
            "scatter",
            mode="markers",
            x=plain(x),
            y=plain(y),
            marker={"color": TONES[style.tone], "size": 6, "opacity": 0.8, "symbol": _SYMBOLS[style.shape]},
            hovertemplate=f"%{{x{form}}}, %{{y:{_format(y)}}}{_extra(mark.label)}",
        )

    def _bars(self, mark: Bars, style: MarkStyle) -> None:
        lengths = to_numeric(mark.lengths, "number")
        place = "" if self.axes.is_over_x else "%{customdata}: "  # which the unified hover label shows once
        uncertain: Json = {}
        if self.axes.rows is None:
            along, aside, orientation, across = "y", "x", "v", plain(mark.places)
        else:
            along, aside, orientation, across = "x", "y", "h", plain(self.axes.rows.numbers(mark))
        if mark.low is not None and mark.high is not None:
            low, high = to_numeric(mark.low, "number"), to_numeric(mark.high, "number")
            ends = {"array": plain(high - lengths), "arrayminus": plain(lengths - low)}
            uncertain = {f"error_{along}": {"type": "data", "symmetric": False, "thickness": 1.4, "width": 4, **ends}}
        self._add(
            mark,
            "bar",
            **{along: plain(lengths), aside: across},
            **uncertain,
            orientation=orientation,
            **({"width": _NOTED_BAR, "offset": -_NOTED_BAR} if self.axes.has_notes_below else {}),
            customdata=[safe(name) for name in write_values(mark.places)],
            marker={"color": TONES[style.tone]},
            hovertemplate=f"{place}%{{{along}:{_format(lengths)}}}{_extra(mark.label)}",
        )
        if any(mark.notes):
            self._notes(mark, along, {aside: across})

    def _notes(self, mark: Bars, along: str, places: Json) -> None:
        """Write notes beyond the ends of bars, the uncertainty included."""
        ends = np.fmax(to_numeric(mark.lengths, "number"), 0.0)
        ends = ends if mark.high is None else np.fmax(ends, mark.high)
        if self.axes.has_notes_below:
            ends, places = np.zeros_like(ends), {"y": [row + _NOTED_BAR / 2 for row in places["y"]]}
        self._add(
            mark,
            "scatter",
            **{**places, along: plain(ends)},
            mode="text",
            text=[f"\u2002{safe(shorten(note, _NOTE))}" for note in mark.notes],
            textposition="top center" if self.axes.rows is None else "middle right",
            cliponaxis=False,
            hoverinfo="skip",
            showlegend=False,
        )

    def _spans(self, mark: Spans, style: MarkStyle) -> None:
        rows, scale = self.axes.rows, self.axes.x
        assert rows is not None, "spans have rows"
        assert isinstance(scale, Scale), "spans have ends that can be counted"
        begin, end = np.asarray(mark.begin), np.asarray(mark.end)
        lengths = to_numeric(end, scale.kind) - to_numeric(begin, scale.kind)
        if scale.kind == "logarithm":
            lengths = end - begin
        names = zip(mark.rows, write_values(begin), write_values(end), strict=True)
        self._add(
            mark,
            "bar",
            orientation="h",
            base=plain(begin),
            x=plain(lengths / 1_000 if scale.kind == "time" else lengths),  # Plotly measures times in milliseconds
            y=plain(rows.numbers(mark)),
            customdata=[safe(f"{row}: {first} to {last}") for row, first, last in names],
            marker={"color": TONES[style.tone]},
            hovertemplate=f"%{{customdata}}{_extra(mark.label)}",
            offsetgroup="spans",  # those of a row do not overlap; as grouped bars they would be made thinner
        )

    def _heat(self, mark: Heatmap, _: MarkStyle) -> None:
        values, down, across = shrink(np.asarray(mark.values).reshape(len(mark.y), len(mark.x)), _MOST_HEAT)
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        columns, rows = write_values(mark.x)[::across], write_values(mark.y)[::down]
        is_named = isinstance(self.axes.x, NameScale)
        x = list(range(0, len(mark.x), across)) if is_named else plain(np.asarray(mark.x)[::across])
        label = safe(mark.label)
        self.data.append(
            {
                "type": "heatmap",
                "x": x,
                "y": list(range(0, len(mark.y), down)),
                "z": [plain(row) for row in values],
                "customdata": [[safe(f"{row}, {column}") for column in columns] for row in rows],
                "hovertemplate": f"%{{customdata}}: %{{z:{_format(known)}}}<extra></extra>",
                "name": label,
                **_colours(low, high),
                "colorbar": {"thickness": 10, "outlinewidth": 0, "title": {"text": label, "side": "right"}},
            }
        )


def _colours(low: float, high: float) -> Json:
    """Return a colour scale from pale to full, symmetric about zero where there are values on both sides."""
    above, below = ((colour, faded(colour, 0.06)) for colour in (ABOVE, BELOW))
    if low < 0 < high:
        size = max(-low, high)
        colors = [[0, below[0]], [0.5, faded("#808a96", 0.05)], [1, above[0]]]
        return {"zmin": -size, "zmax": size, "colorscale": colors}
    if low < 0:
        return {"zmin": low, "zmax": high, "colorscale": [[0, below[0]], [1, below[1]]]}
    return {"zmin": low, "zmax": high, "colorscale": [[0, above[1]], [1, above[0]]]}


def _outline(x: Array, low: Array, high: Array) -> tuple[list[Any], list[Any]]:
    """Return the edge of the area between two lines, each stretch where both are known closed and set apart."""
    lows, highs = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    places = np.flatnonzero(np.isfinite(lows) & np.isfinite(highs))
    across, heights = [], []
    for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
        if run.size:
            there_and_back = np.concatenate([run, run[::-1]])
            across += [*plain(x[there_and_back]), None]
            heights += [*plain(highs[run]), *plain(lows[run[::-1]]), None]
    return across[:-1], heights[:-1]


def _format(values: Array) -> str:
    """Return the hover format: five significant digits, and all digits before the point."""
    numbers = np.abs(np.asarray(values, dtype=np.float64))
    numbers = numbers[np.isfinite(numbers)]
    return ",.2~f" if numbers.size and 1e4 <= numbers.max() < 1e15 else ".5~g"


def _has_lone_point(y: Array) -> bool:
    """Whether a value has no neighbour, so that no line through it can be seen."""
    known = np.concatenate([[False], np.isfinite(np.asarray(y, dtype=np.float64)), [False]])
    return bool((known[1:-1] & ~known[:-2] & ~known[2:]).any())


def _extra(label: str) -> str:
    """Return the hover text next to a value: the name of its trace, which Plotly adds by itself, or nothing."""
    return "" if label else "<extra></extra>"
