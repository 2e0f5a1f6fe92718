"""The two axes of a figure and the places of values on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Array, Floats
from neuro_divergent.reporting.figures.figure import Band, Bars, Figure, Heatmap, Line, Mark, Points, Rule, Spans
from neuro_divergent.reporting.svg.labels import shorten, write_values
from neuro_divergent.reporting.svg.rows import has_names, rows_of
from neuro_divergent.reporting.svg.scales import NameScale, Scale, Tick, even_scale, scale_of, spread, to_numeric

_ROW, _SLOT, _HEAT_ROW = 26, 15, 22  # pixels of a row, of each of several bars in a row, and of a row of a heat map
_NOTED_ROW, _LONG_NOTE = 40, 16  # pixels of a row with its note below the bar, and letters from which on it is there
_LETTER = 6.8  # pixels of it
_WIDE, _NARROW = 540, 310  # pixels of a figure in two columns, and of one on a phone
LONGEST, SHORTER = 24, 18
"""Letters of names to the left, and of them on a phone; what is longer is shortened in its middle."""
_COLUMN = 14  # letters of names below


class Axes:
    """What is counted from left to right and from bottom to top, or the rows from top to bottom.

    Attributes:
        rows: Named rows, or ``None`` if the vertical axis counts.
        slots: How many bars share a place: all kinds beside each other where a place has several, else one.
        has_notes_below: Whether notes are so long that they stand below lying bars instead of behind them.
        x: The axis below.
        y: The axis to the left.
    """

    def __init__(self, figure: Figure, width: float, height: float) -> None:
        self.figure, self.width, self.height = figure, width, height
        self.rows = rows_of(figure.marks)
        self.bars = [mark for mark in figure.marks if isinstance(mark, Bars)]
        self.heat = next((mark for mark in figure.marks if isinstance(mark, Heatmap)), None)
        keys = [{str(place) for place in mark.places} for mark in self.bars]
        overlap = any(keys[late] & keys[early] for late in range(len(keys)) for early in range(late))
        self.slots = len(self.bars) if overlap else 1
        longest = max((len(note) for mark in self.bars for note in mark.notes), default=0)
        self.has_notes_below = self.rows is not None and self.slots == 1 and longest > _LONG_NOTE
        self.y = self._down()
        self.x = self._across()

    def at_x(self, values: Any) -> Floats:
        """Return places from the left; what lies far outside is brought near, as no number may be endless."""
        return np.clip(self.x.place(values), -1, 2) * self.width

    def at_y(self, values: Any) -> Floats:
        """Return places from the top."""
        place = self.y.place(values)
        return np.clip(place if isinstance(self.y, NameScale) else 1 - place, -1, 2) * self.height

    @property
    def zero_x(self) -> float:
        """Where lying bars start: at zero, or at the begin of an axis that has none."""
        return float(np.nan_to_num(self.at_x([0.0]))[0])

    @property
    def zero_y(self) -> float:
        """Where upright bars start."""
        return float(np.nan_to_num(self.at_y([0.0]), nan=self.height)[0])

    @property
    def is_over_x(self) -> bool:
        """Whether all marks of a place can be read off together: there are lines, and no rows."""
        return self.rows is None and any(isinstance(mark, Line) for mark in self.figure.marks)

    @property
    def pixels(self) -> int | None:
        """Height that the rows need, or ``None`` if there are none."""
        if self.heat is not None:
            return min(max(110, len(self.heat.y) * _HEAT_ROW), 440)
        if self.rows is None:
            return None
        row = _NOTED_ROW if self.has_notes_below else max(_ROW, self.slots * _SLOT + 8)
        return max(60, len(self.rows) * row)

    @property
    def x_ticks(self) -> list[Tick]:
        """Labels below, by their fraction of the width."""
        ticks = self.x.ticks(8 if isinstance(self.x, Scale) else max(1, len(self.x.names)))
        return spread(ticks, *self._room)

    @property
    def y_ticks(self) -> list[Tick]:
        """Labels to the left, by their fraction of the height from the top."""
        if isinstance(self.y, NameScale):
            return self.y.ticks((self.pixels or 0) // 14)
        return [tick._replace(place=1 - tick.place, is_spare=False) for tick in self.y.ticks(6)]

    def slot(self, mark: Bars) -> int:
        """Return which of the bars that share a place are those of a mark."""
        return next(at for at, other in enumerate(self.bars) if other is mark) if self.slots > 1 else 0

    def bar_width(self, mark: Bars) -> float:
        """Return how much room there is for all upright bars of a place."""
        assert isinstance(self.x, Scale), "upright bars stand on numbers"
        return _gap(to_numeric(mark.places, self.x.kind), self.x) / (self.x.high - self.x.low) * self.width

    def ends(self, mark: Bars) -> Floats:
        """Return how far to the right lying bars reach, with their uncertainty, as fractions of the width."""
        return _ends(self.x, mark)

    @property
    def _room(self) -> tuple[float, float]:
        """Pixels from left to right between the labels and the edge: usually, and on a phone."""
        letters = max([len(tick.text) for tick in self.y_ticks] or [1])
        return _WIDE - min(letters, LONGEST) * _LETTER, _NARROW - min(letters, SHORTER) * _LETTER

    def _across(self) -> Scale | NameScale:
        if self.heat is not None:
            names = NameScale([shorten(name, _COLUMN) for name in write_values(self.heat.x)])
            return even_scale(self.heat.x) or names
        values = [array for mark in self.figure.marks for array in _x_values(mark)]
        is_lying = self.rows is not None and bool(self.bars)
        has_points = any(isinstance(mark, Points) for mark in self.figure.marks)
        room = 0.03 if is_lying else 0.02 if has_points else 0.0
        scale = scale_of(values, self.figure.x, room=room, from_zero=is_lying)
        if self.figure.x.limits is not None:
            return scale
        return self._with_room_for_notes(scale) if is_lying else self._with_room_for_bars(scale)

    def _down(self) -> Scale | NameScale:
        if self.rows is not None:
            return NameScale(self.rows.names)
        values = [array for mark in self.figure.marks for array in _y_values(mark)]
        return scale_of(values, self.figure.y, room=0.05, from_zero=bool(self.bars))

    def _with_room_for_notes(self, scale: Scale) -> Scale:
        """Return an axis so long that the notes fit behind their bars, on a phone, too."""
        factor = 1.0
        for mark in [] if self.has_notes_below else self.bars:
            for end, note in zip(_ends(scale, mark), mark.notes, strict=False):
                fraction = min(0.5, (len(note) * _LETTER + 12) / self._room[1])
                factor = max(factor, float(end) / (1 - fraction))
        return replace(scale, high=scale.low + (scale.high - scale.low) * factor)

    def _with_room_for_bars(self, scale: Scale) -> Scale:
        for mark in self.bars:
            places = to_numeric(mark.places, scale.kind)
            if np.isfinite(places).any():
                half = _gap(places, scale) / 2
                low, high = float(np.nanmin(places)) - half, float(np.nanmax(places)) + half
                scale = replace(scale, low=min(scale.low, low), high=max(scale.high, high))
        return scale


def _x_values(mark: Mark) -> list[Array]:
    if isinstance(mark, Line | Points | Band):
        return [mark.x]
    if isinstance(mark, Spans):
        return [mark.begin, mark.end]
    if isinstance(mark, Bars):
        return _lengths(mark) if has_names(mark) else [np.asarray(mark.places)]
    return [np.array([mark.x])] if isinstance(mark, Rule) and mark.x is not None else []


def _y_values(mark: Mark) -> list[Array]:
    if isinstance(mark, Line | Points):
        return [mark.y]
    if isinstance(mark, Band):
        return [mark.low, mark.high]
    if isinstance(mark, Bars):
        return _lengths(mark)
    return [np.array([mark.y])] if isinstance(mark, Rule) and mark.y is not None else []


def _lengths(mark: Bars) -> list[Array]:
    return [values for values in (mark.lengths, mark.low, mark.high) if values is not None]


def _ends(scale: Scale | NameScale, mark: Bars) -> Floats:
    reach = scale.place(mark.lengths)
    reach = reach if mark.high is None else np.fmax(reach, scale.place(mark.high))
    return np.clip(np.fmax(reach, np.nan_to_num(scale.place([0.0]))), 0, 1)


def _gap(places: Floats, scale: Scale) -> float:
    """Return the smallest distance of two places, in units of the axis."""
    different = np.unique(places[np.isfinite(places)])
    return float(np.diff(different).min()) if len(different) > 1 else (scale.high - scale.low) / 4
