"""Forecasts of many series, some series at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from neuro_divergent.data.io.source import read_table
from neuro_divergent.forecasting.fitted import FittedModel
from neuro_divergent.forecasting.prediction_context import PredictionContext

_ROWS = 2**20  # of forecasts that are made together


def forecast_parts(
    fitted: FittedModel, levels: Sequence[float] = (), quantiles: Sequence[float] = (), *, rows: int = _ROWS
) -> Iterator[pl.DataFrame]:
    """Forecast what comes after the end of each series of a model, as tables that follow each other.

    Together they are the table of ``predict``. A model that forecasts all series at once gives one table.

    Args:
        fitted: The model, with its series.
        levels: Central intervals to give, in percent.
        quantiles: Quantiles to give, between 0 and 1.
        rows: Rows of a table, about.
    """
    count = fitted.context.num_series
    size = count if fitted.task.joint else max(rows // fitted.task.horizon, 1)
    for first in range(0, count, size):
        part = fitted if size >= count else fitted.part(first, min(first + size, count))
        yield read_table(PredictionContext.of(part).table(levels, quantiles)).frame
