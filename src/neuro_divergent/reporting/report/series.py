"""Which series a report shows: typical ones, and those that were forecast best and worst."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from neuro_divergent.evaluation.evaluate import REFERENCE
from neuro_divergent.runs.tables import FORECASTS_OF_MANY, RunTables

MOST = 6
TYPICAL = 2


@dataclass(frozen=True)
class Shown:
    """A series that is shown, with its mean absolute error on the held-out part, if that is known.

    Attributes:
        name: Value of the id column; ``None`` for a single series without one.
        relative: The error divided by that of the seasonal naive forecast.
        place: ``"best"``, ``"worst"`` or nothing.
    """

    name: Any
    error: float | None = None
    relative: float | None = None
    place: str = ""


def choose_series(tables: RunTables) -> list[Shown]:
    """Return all series, from best to worst, or the best and the worst of them where there are many.

    They are in the order of their error relative to the seasonal naive forecast; of series without either, the first.
    """
    errors = series_errors(tables.backtest, tables.id)
    if errors is None:
        return _first_series(tables, MOST)
    ranked = [Shown(*row) for row in errors.rows()]
    if len(ranked) <= MOST:
        return ranked
    best = [replace(item, place="best") for item in ranked[: MOST // 2]]
    return best + [replace(item, place="worst") for item in ranked[-(MOST // 2) :]]


def typical_series(tables: RunTables) -> list[Shown]:
    """Return the series in the middle of the ranking by relative error; of series without errors, the first."""
    errors = series_errors(tables.backtest, tables.id)
    return _first_series(tables, TYPICAL) if errors is None else [Shown(*row) for row in middle_of(errors).rows()]


def middle_of(errors: pl.DataFrame) -> pl.DataFrame:
    """Return the rows in the middle of a ranking."""
    return errors.slice(max(0, (errors.height - TYPICAL) // 2), TYPICAL)


def series_errors(backtest: pl.DataFrame | None, column: str | None) -> pl.DataFrame | None:
    """Return name, error and relative error of each series that has one, the best first; ``None`` if none has."""
    if backtest is None or not {"actual", "forecast"} <= set(backtest.columns):
        return None
    actual, forecast, naive = (
        pl.col(name).cast(pl.Float64) if name in backtest.columns else pl.lit(None, pl.Float64)
        for name in ("actual", "forecast", REFERENCE)
    )
    name = pl.col(str(column)) if column in backtest.columns else pl.lit(None)
    try:
        numbers = backtest.select(name.alias("name"), error=(forecast - actual).abs(), naive=(naive - actual).abs())
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


def is_of_many(tables: RunTables) -> bool:
    """Whether a run has forecasts of so many series that they are not read at once."""
    return tables.id is not None and tables.forecasts_file == FORECASTS_OF_MANY


def _first_series(tables: RunTables, most: int) -> list[Shown]:
    if is_of_many(tables):
        return [Shown(name) for name in tables.series.head(most)]
    frame = tables.context if tables.forecasts is None else tables.forecasts
    if frame is None:
        return []
    if tables.id is None or tables.id not in frame.columns:
        return [Shown(None)]
    return [Shown(name) for name in frame[tables.id].unique(maintain_order=True).head(most)]
