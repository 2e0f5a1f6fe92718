"""History before the forecasts: naive errors and last value of each series."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.core.errors import DataError, InputError
from neuro_divergent.data.cleaning.calendar import check_times, show, show_time
from neuro_divergent.data.cleaning.frequency import Frequency, infer
from neuro_divergent.data.io.source import read_table
from neuro_divergent.data.io.table import Table, show_type
from neuro_divergent.data.schema import Schema
from neuro_divergent.evaluation.metrics import seasonal_error
from neuro_divergent.evaluation.scoring.columns import CUTOFF, numbers

_MOST_NEW_ROWS = 100  # gaps may lengthen a history by this factor; beyond it the times are taken to be wrong


class RowHistory:
    """What scores need to know of the time before each row of a table of forecasts."""

    @property
    def scale(self) -> Floats:
        """Mean absolute difference of values one season apart before the first cut-off of the series, ``(rows,)``.

        NaN if there is no such pair.
        """
        raise NotImplementedError

    @property
    def squared_scale(self) -> Floats:
        """Root of the mean squared difference of the same pairs, ``(rows,)``."""
        raise NotImplementedError

    @property
    def last(self) -> Floats:
        """Value at the cut-off of each row, ``(rows,)``; NaN where none is known."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class History(RowHistory):
    """History of each row of a table of forecasts.

    Attributes:
        past: Every row of the history: ``id``, ``time`` and ``value``.
        ahead: ``id`` and ``end`` of each row of the forecasts: its cut-off, or its time where there are no cut-offs.
        has_cutoffs: Whether ``end`` is the last time of the history, and not the first after it.
        season_length: Rows in a season; unset, it follows from the frequency of the history.
    """

    past: pl.DataFrame
    ahead: pl.DataFrame
    has_cutoffs: bool
    season_length: int | None

    @property
    def scale(self) -> Floats:
        return self._scales[0][self._codes]

    @property
    def squared_scale(self) -> Floats:
        return self._scales[1][self._codes]

    @property
    def last(self) -> Floats:
        if not self.has_cutoffs:
            return np.full(len(self.ahead), np.nan)
        seen = self.past.rename({"time": "end"}).unique(["id", "end"], keep="none")
        return self.ahead.join(seen, on=["id", "end"], how="left", maintain_order="left")["value"].to_numpy()

    @cached_property
    def _series(self) -> pl.DataFrame:
        """Index, id and first cut-off of each series."""
        return self.ahead.group_by("id", maintain_order=True).agg(pl.col("end").min()).with_row_index("code")

    @cached_property
    def _codes(self) -> Ints:
        codes = self.ahead.join(self._series, on="id", how="left", maintain_order="left")["code"]
        return codes.to_numpy()

    @cached_property
    def _scales(self) -> tuple[Floats, Floats]:
        """Both kinds of naive errors of each series."""
        seen = pl.col("time") <= pl.col("end") if self.has_cutoffs else pl.col("time") < pl.col("end")
        known = self.past.join(self._series, on="id").filter(seen).sort("code", "time")
        scale, squared_scale = np.full((2, len(self._series)), np.nan)
        codes = known["code"].to_numpy()
        offsets = np.concatenate([[0], np.flatnonzero(np.diff(codes)) + 1, [len(codes)]])
        frequency = infer(known["time"], offsets) if len(codes) else None
        if frequency is None:  # no series has two rows
            return scale, squared_scale
        places = _places(known, offsets, frequency)
        values = np.full(places[-1] + 1, np.nan)
        values[places] = known["value"].to_numpy()
        begins = np.append(places[offsets[:-1]], len(values))
        season = frequency.season_length if self.season_length is None else self.season_length
        for squared, into in ((False, scale), (True, squared_scale)):
            error = seasonal_error(values, begins, begins[1:], season, ~np.isnan(values), squared=squared)
            into[codes[offsets[:-1]]] = error
        return scale, squared_scale


def read_history(
    train: Any, forecasts: Table, *, series: str | None, time: str, target: str, season_length: int | None = None
) -> History:
    """Join a table of forecasts with the history of its series.

    ``train`` is a long table of the series, before the forecasts and perhaps beyond; gaps are allowed. The columns
    ``series`` (unset for a single series) and ``time`` are in both tables, and ``target`` is in ``train``.
    """
    if season_length is not None and season_length < 1:
        raise InputError(f"season_length: {season_length!r} must be at least 1.")
    table = read_table(train, Schema(target=target, time=time, id=series))
    for column in filter(None, (series, time, target)):
        if column not in table.frame.columns:
            raise DataError(f"train: {table.lacks(column)}")
    has_cutoffs = CUTOFF in forecasts.frame.columns
    if not has_cutoffs and time not in forecasts.frame.columns:
        raise forecasts.lacks(time)
    ends = check_times(forecasts.frame[CUTOFF if has_cutoffs else time], forecasts.error)
    times, ends = _alike(check_times(table.frame[time], table.error), ends)
    past = pl.DataFrame({"id": _names(table, series), "time": times, "value": numbers(table, target)})
    ahead = pl.DataFrame({"id": _names(forecasts, series), "end": ends})
    if past.schema["id"] != ahead.schema["id"]:
        kinds = [show_type(frame.frame.schema[series or ""]) for frame in (forecasts, table)]
        raise DataError(f"column {series!r} is {kinds[0]} in the forecasts and {kinds[1]} in train; make them one type")
    names = ahead["id"].unique(maintain_order=True)
    unknown = names.filter(~names.is_in(past["id"].unique().implode()))
    if len(unknown):
        raise DataError(
            f"train: {len(unknown)} of {len(names)} series have no history, first {show(unknown[0])}. Pass a table "
            "that holds every series of the forecasts."
        )
    return History(past, ahead, has_cutoffs, season_length)


def _names(table: Table, series: str | None) -> pl.Series:
    if series is None:
        return pl.repeat("", table.frame.height, eager=True)
    names = table.frame[series]
    return names.cast(pl.Int64 if names.dtype.is_integer() else pl.String)


def _alike(times: pl.Series, ends: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return the times of the history and of the forecasts in one type."""
    zones = [getattr(series.dtype, "time_zone", None) is not None for series in (times, ends)]
    if times.dtype.is_integer() != ends.dtype.is_integer() or zones[0] != zones[1]:
        there, here = show_type(times.dtype), show_type(ends.dtype)
        raise DataError(f"column {ends.name!r} is {here}, and the times of train are {there}; make them one type")
    if times.dtype == pl.Date:  # dates can be cast to times without loss
        return times.cast(ends.dtype), ends
    return times, ends.cast(times.dtype)


def _places(known: pl.DataFrame, offsets: Ints, frequency: Frequency) -> Ints:
    """Return the position of each row when missing rows are counted."""
    times = known["time"]
    steps = frequency.between(times.slice(0, len(times) - 1), times.slice(1))
    steps[offsets[1:-1] - 1] = 1  # from one series to the next
    wrong = np.flatnonzero(steps < 1)
    if len(wrong) or steps.sum(dtype=np.float64) > _MOST_NEW_ROWS * len(times):
        row = int(wrong[0] if len(wrong) else steps.argmax()) + 1
        name, time = known["id"][row], show_time(times, row)
        place = f"series {show(name)}, {time}" if name != "" else time
        raise DataError(
            f"train: {place} is not an integer number of steps ({frequency}) after the row before, or too many. Keep "
            "one row per series and time, and one frequency."
        )
    return np.concatenate([[0], np.cumsum(steps)])
