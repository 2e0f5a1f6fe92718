"""Data of a chart of one series: history, backtest and forecast with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.formatting import format_time
from neuro_divergent.data.panel import Panel


@dataclass(frozen=True, eq=False)
class ForecastChart:
    """Lines over one time axis. Each array has one value per time, NaN where a line has none.

    Attributes:
        title: Name of the series.
        times: Label of each time.
        backtest: Forecasts of times that were held out of training.
        forecast: Forecasts of times that have not come yet.
        bands: Lower and upper ends of the intervals by level, widest first, over held-out and future times.
        future: Place of the first time that has not come yet; the number of times when there is none.
    """

    title: str
    times: list[str]
    actual: Floats
    backtest: Floats
    forecast: Floats
    bands: dict[float, tuple[Floats, Floats]]
    future: int

    @property
    def limits(self) -> tuple[float, float]:
        """Lowest and highest value of all lines; 0 and 1 when there is none."""
        lines = [self.actual, self.backtest, self.forecast, *(end for band in self.bands.values() for end in band)]
        values = np.concatenate(lines)
        values = values[np.isfinite(values)]
        return (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)


def chart_series(
    panel: Panel, series: int, *, history: int, forecasts: pl.DataFrame | None, backtest: pl.DataFrame | None = None
) -> ForecastChart:
    """Collect what is known about the series at a place in a panel, from ``history`` rows before its end on.

    ``forecasts`` are those ahead, as of ``predict``, and ``backtest`` those of held-out times, as of ``evaluate``.
    """
    begin, end = int(panel.offsets[series]), int(panel.offsets[series + 1])
    first = max(begin, end - history)
    time, name = panel.schema.time, panel.ids[series]
    times = panel.frequency.time_at(panel.starts.gather([series] * (end - first)), np.arange(first, end) - begin)
    actual = panel.y[first:end].astype(np.float64)
    if panel.mask is not None:
        actual = np.where(panel.mask[first:end], actual, np.nan)
    past = pl.DataFrame({time: times, "actual": actual})
    ahead = _of_series(forecasts, panel, name)
    checked = _of_series(backtest, panel, name)
    joined = past if ahead is None else pl.concat([past, ahead], how="diagonal")
    if checked is not None:
        checked = checked.select(time, "forecast", *_bounds(checked)).rename({"forecast": "backtest"})
        joined = joined.join(checked, on=time, how="left", suffix="-checked", maintain_order="left")
    bounds = [column.removeprefix("lo-") for column in _bounds(joined) if column.startswith("lo-")]
    levels = sorted({float(level.removesuffix("-checked")) for level in bounds}, reverse=True)
    return ForecastChart(
        title=str(name),
        times=[format_time(value) for value in joined[time].to_list()],
        actual=_line(joined, "actual"),
        backtest=_line(joined, "backtest"),
        forecast=_line(joined, "forecast"),
        bands={level: (_line(joined, f"lo-{level:g}"), _line(joined, f"hi-{level:g}")) for level in levels},
        future=len(past),
    )


def _of_series(frame: pl.DataFrame | None, panel: Panel, name: Any) -> pl.DataFrame | None:
    column = panel.schema.id
    return frame if frame is None or column not in frame.columns else frame.filter(pl.col(str(column)) == name)


def _bounds(frame: pl.DataFrame) -> list[str]:
    return [column for column in frame.columns if column.startswith(("lo-", "hi-"))]


def _line(frame: pl.DataFrame, column: str) -> Floats:
    """Return a column, filled up where the backtest has what the forecast does not reach."""
    columns = [name for name in (column, f"{column}-checked") if name in frame.columns]
    if not columns:
        return np.full(frame.height, np.nan)
    return frame.select(pl.coalesce(columns).cast(pl.Float64)).to_series().to_numpy().astype(np.float64)
