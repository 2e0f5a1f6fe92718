"""A forecast as characters.

Lines are drawn with braille patterns, eight dots to a character, and the interval with light shade. Where the terminal
cannot show those, plain letters are used. Colours only repeat what the shapes say.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import numpy as np
from rich.text import Text

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.formatting import format_number
from neuro_divergent.reporting.chart import ForecastChart
from neuro_divergent.reporting.svg.ticks import round_ticks

_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])  # of a braille cell, by row and column
_BRAILLE = 0x2800
_STYLES = {"band": "blue", "history": "", "forecast": "bold magenta"}


@dataclass(frozen=True)
class CharacterSet:
    """Characters to draw with, and the dots in each of them, from top to bottom and from left to right.

    ``history`` and ``forecast`` are empty for braille dots. ``border`` stands between past and future, ``corner`` where
    the axes meet, and ``floor`` is the time axis.
    """

    rows: int
    columns: int
    history: str
    forecast: str
    band: str
    border: str
    corner: str
    floor: str


BRAILLE = CharacterSet(4, 2, "", "", "░", "┊", "└", "─")
ASCII = CharacterSet(1, 1, "*", "o", ".", "|", "+", "-")


def character_set_for(encoding: str | None) -> CharacterSet:
    """Return the finest characters that a terminal with this encoding can show."""
    return BRAILLE if (encoding or "").lower().replace("-", "").startswith("utf") else ASCII


def draw(chart: ForecastChart, *, width: int = 80, height: int = 12, characters: CharacterSet = BRAILLE) -> Text:
    """Draw a chart.

    The width includes the axis and is at least 30; the height is that of the lines alone, to which a title, the time
    axis and a legend add four.
    """
    text, margin = _draw(chart, chart.limits, width, height, characters)
    text.append(f"\n{'':{margin}}  ")
    _legend(text, chart, characters)
    return text


def draw_line(
    title: str,
    values: Floats,
    ends: tuple[str, str],
    *,
    width: int = 80,
    height: int = 12,
    characters: CharacterSet = BRAILLE,
) -> Text:
    """Draw one line of values that are not negative above a floor of zero.

    The values are evenly spaced, NaN where one is not known; ``ends`` are written below the first and the last. Width
    and height are as in ``draw``, without a legend.
    """
    unknown = np.full(len(values), np.nan)
    labels = [ends[0], *[""] * (len(values) - 2), ends[1]][-len(values) :]
    chart = ForecastChart(title, labels, values, backtest=unknown, forecast=unknown, bands={}, future=len(values))
    return _draw(chart, (0.0, chart.limits[1]), width, height, characters)[0]


def _draw(
    chart: ForecastChart, limits: tuple[float, float], width: int, height: int, characters: CharacterSet
) -> tuple[Text, int]:
    """Draw the lines between their axes; return the width of what stands left of them, too."""
    low, high = limits
    if low == high:
        low, high = low - 1, high + 1
    ticks = {_row(tick, low, high, height): format_number(tick) for tick in round_ticks(low, high, max(2, height // 3))}
    margin = max(len(label) for label in ticks.values())
    canvas = _Canvas(chart, max(width, 30) - margin - 2, height, characters, (low, high))
    text = Text(f"{'':{margin}}  {chart.title}\n", style="", no_wrap=True, overflow="crop")
    for row in range(height):
        text.append(f"{ticks.get(row, ''):>{margin}} ")
        text.append("┤" if row in ticks and characters is BRAILLE else "│" if characters is BRAILLE else "|")
        canvas.write(text, row)
        text.append("\n")
    text.append(f"{'':{margin}} {characters.corner}{characters.floor * canvas.width}\n")
    text.append(f"{'':{margin}}  {_labels(chart, canvas)}")
    return text, margin


class _Canvas:
    """Characters with what they show: 0 nothing, 1 band, 2 history, 3 forecast; what comes later is drawn on top."""

    def __init__(
        self, chart: ForecastChart, width: int, height: int, characters: CharacterSet, limits: tuple[float, float]
    ) -> None:
        self.width, self.height, self.characters, self.limits = width, height, characters, limits
        self.count = len(chart.times)
        self.cells = np.zeros((height, width), dtype=np.int64)
        self.dots = np.zeros((height, width), dtype=np.int64)
        self.future = self.column(chart.future - 0.5) if chart.future < self.count else None
        for lower, upper in list(chart.bands.values())[:1]:
            self._fill(lower, upper)
        self._line(chart.actual, 2)
        forecast = np.where(np.isnan(chart.backtest), chart.forecast, chart.backtest)
        self._line(forecast, 3)

    def column(self, place: float) -> int:
        """Return the character in which a place on the time axis lies."""
        return min(self.width - 1, int((place + 0.5) / self.count * self.width))

    def write(self, text: Text, row: int) -> None:
        """Add the characters of a row."""
        letters = [self._letter(row, column) for column in range(self.width)]
        for style, run in groupby(letters, key=lambda pair: pair[1]):
            text.append("".join(letter for letter, _ in run), style=style)

    def _letter(self, row: int, column: int) -> tuple[str, str]:
        """Return a character and its style."""
        kind = int(self.cells[row, column])
        if kind == 0:
            return self.characters.border if column == self.future else " ", ""
        if kind == 1:
            return self.characters.band, _STYLES["band"]
        name = "history" if kind == 2 else "forecast"
        return getattr(self.characters, name) or chr(_BRAILLE + int(self.dots[row, column])), _STYLES[name]

    def _fill(self, lower: Floats, upper: Floats) -> None:
        known = np.flatnonzero(np.isfinite(lower) & np.isfinite(upper))
        for column in range(self.width):
            place = (column + 0.5) / self.width * self.count - 0.5
            nearest = known[np.argmin(np.abs(known - place))] if known.size else -1
            if nearest < 0 or abs(nearest - place) > 0.5 + 0.5 * self.count / self.width:
                continue
            rows = sorted(_row(value, *self.limits, self.height) for value in (lower[nearest], upper[nearest]))
            self.cells[rows[0] : rows[1] + 1, column] = 1

    def _line(self, values: Floats, kind: int) -> None:
        """Join neighbouring values; each dot column gets the dots between its value and the one before."""
        width, height = self.width * self.characters.columns, self.height * self.characters.rows
        places = (np.arange(width) + 0.5) / width * self.count - 0.5
        known = np.isfinite(values)
        if not known.any():
            return
        left, right = np.clip(np.floor(places), 0, self.count - 1), np.clip(np.ceil(places), 0, self.count - 1)
        drawn = known[left.astype(int)] & known[right.astype(int)]
        single = known & ~np.roll(known, 1) & ~np.roll(known, -1)
        drawn |= single[np.clip(np.round(places), 0, self.count - 1).astype(int)]
        filled = np.interp(places, np.flatnonzero(known), values[known])
        rows = [_row(value, *self.limits, height) for value in filled]
        for column in np.flatnonzero(drawn):
            before = rows[column - 1] if column and drawn[column - 1] else rows[column]
            step = 1 if before <= rows[column] else -1
            for row in range(before + (step if before != rows[column] else 0), rows[column] + step, step):
                self._dot(row, int(column), kind)

    def _dot(self, row: int, column: int, kind: int) -> None:
        place = row // self.characters.rows, column // self.characters.columns
        if self.cells[place] < kind:
            self.cells[place], self.dots[place] = kind, 0
        self.dots[place] |= int(_DOTS[row % self.characters.rows, column % self.characters.columns])


def _row(value: float, low: float, high: float, height: int) -> int:
    """Return the row, counted from the top, in which a value lies."""
    return min(height - 1, max(0, int((high - value) / (high - low) * height)))


def _labels(chart: ForecastChart, canvas: _Canvas) -> str:
    """Write the first and last time, and between them the first time that was forecast ahead, where they fit."""
    first, last = chart.times[0], chart.times[-1]
    line = f"{first}{last:>{max(canvas.width - len(first), 0)}}"
    if canvas.future is None:
        return line
    middle = chart.times[chart.future]
    begin = canvas.future
    room = line[max(begin - 2, 0) : begin + len(middle) + 2]
    return line if room.strip() else line[:begin] + middle + line[begin + len(middle) :]


def _legend(text: Text, chart: ForecastChart, characters: CharacterSet) -> None:
    stroke = chr(_BRAILLE + 0x24) + chr(_BRAILLE + 0x12)
    lines = [("history", "observed"), ("forecast", "forecast")]
    entries = [(getattr(characters, name) * 2 or stroke, meaning, name) for name, meaning in lines]
    entries.extend((characters.band * 2, f"{level:g} % interval", "band") for level in list(chart.bands)[:1])
    for place, (sample, meaning, name) in enumerate(entries):
        text.append("   " if place else "")
        text.append(sample, style=_STYLES[name])
        text.append(f" {meaning}")
