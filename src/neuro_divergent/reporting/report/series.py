"""Which series a report shows: typical ones, and those that were forecast best and worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from neuro_divergent.evaluation.evaluate import REFERENCE
from neuro_divergent.runs.tables import RunTables

MOST = 6
TYPICAL = 2


@dataclass(frozen=True)
class Shown:
    """A series that is shown.

    Attributes:
        name: Value of the id column; ``None`` for a single series without one.
        error: Mean absolute error of the held-out part, or ``None``.
        relative: That error divided by the one of the seasonal naive forecast, or ``None``.
        place: ``"best"``, ``"worst"`` or nothing.
    """

    name: Any
    error: float | None = None
    relative: float | None = None
    place: str = ""


def choose_series(tables: RunTables, most: int = MOST) -> list[Shown]:
    """Return all series, from best to worst, or the best and the worst of them where there are many.

    They are in the order of their error relative to the seasonal naive forecast; of series without either, the first.
    """
    errors = series_errors(tables.backtest, tables.id)
    if errors is None:
        return [Shown(name) for name in _first_names(tables, most)]
    ranked = [Shown(*row) for row in errors.rows()]
    if len(ranked) <= most:
        return ranked
    half = most // 2
    best = [Shown(item.name, item.error, item.relative, "best") for item in ranked[:half]]
    return best + [Shown(item.name, item.error, item.relative, "worst") for item in ranked[-half:]]


def typical_series(tables: RunTables, most: int = TYPICAL) -> list[Shown]:
    """Return the series in the middle of the ranking by relative error; of series without errors, the first."""
    errors = series_errors(tables.backtest, tables.id)
    if errors is None:
        return [Shown(name) for name in _first_names(tables, most)]
    return [Shown(*row) for row in middle_of(errors, most).rows()]


def middle_of(errors: pl.DataFrame, most: int = TYPICAL) -> pl.DataFrame:
    """Return the rows in the middle of a ranking."""
    return errors.slice(max(0, (errors.height - most) // 2), most)


def series_errors(backtest: pl.DataFrame | None, column: str | None) -> pl.DataFrame | None:
    """Return name, error and relative error of each series that has one, the best first; ``None`` if none has.

    Args:
        backtest: Forecasts of held-out values.
        column: Column that names the series.
    """
    if backtest is None or not {"actual", "forecast"} <= set(backtest.columns):
        return None
    by = column if column in backtest.columns else None
    try:
        numbers = backtest.select(
            (pl.col(by) if by else pl.lit(None)).alias("name"),
            error=(pl.col("forecast").cast(pl.Float64) - pl.col("actual").cast(pl.Float64)).abs(),
            naive=(
                (pl.col(REFERENCE).cast(pl.Float64) - pl.col("actual").cast(pl.Float64)).abs()
                if REFERENCE in backtest.columns
                else pl.lit(None, pl.Float64)
            ),
        )
    except pl.exceptions.PolarsError:
        return None
    found = (
        numbers.filter(pl.col("error").is_finite())
        .group_by("name", maintain_order=True)
        .agg(pl.col("error").mean(), pl.col("naive").mean())
        .with_columns(relative=pl.when(pl.col("naive") > 0).then(pl.col("error") / pl.col("naive")))
        .select("name", "error", "relative")
        .sort("relative", "error", nulls_last=True, maintain_order=True)
    )
    return found if found.height else None


def _first_names(tables: RunTables, most: int) -> list[Any]:
    for frame in (tables.forecasts, tables.context):
        if frame is None:
            continue
        if tables.id is None or tables.id not in frame.columns:
            return [None]
        return frame[tables.id].unique(maintain_order=True).head(most).to_list()
    return []
