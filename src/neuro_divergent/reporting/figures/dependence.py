"""Figures of how an objective of a search depends on one setting, or on two, by a surrogate."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.formatting import format_number
from neuro_divergent.reporting.figures.figure import Axis, Band, Bars, Figure, Heatmap, Line, Mark, Points


def partial_dependence_figure(
    objective: str, setting: str, values: Sequence[Any], mean: Floats, low: Floats, high: Floats, *, note: str = ""
) -> Figure:
    """Show the mean of an objective for values of a setting, with an interval of 95 %.

    Args:
        objective: Its name.
        setting: Name of the setting.
        values: Numbers in rising order, or choices.
        mean: Mean for each of the values, over what trials have for the other settings.
        low: Lower ends of the interval.
        high: Upper ends.
        note: How far to trust it.
    """
    best = int(np.argmin(mean))
    marks: tuple[Mark, ...]
    alt_text = (
        f"The mean {objective} goes from {format_number(float(mean.min()))} at {write_setting(values[best])} to "
        f"{format_number(float(mean.max()))} at {write_setting(values[int(np.argmax(mean))])}."
    )
    title = f"Partial dependence of {objective} on {setting}"
    if _are_numbers(values):
        places = np.array(values, np.float64)
        marks = (
            Band(places, low, high, "95 % of the mean", "neutral", 95.0),
            Line(places, mean, "mean over the other settings", "forecast"),
        )
        x, y = Axis(setting, logarithmic=None), Axis(objective, logarithmic=None)
        return Figure(title=title, marks=marks, x=x, y=y, note=note, alt_text=alt_text)
    names = [write_setting(value) for value in values]
    marks = (Bars(names, mean, label="mean and 95 %", tone="forecast", low=low, high=high),)
    return Figure(title=title, marks=marks, x=Axis(objective), note=note, alt_text=alt_text)


def contour_figure(
    objective: str,
    settings: tuple[str, str],
    grid: tuple[Sequence[Any], Sequence[Any]],
    surface: Floats,
    places: tuple[Floats, Floats],
    *,
    best: int | None = None,
    note: str = "",
) -> Figure:
    """Show an objective over two settings as colours, and the trials as dots.

    Args:
        objective: Its name.
        settings: Names of the setting from left to right, and of the one from bottom to top.
        grid: Values of both.
        surface: The objective, a row for each value of the second setting.
        places: Where trials lie between the values of both, counted from 0.
        best: Which of the trials is the best one.
        note: How far to trust it.
    """
    columns, rows = ([write_setting(value) for value in values] for values in grid)
    x, y = places[0], len(rows) - 1 - places[1]  # rows go from top to bottom
    marks: list[Mark] = [Heatmap(columns, rows[::-1], surface[::-1], objective), Points(x, y, "trial", "actual")]
    if best is not None:
        marks.append(Points(x[best : best + 1], y[best : best + 1], "best", "bad"))
    row, column = np.unravel_index(int(np.argmin(surface)), surface.shape)
    return Figure(
        title=f"{objective} over {settings[0]} and {settings[1]}",
        marks=tuple(marks),
        x=Axis(settings[0]),
        y=Axis(settings[1]),
        note=note,
        alt_text=(
            f"{len(x):,} trials; {objective} is least, {format_number(float(surface.min()))}, where {settings[0]} is "
            f"{columns[int(column)]} and {settings[1]} is {rows[int(row)]}."
        ),
    )


def write_setting(value: Any) -> str:
    """Return a value of a setting as text."""
    if isinstance(value, float):
        return format_number(value)
    return value if isinstance(value, str) else json.dumps(value)


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
