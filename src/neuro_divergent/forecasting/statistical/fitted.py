"""The state of a fitted statistical model: its settings, and the series that it forecasts from."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import DataWarning
from neuro_divergent.core.threads import available_cores
from neuro_divergent.data.cleaning.calendar import show
from neuro_divergent.data.io.source import DEFAULT_ID, Backend
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.forecasting.context_file import without_series
from neuro_divergent.forecasting.predictor import WindowForecasts
from neuro_divergent.forecasting.statistical.methods.base import Fallback, MethodForecast, StatisticalMethod
from neuro_divergent.forecasting.statistical.naive import NaiveForecasts
from neuro_divergent.forecasting.task import Task
from neuro_divergent.forecasting.uncertainty.requested import RequestedQuantiles


@dataclass(frozen=True, eq=False)
class FittedStatistical:
    """Everything that a forecast needs.

    Parameters of the model are not kept: they are estimated for each forecast, from the rows before it.

    Attributes:
        method: The model and its settings.
        task: The task, with nothing left open.
        context: The rows of each series that forecasts are made from.
        backend: Kind of the input table.
        jobs: Number of processes; -1 for one per core.
    """

    method: StatisticalMethod
    task: Task
    context: Panel
    backend: Backend
    jobs: int = 1
    _record: list[pl.DataFrame] = dataclasses.field(default_factory=list)  # one for all copies with other series

    @property
    def has_context(self) -> bool:
        """Whether it holds series, to forecast without other data."""
        return self.context.num_series > 0

    def with_context(self, panel: Panel) -> FittedStatistical:
        """Return the same model for other series, whose last rows it keeps."""
        used = self.method.rows_used(self._season)
        kept = panel if used is None else panel.tail(max(used, self.task.history))
        return dataclasses.replace(self, context=kept)

    def without_context(self) -> FittedStatistical:
        """Return the same model without values, ids and times of series."""
        return dataclasses.replace(self, context=without_series(self.context))

    def forecast_windows(
        self, windows: Windows, levels: Sequence[float] = (), quantiles: Sequence[float] = ()
    ) -> WindowForecasts:
        """Forecast many windows of a panel, together with the observed values.

        The model is fitted again for each window, to the rows of its series before the first target.
        """
        requested = RequestedQuantiles(levels, quantiles)
        series, first = windows.locate(np.arange(len(windows)))
        rows = first + windows.input_size
        made = self.forecast(windows.panel, series, rows, windows.horizon, requested.all)
        actual, observed = windows.panel.values_from(rows, windows.horizon)
        bounds = requested.by_name(list(np.moveaxis(made.quantiles, -1, 0)))
        return WindowForecasts(series, rows, made.point, actual, observed, **bounds)

    def forecast(
        self, panel: Panel, series: Ints, rows: Ints, horizon: int, quantiles: Sequence[float]
    ) -> MethodForecast:
        """Forecast what comes from some rows of series on, which may be their ends, each from the rows before.

        A ``DataWarning`` reports series that the model could not be fitted to; ``fallbacks`` lists them.
        """
        windows = NaiveForecasts(panel, series, rows, horizon, self._season)
        jobs = available_cores() if self.jobs == -1 else self.jobs
        made = self.method.forecast(windows, quantiles, jobs=jobs)
        self._record[:] = [self._table_of(windows, made.fallbacks)]
        if made.fallbacks:
            self._warn(windows, made.fallbacks)
        return made

    @property
    def fallbacks(self) -> pl.DataFrame:
        """Those of the last forecasts that a simpler method made: series, ``cutoff``, ``method`` and ``reason``."""
        nowhere = np.zeros(0, np.int64)
        return (
            self._record[0]
            if self._record
            else self._table_of(NaiveForecasts(self.context, nowhere, nowhere, 1, 1), ())
        )

    @property
    def holds(self) -> dict[str, str]:
        """What it contains that comes from the data, by name."""
        if not self.has_context:
            return {}
        used = self.method.rows_used(self._season)
        rows = "all" if used is None or self.context.lengths.max() < used else f"the last {used:,}"
        return {"series": f"ids, times and {rows} rows of {self.context.num_series:,} series"}

    @property
    def _season(self) -> int:
        assert self.task.season_length is not None, "it is set when the model is fitted"
        return self.task.season_length

    def _table_of(self, windows: NaiveForecasts, fallbacks: Sequence[Fallback]) -> pl.DataFrame:
        panel, places = windows.panel, np.array([item.window for item in fallbacks], np.int64)
        series, rows = windows.series[places], windows.rows[places]
        starts = panel.starts.gather(series.astype(np.uint32))
        return pl.DataFrame(
            [
                panel.ids.gather(series.astype(np.uint32)).alias(panel.schema.id or DEFAULT_ID),
                panel.frequency.time_at(starts, rows - 1 - panel.offsets[series]).alias("cutoff"),
                pl.Series("method", [item.method for item in fallbacks], pl.String),
                pl.Series("reason", [item.reason for item in fallbacks], pl.String),
            ]
        )

    def _warn(self, windows: NaiveForecasts, fallbacks: Sequence[Fallback]) -> None:
        first = fallbacks[0]
        name = show(windows.panel.ids[int(windows.series[first.window])])
        warnings.warn(
            f"{self.method.name} could not be fitted for {len(fallbacks):,} of {len(windows.rows):,} forecasts, which "
            f"are naive or seasonal naive instead, such as series {name} ({first.reason}). The property fallbacks "
            "lists them.",
            DataWarning,
            stacklevel=3,
        )
