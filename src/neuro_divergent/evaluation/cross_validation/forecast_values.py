"""Forecasts of windows as long tables: one row per forecast value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.data.io.source import DEFAULT_ID, Backend, to_native
from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.baselines import Baselines
from neuro_divergent.evaluation.metrics import seasonal_error
from neuro_divergent.evaluation.scoring.history import RowHistory

if TYPE_CHECKING:
    from neuro_divergent.forecasting.predictor import WindowForecasts

PLACE = ("series", "row", "step")
"""Columns that identify a forecast value: series and first target row in the panel, and step from 1."""

FORECAST = "forecast"
_VALUES = 2**20  # that baselines are made of at once
_MANY_ROWS = 2**22  # of a panel that are not made a table


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
    series, rows = firsts["series"].to_numpy(), firsts["row"].to_numpy()
    size, tables = max(_VALUES // horizon, 1), []
    for first in range(0, max(len(rows), 1), size):
        some = slice(first, first + size)
        made = Baselines(panel, series[some], rows[some], horizon, season_length).all()
        tables.append(pl.DataFrame({name: forecast.reshape(-1) for name, forecast in made.items()}).fill_nan(None))
    return tables[0] if len(tables) == 1 else pl.concat(tables)


def id_column(panel: Panel) -> str:
    """Return the name of the column of ids."""
    return panel.schema.id or DEFAULT_ID


@dataclass(frozen=True, eq=False)
class PanelHistory(RowHistory):
    """History of each forecast value, read from the panel that was forecast.

    The numbers are those that ``scoring.history.History`` has from ``history_of(panel)``, a table of all rows.

    Attributes:
        panel: The series.
        series: Index in the panel of the series of each value.
        rows: First target row of the window of each value.
        season_length: Rows in a season.
    """

    panel: Panel
    series: Ints
    rows: Ints
    season_length: int

    @classmethod
    def of(cls, values: pl.DataFrame, panel: Panel, season_length: int) -> PanelHistory:
        """Return the history of forecast values with the columns ``PLACE``."""
        return cls(panel, values["series"].to_numpy(), values["row"].to_numpy(), season_length)

    @classmethod
    def of_named(cls, frame: pl.DataFrame, panel: Panel, season_length: int) -> PanelHistory:
        """Return the history of the rows of a table that ``name_rows`` made of forecasts of the panel."""
        places = pl.DataFrame({"id": panel.ids, "series": np.arange(panel.num_series)})
        named = frame.select(pl.col(id_column(panel)).alias("id"))
        series = named.join(places, on="id", how="left", maintain_order="left")["series"].to_numpy()
        back = panel.frequency.between(panel.starts.gather(series.astype(np.uint32)), frame["cutoff"])
        return cls(panel, series, panel.offsets[:-1][series] + back + 1, season_length)

    @cached_property
    def scale(self) -> Floats:
        """Mean absolute seasonal difference before each forecast."""
        return self._scale(squared=False)[self.series]

    @cached_property
    def squared_scale(self) -> Floats:
        """Mean squared seasonal difference before each forecast."""
        return self._scale(squared=True)[self.series]

    @property
    def last(self) -> Floats:
        panel, places = self.panel, self.rows - 1
        known = places >= panel.offsets[:-1][self.series]
        places = np.maximum(places, 0)
        if panel.mask is not None:
            known = known & panel.mask[places]
        return np.where(known, panel.y[places].astype(np.float64), np.nan)

    def _scale(self, *, squared: bool) -> Floats:
        panel = self.panel
        first = panel.offsets[:-1].copy()  # nothing is read of series without forecasts
        used = np.unique(self.series)
        first[used] = len(panel)
        np.minimum.at(first, self.series, self.rows)
        return seasonal_error(panel.y, panel.offsets, first, self.season_length, panel.mask, squared=squared)


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


def history_for(frame: pl.DataFrame, panel: Panel, season_length: int) -> pl.DataFrame | PanelHistory:
    """Return the history that scores of forecasts of a panel need: a table of its rows, unless they are many."""
    return history_of(panel) if len(panel) <= _MANY_ROWS else PanelHistory.of_named(frame, panel, season_length)


def native(frame: pl.DataFrame, backend: Backend) -> Any:
    """Return the table in the given backend."""
    return frame if backend == "polars" else to_native({name: frame[name] for name in frame.columns}, backend)
