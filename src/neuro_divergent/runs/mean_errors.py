"""Mean absolute errors by series of a backtest that may be larger than memory."""

from __future__ import annotations

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats
from neuro_divergent.runs.series_table import ParquetSeriesTable


def mean_errors(table: ParquetSeriesTable, reference: str) -> pl.DataFrame | None:
    """Return a backtest of one row for each series that has errors, which are the means of all its rows.

    What was observed is 0 there, and what was forecast is the error: of the model in ``forecast``, and of the reference
    in its own column, over the values that both have. It is read piece by piece. ``None`` if a column is missing, or
    if the rows of a series are not consecutive.
    """
    names = ["forecast", *([reference] if reference in table.columns else [])]
    if not {"actual", "forecast"} <= set(table.columns) or table.index.first is None:
        return None
    found = []
    actual = pl.col("actual").cast(pl.Float64, strict=False)
    errors = [(actual - pl.col(name).cast(pl.Float64, strict=False)).abs().alias(name) for name in names]
    for begin, count, frame in table.pieces(["actual", *names]):
        values = frame.select(errors).to_numpy()  # NaN where there is none
        series = np.repeat(np.arange(len(count)), count)
        is_known = np.isfinite(values).all(1)
        seen = np.bincount(series[is_known], minlength=len(count))
        sums = [np.bincount(series[is_known], column[is_known], len(count)) for column in values.T]
        means: list[Floats] = [total[seen > 0] / seen[seen > 0] for total in sums]
        ids = table.index.names.slice(begin, len(count)).filter(pl.Series(seen > 0))
        found.append(pl.DataFrame({table.id: ids, **dict(zip(names, means, strict=True))}))
    return pl.concat(found, rechunk=True).with_columns(actual=pl.lit(0.0)) if found else None
