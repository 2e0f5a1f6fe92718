"""Figures that rank series by their forecast error."""

from __future__ import annotations

from typing import Any

import polars as pl

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.formatting import format_count, format_number
from neuro_divergent.evaluation.evaluate import REFERENCE
from neuro_divergent.reporting.figures.columns import RESIDUAL, floats_of, id_of, read_residuals, segments
from neuro_divergent.reporting.figures.figure import Axis, Bars, Figure, Mark, Rule, Tone


def ranking_figure(
    backtest: Any,
    *,
    id: str | None = None,  # noqa: A002 (as in a schema)
    most: int = 10,
    model: str = "forecast",
) -> Figure:
    """Show the best and the worst series, by their mean absolute error relative to the seasonal naive one.

    Both are scored on the same values. Where there is no reference, series are ranked by the error itself. Series
    that the reference forecasts without any error are left out. There are ``most`` of the best, and of the worst.
    """
    frame = read_residuals(backtest, model=model)
    named = id_of(frame, id)
    if named is None:
        raise InputError("backtest: one series cannot be ranked; if there are several, name the id column.")
    is_relative = REFERENCE in frame.columns and model != REFERENCE
    ranked = _ranked(frame, named, is_relative=is_relative)
    total = ranked.height
    if total < 2:
        raise InputError(f"backtest: {format_count(total, 'series', 'series')} with errors, and ranking needs two.")
    better = int((ranked["place"] < 1).sum())
    note = f"All {total:,} series."
    if total > 2 * most:
        ranked = pl.concat([ranked.head(most), ranked.tail(most)])
        note = f"The {most} best and the {most} worst of {total:,} series."
    names, lengths = ranked[named].cast(pl.String).to_list(), floats_of(ranked["place"])
    notes = [f"MAE {format_number(error)}" for error in ranked["mae"].to_list()]
    marks: list[Mark] = []
    for begin, end in segments([is_relative and bool(length < 1) for length in lengths]):
        is_better = bool(lengths[begin] < 1)
        tone: Tone = "neutral" if not is_relative else "good" if is_better else "bad"
        label = f"{'' if is_better else 'not '}better than {REFERENCE}" if is_relative else ""
        marks.append(Bars(names[begin:end], lengths[begin:end], label=label, tone=tone, notes=notes[begin:end]))
    text = f"{names[0]} is forecast best ({format_number(float(lengths[0]))}) and {names[-1]} worst "
    text += f"({format_number(float(lengths[-1]))})."
    return Figure(
        title="Best and worst series",
        marks=(*marks, Rule(x=1.0)) if is_relative else tuple(marks),
        x=Axis(f"mean absolute error / that of {REFERENCE}" if is_relative else "mean absolute error", from_zero=True),
        note=note,
        alt_text=f"{text} The model is better than {REFERENCE} on {better:,} of {total:,}." if is_relative else text,
    )


def _ranked(frame: pl.DataFrame, named: str, *, is_relative: bool) -> pl.DataFrame:
    """Return ``mae`` and ``place``, by which they are sorted, of each series."""
    own = pl.col(RESIDUAL).abs().mean().alias("mae")
    frame = frame.drop_nulls(named)
    if not is_relative:
        return frame.group_by(named).agg(own).with_columns(pl.col("mae").alias("place")).sort("place", named)
    other = (pl.col("actual") - pl.col(REFERENCE).cast(pl.Float64, strict=False)).abs()
    frame = frame.with_columns(other.alias("other")).filter(pl.col("other").is_finite())
    table = frame.group_by(named).agg(own, pl.col("other").mean()).filter(pl.col("other") > 0)
    return table.with_columns((pl.col("mae") / pl.col("other")).alias("place")).sort("place", named)
