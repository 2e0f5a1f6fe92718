"""Backtests of several forecasters as one table of forecasts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from neuro_divergent.core.errors import InputError
from neuro_divergent.data.io.source import read_table
from neuro_divergent.evaluation.cross_validation.forecast_values import FORECAST, id_column

if TYPE_CHECKING:
    from neuro_divergent.evaluation.cross_validation.backtest import Backtest


def join_backtests(backtests: Mapping[str, Backtest]) -> pl.DataFrame:
    """Join the forecasts of several backtests into one table with a column for each.

    Only the values that all of them forecast, by step and cut-off, are kept, so that ``score`` and ``compare`` use the
    same values for each.
    """
    joined: pl.DataFrame | None = None
    for name, backtest in backtests.items():
        panel = backtest.panel
        keys = [id_column(panel), panel.schema.time, "cutoff", "step"]
        frame = read_table(backtest.forecasts).frame
        if joined is None:
            joined = frame.rename({FORECAST: name})
        else:
            joined = joined.join(frame.select(*keys, pl.col(FORECAST).alias(name)), on=keys, maintain_order="left")
    if joined is None or not joined.height:
        raise InputError("the forecasters have no forecast in common: their horizons or cut-offs differ.")
    return joined
