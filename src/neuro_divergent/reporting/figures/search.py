"""Figures of a hyper-parameter search, from the table of its trials.

The table is ``Study.table``: a row for each trial, with ``trial``, ``state``, ``feasible``, a column for each objective
and one for each setting, empty where a trial does not have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_number
from neuro_divergent.reporting.figures.columns import floats_of, read_columns
from neuro_divergent.reporting.figures.figure import Axis, Bars, Figure, Line, Mark, Points, Spans, Tone

_MOST_SETTINGS = 12
_MOST_LINES = 200


def convergence_figure(table: Any, objective: str, *, maximize: bool = False) -> Figure:
    """Show the value of each trial and the best so far."""
    frame = _complete(table, objective)
    numbers, values = floats_of(frame["trial"]), floats_of(frame[objective])
    best = np.maximum.accumulate(values) if maximize else np.minimum.accumulate(values)
    last = int(np.flatnonzero(best != best[-1])[-1]) + 1 if (best != best[-1]).any() else 0
    return Figure(
        title=f"{objective} over the trials",
        marks=(Points(numbers, values, "trial", "neutral"), Line(numbers, best, "best so far", "good", steps=True)),
        x=Axis("trial"),
        y=Axis(objective, logarithmic=None),
        alt_text=(
            f"The best {objective} of {frame.height:,} trials is {format_number(float(best[-1]))}, found in trial "
            f"{numbers[last]:.0f}; the first had {format_number(float(values[0]))}."
        ),
    )


def parameter_importance_figure(importances: Mapping[str, float]) -> Figure:
    """Show how much of the differences between trials each setting explains, as fractions of 1."""
    if not importances:
        raise InputError("importances: there are none; a search needs some complete trials first.")
    ordered = sorted(importances.items(), key=lambda item: -item[1])[:_MOST_SETTINGS]
    names = [name for name, _ in ordered]
    values = np.array([value for _, value in ordered], np.float64)
    return Figure(
        title="Importance of the settings",
        marks=(Bars(names, 100 * values, tone="forecast", notes=[f"{100 * value:.0f} %" for value in values]),),
        x=Axis("part of the difference between trials, %", from_zero=True),
        note=f"The {_MOST_SETTINGS} most important of {len(importances)}." if len(importances) > _MOST_SETTINGS else "",
        alt_text=f"{names[0]} matters most ({100 * values[0]:.0f} %).",
    )


def slice_figure(table: Any, objective: str, setting: str) -> Figure:
    """Show the objective against one setting: a point for each trial, or mean and range for each choice."""
    frame = _complete(table, objective, setting).drop_nulls(setting)
    if not frame.height:
        raise InputError(f"{setting}: no complete trial has it.")
    if frame[setting].dtype.is_numeric():
        places, values = floats_of(frame[setting]), floats_of(frame[objective])
        return Figure(
            title=f"{objective} by {setting}",
            marks=(Points(places, values, tone="forecast"),),
            x=Axis(setting, logarithmic=None),
            y=Axis(objective, logarithmic=None),
            alt_text=f"{frame.height:,} trials with {setting} from {places.min():g} to {places.max():g}.",
        )
    value = pl.col(objective)
    grouped = (
        frame.group_by(setting)
        .agg(value.mean().alias("mean"), value.min().alias("low"), value.max().alias("high"), pl.len().alias("count"))
        .sort("mean", setting)
    )
    names = [str(name) for name in grouped[setting]]
    notes = [f"{count} trials" if count > 1 else "1 trial" for count in grouped["count"]]
    bars = Bars(
        names,
        floats_of(grouped["mean"]),
        label="mean, from least to greatest",
        tone="forecast",
        low=floats_of(grouped["low"]),
        high=floats_of(grouped["high"]),
        notes=notes,
    )
    return Figure(
        title=f"{objective} by {setting}",
        marks=(bars,),
        x=Axis(objective),
        alt_text=f"The mean {objective} is least with {names[0]} and greatest with {names[-1]}.",
    )


def parallel_coordinates_figure(
    table: Any, objective: str, settings: Sequence[str] | None = None, *, maximize: bool = False
) -> Figure:
    """Show every trial as a line through its settings, the best tenth on top.

    Each row is a setting, from its least value on the left to its greatest on the right; choices are in the order of
    their names, and positive numbers over more than two powers of ten are on a logarithmic scale.
    """
    frame = _complete(table, objective).sort(objective, descending=maximize).head(_MOST_LINES)
    names = list(settings or [name for name in frame.columns if "." in name or name == "model"])
    names = [name for name in names if frame[name].drop_nulls().n_unique() > 1][:_MOST_SETTINGS]
    if not names:
        raise InputError("trials: no setting has two values yet.")
    places = np.stack([_places(frame[name]) for name in names])
    rows = np.arange(len(names), dtype=np.float64)
    best = max(1, frame.height // 10)
    marks: list[Mark] = [Spans(names, np.zeros(len(names)), np.zeros(len(names)))]  # empty: they name the rows
    for trial in reversed(range(frame.height)):
        known = np.isfinite(places[:, trial])
        is_first = trial in (0, best)
        label = ("best tenth" if trial < best else "other trials") if is_first else ""
        tone: Tone = "good" if trial < best else "neutral"
        marks.append(Line(places[known, trial], rows[known], label, tone, dashed=trial >= best))
    return Figure(
        title=f"Settings of the trials, by {objective}",
        marks=tuple(marks),
        x=Axis("place in the range of the setting", limits=(0.0, 1.0)),
        note=f"{frame.height:,} trials.",
        alt_text=f"{frame.height:,} trials as lines through {', '.join(names)}.",
    )


def pareto_figure(table: Any, first: str, second: str, front: Sequence[int], recommended: int | None = None) -> Figure:
    """Show two objectives of every trial, the Pareto front, and the trial that is recommended of it."""
    frame = _complete(table, first, second)
    on_front = frame.filter(pl.col("trial").is_in(list(front))).sort(first)
    marks: list[Mark] = [
        Points(floats_of(frame[first]), floats_of(frame[second]), "trial", "neutral"),
        Line(floats_of(on_front[first]), floats_of(on_front[second]), "Pareto front", "good", steps=True),
        Points(floats_of(on_front[first]), floats_of(on_front[second]), "", "good"),
    ]
    if recommended is not None:
        chosen = frame.filter(pl.col("trial") == recommended)
        marks.append(Points(floats_of(chosen[first]), floats_of(chosen[second]), f"trial {recommended}", "forecast"))
    return Figure(
        title="Pareto front",
        marks=tuple(marks),
        x=Axis(first, logarithmic=None),
        y=Axis(second, logarithmic=None),
        note="No trial on the front is beaten in both objectives by another one.",
        alt_text=f"{on_front.height:,} of {frame.height:,} trials are on the front of {first} and {second}.",
    )


def _complete(table: Any, *needed: str) -> pl.DataFrame:
    """Return the complete trials that meet the constraints, in the order of their numbers."""
    frame = read_columns(table, ("trial", "state", "feasible", *needed), "trials")
    frame = frame.filter((pl.col("state") == "complete") & pl.col("feasible")).sort("trial")
    if not frame.height:
        raise InputError("trials: none is complete yet.")
    return frame


def _places(column: pl.Series) -> Floats:
    """Return where values lie between the least (0) and the greatest (1); NaN where there is none."""
    if not column.dtype.is_numeric():
        order = column.drop_nulls().unique().sort().to_list()
        column = column.replace_strict(order, list(range(len(order))), return_dtype=pl.Float64)
    values: Floats = floats_of(column)
    known = values[np.isfinite(values)]
    if known.size and known.min() > 0 and known.max() / known.min() > 100:
        values = np.log(values)
        known = np.log(known)
    scaled: Floats = (values - known.min()) / (np.ptp(known) or 1.0)
    return scaled
