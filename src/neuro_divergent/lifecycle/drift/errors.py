"""Errors of forecasts, one per series and time."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Bools, Ints
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.cleaning.calendar import check_times
from neuro_divergent.data.cleaning.frequency import Frequency, infer
from neuro_divergent.data.io.source import DEFAULT_ID, read_table
from neuro_divergent.lifecycle.drift.series_matrix import SeriesMatrix

_ERROR = "error"


@dataclass(frozen=True, eq=False, kw_only=True)
class Errors(SeriesMatrix):
    """Errors of forecasts in time order: the actual value minus the forecast, in the unit of the data.

    ``detect_drift`` divides them by the size that they have in the reference, so series of any scale count the same.

    Attributes:
        steps: Step of the forecast that each error is of, from 1, and 0 where there is none; ``None`` if unknown.
        horizon: The largest step.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> import polars as pl
        >>> times = pl.Series("ds", range(1, 6))
        >>> errors = nd.lifecycle.Errors(ids=pl.Series("id", ["A", "B"]), times=times, values=np.ones((2, 5)))
        >>> errors.after(3).times.to_list()
        [4, 5]
        >>> errors.without(pl.Series(["A"])).ids.to_list()
        ['B']
    """

    steps: Ints | None = None
    horizon: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps is not None and self.steps.shape != self.values.shape:
            raise InputError(f"steps: shape {self.steps.shape} must be {self.values.shape}, that of the values.")

    def columns(self, kept: Bools) -> Self:
        """Return some of the columns, by a mask."""
        steps = None if self.steps is None else self.steps[:, kept]
        times = self.times.filter(pl.Series(kept))
        return dataclasses.replace(self, times=times, values=self.values[:, kept], steps=steps)

    def rows(self, places: Ints) -> Self:
        """Return some of the series, by their places."""
        steps = None if self.steps is None else self.steps[places]
        return dataclasses.replace(self, ids=self.ids.gather(places), values=self.values[places], steps=steps)


def forecast_errors(
    table: Any,
    *,
    id: str | None = None,  # noqa: A002 (as in a schema)
    time: str = "ds",
    model: str = "forecast",
    frequency: str | int | Frequency | None = None,
    season_length: int | None = None,
) -> Errors:
    """Return the errors of a table of forecasts, one per series and time.

    Forecasts of one value from several cut-offs depend on each other, and a mean over them has another spread than a
    single one. So only cut-offs whose horizons do not overlap count: the first of each series, and then always the
    next whose first target comes after the last target of the one before.

    Args:
        table: Forecasts as ``Evaluation.forecasts``, ``backtest`` and ``cross_validate`` have them: id, time,
            ``actual`` and a column of forecasts; and ``cutoff`` and ``step``, without which a series may have each
            time once only.
        id: Column that names the series; unset, ``unique_id`` if there is one.
        time: Column of times.
        model: Column of forecasts.
        frequency: Step between rows; unset, it is inferred.
        season_length: Rows in the longest season that the data have; unset, it follows from the frequency.

    Raises:
        InputError: If a column is missing, or no value was both observed and forecast.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> table = pl.DataFrame({"ds": [1, 2, 3], "actual": [10.0, 12.0, 11.0], "forecast": [9.0, 12.5, 11.0]})
        >>> errors = nd.lifecycle.forecast_errors(table)
        >>> errors.num_series, errors.num_times
        (1, 3)
        >>> errors.values.tolist()
        [[1.0, -0.5, 0.0]]
    """
    source = read_table(table)
    frame = source.frame
    named = id if id is not None else DEFAULT_ID if DEFAULT_ID in frame.columns else None
    needed = [time, "actual", model, *([named] if named is not None else [])]
    if missing := [name for name in needed if name not in frame.columns]:
        raise InputError(f"forecasts: there is no column {missing[0]!r}; there are {', '.join(frame.columns)}.")
    residual = pl.col("actual").cast(pl.Float64, strict=False) - pl.col(model).cast(pl.Float64, strict=False)
    frame = frame.with_columns(residual.alias(_ERROR), check_times(frame[time], source.error))
    times = frame[time].unique().sort()  # also of values that were not observed: they have the same step
    step = infer(times, np.array([0, len(times)])) if frequency is None else Frequency.parse(frequency)
    frame = frame.filter(pl.col(_ERROR).is_finite())
    if not frame.height:
        raise InputError("forecasts: no value was both observed and forecast, so there are no errors.")
    frame = _without_overlap(frame, named, time)
    names: dict[str, Any] = {"id": named, "time": time, "frequency": step, "season_length": season_length}
    matrix = SeriesMatrix.from_table(frame, value=_ERROR, **names)
    steps = None
    if "step" in frame.columns:
        counted = SeriesMatrix.from_table(frame, value="step", **names).values
        steps = np.nan_to_num(counted, nan=0.0).astype(np.int64)
    return Errors(
        ids=matrix.ids,
        times=matrix.times,
        values=matrix.values,
        season_length=matrix.season_length,
        steps=steps,
        horizon=1 if steps is None else max(1, int(steps.max())),
    )


def _without_overlap(frame: pl.DataFrame, named: str | None, time: str) -> pl.DataFrame:
    """Return the rows of cut-offs whose horizons do not overlap."""
    keys = [named] if named is not None else []
    if "cutoff" not in frame.columns:
        if frame.select(*keys, time).is_duplicated().any():
            raise InputError("forecasts: a series has a time twice, and no column 'cutoff' says which forecast it is.")
        return frame
    order = pl.col(time).to_physical()
    windows = (
        frame.group_by(*keys, "cutoff")
        .agg(order.min().alias("first target"), order.max().alias("last target"))
        .sort(*keys, "cutoff")
    )
    begins, ends = windows["first target"].to_numpy(), windows["last target"].to_numpy()
    series = np.zeros(len(begins), np.int64) if named is None else windows[named].rank("dense").to_numpy()
    later = series[1:] == series[:-1]
    if not (later & (begins[1:] <= ends[:-1])).any():
        return frame
    kept = windows.filter(pl.Series(_first_free(series, begins, ends))).select(*keys, "cutoff")
    return frame.join(kept, on=[*keys, "cutoff"], how="semi", maintain_order="left")


def _first_free(series: Ints, begins: Ints, ends: Ints) -> Bools:
    """Return which windows to keep: in each series the first, then always the next that begins after the last end."""
    kept = np.zeros(len(begins), np.bool_)
    present, end = None, 0
    rows = zip(series.tolist(), begins.tolist(), ends.tolist(), strict=True)
    for place, (one, first, last) in enumerate(rows):
        if one != present or first > end:
            kept[place], present, end = True, one, last
    return kept
