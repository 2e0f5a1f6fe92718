"""Figures of variable importance and attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_number
from neuro_divergent.reporting.figures.columns import floats_of, pivot, places_of, read_columns
from neuro_divergent.reporting.figures.figure import Axis, Bars, Figure, Heatmap, Mark, Rule

_PARTS = ("static", "past", "future")


def importance_figure(variables: Any, *, most: int = 30) -> Figure:
    """Show the weights that a network gives to its variables, as the mean over the series.

    Whiskers reach from the tenth to the ninetieth percentile of the series, where there are several.

    Args:
        variables: ``Explanation.variables``: ``part``, ``variable`` and ``weight``, and the id column if there is one.
        most: How many variables to show; the lightest are left out.
    """
    frame = read_columns(variables, ("part", "variable", "weight"), "variables")
    frame = frame.with_columns(pl.col("weight").cast(pl.Float64, strict=False)).filter(pl.col("weight").is_finite())
    table = (
        frame.group_by("part", "variable", maintain_order=True)
        .agg(
            pl.col("weight").mean().alias("mean"),
            pl.col("weight").quantile(0.1, "linear").alias("low"),
            pl.col("weight").quantile(0.9, "linear").alias("high"),
            pl.len().alias("rows"),
        )
        .sort("mean", descending=True, maintain_order=True)
    )
    if not table.height:
        raise InputError("variables: there are no weights.")
    total, table = table.height, table.head(most)
    parts = [part for part in (*_PARTS, *table["part"].unique(maintain_order=True)) if part in table["part"]]
    repeated = table["variable"].filter(table["variable"].is_duplicated()).to_list()
    marks: list[Mark] = []
    for part in dict.fromkeys(parts):
        rows = table.filter(pl.col("part") == part)
        shown = [f"{name} ({part})" if name in repeated else str(name) for name in rows["variable"]]
        varies = int(rows["rows"].max() or 0) > 1  # type: ignore[arg-type]
        marks.append(
            Bars(
                shown,
                floats_of(rows["mean"]) * 100,
                label=str(part),
                tone="other",
                low=floats_of(rows["low"]) * 100 if varies else None,
                high=floats_of(rows["high"]) * 100 if varies else None,
                notes=[f"{100 * value:.1f} %" for value in rows["mean"].to_list()],
            )
        )
    heaviest = table.group_by("part", maintain_order=True).first().to_dicts()
    told = ", ".join(f"{row['part']}: {row['variable']} ({100 * row['mean']:.0f} %)" for row in heaviest)
    return Figure(
        title="Weights of the variables",
        marks=tuple(marks),
        x=Axis("weight within its part, %", from_zero=True),
        note=f"The {most} heaviest of {total:,}." if total > most else "The weights of each part sum to 100 %.",
        alt_text=f"Heaviest in each part: {told}.",
    )


def attention_figure(attention: Any) -> Figure:
    """Show which steps of its window each step of the horizon looked at in ``Explanation.attention``, on average."""
    frame = read_columns(attention, ("step", "position", "weight"), "attention")
    frame = frame.with_columns(pl.col("weight").cast(pl.Float64, strict=False)).filter(pl.col("weight").is_finite())
    if not frame.height:
        raise InputError("attention: there are no weights.")
    steps, positions, values = _means(frame, "step", "position", "weight")
    best = positions[int(np.nanargmax(np.nanmean(values, 0)))]
    return Figure(
        title="Where each step of the horizon looked",
        marks=(Heatmap(floats_of(positions), [f"{step}" for step in steps], values, label="weight"),),
        x=Axis("position in the window (0 is the last of the history)"),
        y=Axis("step of the horizon"),
        alt_text=f"Over all steps of the horizon, position {best} has most weight.",
    )


def attribution_figure(table: Any, *, most: int = 30) -> Figure:
    """Show how much a forecast depends on each variable, on each position of its window, or on both.

    Args:
        table: What ``permutation_importance`` or ``integrated_gradients`` returns: ``importance`` or ``attribution`` by
            ``variable``, by ``position`` (0 is the last of the history, -1 the one before), or by both; ``low`` and
            ``high``, if there, are the ends of its uncertainty. Several rows of one, as of several series, are
            averaged. Where there are positions, what has none, as static variables, is left out.
        most: How many variables to show; those that matter least are left out.
    """
    frame = read_columns(table, (), "attributions")
    if "importance" not in frame.columns:
        frame = read_columns(frame, ("attribution",), "attributions").rename({"attribution": "importance"})
    keys = [name for name in ("variable", "position") if name in frame.columns]
    if len(keys) == 2 and frame["variable"].n_unique() == 1:
        keys = ["position"]
    if not keys:
        raise InputError("attributions: there is neither a column 'variable' nor a column 'position'.")
    ends = [name for name in ("low", "high") if "low" in frame.columns and "high" in frame.columns]
    frame = frame.with_columns(pl.col(name).cast(pl.Float64, strict=False) for name in ("importance", *ends))
    frame = frame.filter(pl.col("importance").is_finite()).drop_nulls(keys)
    if not frame.height:
        raise InputError("attributions: there are no values.")
    grouped = frame.group_by(keys[0], maintain_order=True).agg(pl.col("importance", *ends).mean())
    if keys == ["position"]:
        grouped = grouped.sort("position")
        places, values = places_of(grouped["position"]), floats_of(grouped["importance"])
        peak = int(np.abs(values).argmax())
        bars = Bars(places, values, tone="forecast", **_whiskers(grouped, ends))
        return Figure(
            title="Importance of each position",
            marks=(bars, Rule(y=0.0)),
            x=Axis("position in the window (0 is the last of the history)"),
            y=Axis("importance"),
            alt_text=f"Position {places[peak]:g} matters most ({format_number(float(values[peak]))}).",
        )
    sizes = frame.group_by("variable").agg(pl.col("importance").abs().mean().alias("size"))
    if len(keys) == 2:
        return _by_both(frame, sizes, most)
    grouped = grouped.join(sizes, on="variable").sort("size", descending=True, maintain_order=True)
    total, grouped = grouped.height, grouped.head(most)
    names, values = [str(name) for name in grouped["variable"]], floats_of(grouped["importance"])
    notes = [format_number(value) for value in values.tolist()]
    return Figure(
        title="Importance of the variables",
        marks=(Bars(names, values, tone="forecast", notes=notes, **_whiskers(grouped, ends)),),
        x=Axis("importance", from_zero=True),
        note=f"The {most} that matter most of {total:,}." if total > most else "",
        alt_text=f"{names[0]} matters most ({notes[0]}), {names[-1]} least ({notes[-1]}).",
    )


def _by_both(frame: pl.DataFrame, sizes: pl.DataFrame, most: int) -> Figure:
    chosen = sizes.sort("size", descending=True).head(most)["variable"]
    frame = frame.filter(pl.col("variable").is_in(chosen.implode()))
    names, positions, values = _means(frame, "variable", "position", "importance")
    row, column = np.unravel_index(int(np.nanargmax(np.abs(values))), values.shape)
    return Figure(
        title="Importance of the variables over the window",
        marks=(Heatmap(places_of(positions), [str(name) for name in names], values, label="importance"),),
        x=Axis("position in the window (0 is the last of the history)"),
        alt_text=f"{names[int(row)]} at position {positions[int(column)]} matters most.",
    )


def _means(frame: pl.DataFrame, row: str, column: str, value: str) -> tuple[pl.Series, pl.Series, Any]:
    """Return the rows, the columns in rising order, and the mean of each pair, NaN where there is none."""
    table = frame.group_by(row, column).agg(pl.col(value).mean())
    rows, columns = frame[row].unique(maintain_order=True), frame[column].unique().sort()
    return rows, columns, pivot(table, row, rows, column, columns, value)


def _whiskers(table: pl.DataFrame, ends: list[str]) -> dict[str, Any]:
    return {name: floats_of(table[name]) for name in ends}
