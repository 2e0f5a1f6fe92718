"""Forecasts of windows as long tables: one row per forecast value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from neuro_divergent.data.io.source import DEFAULT_ID, Backend, to_native
from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.baselines import Baselines

if TYPE_CHECKING:
    from neuro_divergent.forecasting.predictor import WindowForecasts

PLACE = ("series", "row", "step")
"""Columns that identify a forecast value: series and first target row in the panel, and step from 1."""

FORECAST = "forecast"


def values_of(result: WindowForecasts) -> pl.DataFrame:
    """Return ``PLACE``, ``forecast``, and ``lo-80``, ``hi-80``, ``q-0.1`` for its levels and quantiles."""
    count, horizon = result.point.shape
    columns: dict[str, Any] = {
        "series": np.repeat(result.series, horizon),
        "row": np.repeat(result.rows, horizon),
        "step": np.tile(np.arange(1, horizon + 1), count),
        FORECAST: result.point.reshape(-1),
    }
    for level, low in result.lower.items():
        columns[f"lo-{level:g}"] = low.reshape(-1)
        columns[f"hi-{level:g}"] = result.upper[level].reshape(-1)
    columns |= {f"q-{quantile:g}": values.reshape(-1) for quantile, values in result.quantiles.items()}
    return pl.DataFrame(columns)


def prefixed(values: pl.DataFrame, model: str | None) -> pl.DataFrame:
    """Name the columns of a forecast after its model: ``nhits``, ``nhits-lo-80``; ``None`` leaves them as they are."""
    if model is None:
        return values
    ends = [name for name in values.columns if name.startswith(("lo-", "hi-", "q-"))]
    return values.rename({FORECAST: model, **{name: f"{model}-{name}" for name in ends}})


def name_rows(values: pl.DataFrame, panel: Panel) -> pl.DataFrame:
    """Replace the columns ``PLACE`` by id, time, ``cutoff``, ``step`` and ``actual``.

    The cut-off is the time of the last value of the history. Actual values come from the panel and are null where they
    were not observed.
    """
    series, rows, steps = (values[name].to_numpy() for name in PLACE)
    starts = panel.starts.gather(series.astype(np.uint32))
    ahead = rows - panel.offsets[series]
    targets = rows + steps - 1
    actual = pl.Series(panel.y[targets].astype(np.float64))
    columns = [
        panel.ids.gather(series.astype(np.uint32)).alias(id_column(panel)),
        panel.frequency.time_at(starts, ahead + steps - 1).alias(panel.schema.time),
        panel.frequency.time_at(starts, ahead - 1).alias("cutoff"),
        values["step"],
        (actual if panel.mask is None else actual.set(pl.Series(~panel.mask[targets]), None)).alias("actual"),
    ]
    return pl.DataFrame([*columns, *values.drop(*PLACE).get_columns()])


def baselines_for(values: pl.DataFrame, panel: Panel, season_length: int) -> pl.DataFrame:
    """Return the baselines for the same rows, one column each; null where the history is too short."""
    horizon = int(values["step"].max())  # type: ignore[arg-type]
    firsts = values.gather_every(horizon)
    made = Baselines(panel, firsts["series"].to_numpy(), firsts["row"].to_numpy(), horizon, season_length).all()
    return pl.DataFrame({name: forecast.reshape(-1) for name, forecast in made.items()}).fill_nan(None)


def id_column(panel: Panel) -> str:
    """Return the name of the column of ids."""
    return panel.schema.id or DEFAULT_ID


def history_of(panel: Panel) -> pl.DataFrame:
    """Return id, time and target of all rows, for metrics that need a history."""
    series = np.repeat(np.arange(panel.num_series, dtype=np.uint32), panel.lengths)
    y = pl.Series(panel.y)
    return pl.DataFrame(
        [
            panel.ids.gather(series).alias(id_column(panel)),
            panel.times().alias(panel.schema.time),
            (y if panel.mask is None else y.set(pl.Series(~panel.mask), None)).alias(panel.schema.target),
        ]
    )


def native(frame: pl.DataFrame, backend: Backend) -> Any:
    """Return the table in the given backend."""
    return frame if backend == "polars" else to_native({name: frame[name] for name in frame.columns}, backend)
