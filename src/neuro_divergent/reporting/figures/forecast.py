"""Figures of forecasts with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_count, format_number, format_time
from neuro_divergent.reporting.figures.columns import floats_of, id_of, places_of, read_columns
from neuro_divergent.reporting.figures.figure import Axis, Band, Figure, Line, Mark, Rule, Tone

_MOST_ROWS = 5_000


def forecast_figure(
    context: Any,
    forecasts: Any,
    *,
    series: Any = None,
    id: str | None = None,  # noqa: A002 (as in a schema)
    time: str = "ds",
    target: str = "y",
    backtest: Any = None,
    levels: Sequence[float] | None = None,
) -> Figure:
    """Show the end of one series, what comes next with its intervals, and forecasts of what was held out.

    Where a time was forecast from several cut-offs, the backtest shows the latest of them.

    Args:
        context: Past of the series: id, time and target; or ``None``.
        forecasts: What ``predict`` returns: id, time, ``forecast``, ``lo-80``, ``hi-80`` and so on, or quantiles such
            as ``q-0.1`` and ``q-0.9``, which make intervals as well; or ``None``.
        series: Which series, as in the id column or as its text; unset, the first.
        id: Column that names the series; unset, ``unique_id`` if there is one.
        time: Column of times.
        target: Column of the past.
        backtest: Forecasts of times that are over, as in ``Evaluation.forecasts``; or ``None``.
        levels: Intervals to show, in percent; unset, all there are.
    """
    given = {"context": (context, target), "forecasts": (forecasts, "forecast"), "backtest": (backtest, "forecast")}
    tables = {
        name: read_columns(source, (time, column), name)
        for name, (source, column) in given.items()
        if source is not None
    }
    if not tables:
        raise InputError("there is neither a past nor a forecast to show.")
    if series is None:
        series = _first(list(tables.values()), id)
    tables = {name: _of_series(frame, id, series, time) for name, frame in tables.items()}
    past, ahead, checked = (tables.get(name, pl.DataFrame()) for name in given)
    if not (past.height or ahead.height or checked.height):
        raise InputError(f"series: there is no {series!r} in the tables.")
    if "cutoff" in checked.columns:
        checked = checked.sort("cutoff").unique(time, keep="last").sort(time)
    past, checked = past.tail(_MOST_ROWS), checked.tail(_MOST_ROWS)
    marks = [
        *_bands(checked, time, "backtest", levels),
        *_bands(ahead, time, "forecast", levels),
        *_lines(past, time, target, "observed", "actual"),
        *_lines(checked, time, "forecast", "held out, forecast", "backtest"),
        *_lines(ahead, time, "forecast", "forecast", "forecast"),
    ]
    if past.height and ahead.height:
        marks.append(Rule(x=places_of(past[time])[-1]))
    return Figure(
        title="Forecast" if series is None else f"Forecast of {series}",
        marks=tuple(marks),
        x=Axis(time),
        y=Axis(target),
        alt_text=" ".join(_describe(past, ahead, checked, time, levels)),
    )


def levels_of(frame: pl.DataFrame) -> dict[float, tuple[str, str]]:
    """Return the columns of the ends of each interval by its level, the widest first."""
    found: dict[float, tuple[str, str]] = {}
    for name in frame.columns:
        kind, _, text = name.partition("-")
        try:
            number = float(text)
        except ValueError:
            continue
        if kind == "lo" and f"hi-{text}" in frame.columns:
            found[number] = (name, f"hi-{text}")
        elif kind == "q" and 0 < number < 0.5:
            other = next((other for other in frame.columns if _is_quantile(other, 1 - number)), None)
            if other is not None:
                found.setdefault(round(100 * (1 - 2 * number), 6), (name, other))
    return dict(sorted(found.items(), reverse=True))


def _is_quantile(name: str, level: float) -> bool:
    kind, _, text = name.partition("-")
    try:
        return kind == "q" and abs(float(text) - level) < 1e-9
    except ValueError:
        return False


def _first(frames: list[pl.DataFrame], named: str | None) -> Any:
    for frame in reversed(frames):  # those with forecasts before those without
        column = id_of(frame, named) if named is None or named in frame.columns else None
        if column is not None and frame.height:
            return frame[column][0]
    return None


def _of_series(frame: pl.DataFrame, named: str | None, series: Any, time: str) -> pl.DataFrame:
    """Return the rows of one series in the order of time; all, where the table does not tell of which they are."""
    column = id_of(frame, named) if named is None or named in frame.columns else None
    if column is not None:
        frame = frame.filter(pl.col(column).cast(pl.String) == str(series))
    return frame.drop_nulls(time).sort(time)


def _bands(frame: pl.DataFrame, time: str, tone: Tone, levels: Sequence[float] | None) -> list[Mark]:
    if not frame.height:
        return []
    times, suffix = places_of(frame[time]), ", held out" if tone == "backtest" else ""
    return [
        Band(times, floats_of(frame[low]), floats_of(frame[high]), label=f"{level:g} %{suffix}", tone=tone, level=level)
        for level, (low, high) in levels_of(frame).items()
        if levels is None or any(abs(level - wanted) < 1e-6 for wanted in levels)
    ]


def _lines(frame: pl.DataFrame, time: str, column: str, label: str, tone: Tone) -> list[Mark]:
    return [Line(places_of(frame[time]), floats_of(frame[column]), label=label, tone=tone)] if frame.height else []


def _describe(
    past: pl.DataFrame, ahead: pl.DataFrame, checked: pl.DataFrame, time: str, levels: Sequence[float] | None
) -> list[str]:
    sentences = []
    if ahead.height:
        values = floats_of(ahead["forecast"])
        values = values[np.isfinite(values)]
        begin, end = format_time(ahead[time][0]), format_time(ahead[time][-1])
        text = f"Forecast of {format_count(ahead.height, 'step')} from {begin} to {end}"
        if len(values):
            text += f", between {format_number(float(values.min()))} and {format_number(float(values.max()))}"
        sentences.append(f"{text}.")
        for band in _bands(ahead, time, "forecast", levels):
            assert isinstance(band, Band)
            widths = band.high - band.low
            if np.isfinite(widths).any():
                width = format_number(float(np.nanmean(widths)))
                sentences.append(f"The {band.label} interval is {width} wide on average.")
    if checked.height and "actual" in checked.columns:
        errors = np.abs(floats_of(checked["actual"]) - floats_of(checked["forecast"]))
        if np.isfinite(errors).any():
            error = format_number(float(np.nanmean(errors)))
            sentences.append(f"Held-out values were forecast with a mean absolute error of {error}.")
    if past.height and not ahead.height:
        sentences.append(f"{format_count(past.height, 'observed value')} up to {format_time(past[time][-1])}.")
    return sentences
