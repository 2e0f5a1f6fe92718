"""Values of many series at common times, as a matrix."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import AnyFloats, Bools, Floats, Ints
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.cleaning.frequency import Frequency, infer
from neuro_divergent.data.panel import Panel

_ONLY = "all"  # name of a single series without one
_MOST_CELLS = 2**30
_MOST_GAPS = 20  # places without a row for each one with rows; a table with more has no regular step


@dataclass(frozen=True, eq=False, kw_only=True)
class SeriesMatrix:
    """One value per series and time.

    Attributes:
        ids: Name of each series, each once.
        times: Time of each column, ascending.
        values: ``(series, times)``; NaN where there is none.
        season_length: Rows in the longest season that counts; 1 for none.
    """

    ids: pl.Series
    times: pl.Series
    values: Floats
    season_length: int = 1

    def __post_init__(self) -> None:
        shape = (len(self.ids), len(self.times))
        if self.values.shape != shape:
            raise InputError(f"values: shape {self.values.shape} must be {shape}, one per series and time.")
        if not self.times.is_sorted() or self.times.n_unique() != len(self.times):
            raise InputError("times: must be ascending, each once.")
        if self.ids.n_unique() != len(self.ids):
            raise InputError("ids: each series may be there once.")
        if self.season_length < 1:
            raise InputError(f"season_length: {self.season_length!r} must be at least 1.")

    @property
    def num_series(self) -> int:
        """Number of series."""
        return len(self.ids)

    @property
    def num_times(self) -> int:
        """Number of columns."""
        return len(self.times)

    def since(self, time: Any) -> Self:
        """Return the columns from a time on."""
        return self.columns((self.times >= time).to_numpy())

    def before(self, time: Any) -> Self:
        """Return the columns before a time."""
        return self.columns((self.times < time).to_numpy())

    def after(self, time: Any) -> Self:
        """Return the columns after a time."""
        return self.columns((self.times > time).to_numpy())

    def last(self, count: int) -> Self:
        """Return the last columns."""
        return self.columns(np.arange(self.num_times) >= self.num_times - count)

    def columns(self, kept: Bools) -> Self:
        """Return some of the columns, by a mask."""
        return dataclasses.replace(self, times=self.times.filter(pl.Series(kept)), values=self.values[:, kept])

    def rows(self, places: Ints) -> Self:
        """Return some of the series, by their places."""
        return dataclasses.replace(self, ids=self.ids.gather(places), values=self.values[places])

    def without(self, ids: pl.Series) -> Self:
        """Return all series but some."""
        return self.rows(np.flatnonzero(~self.ids.is_in(ids.implode()).to_numpy()))

    @classmethod
    def from_panel(cls, panel: Panel, column: str | None = None, *, season_length: int | None = None) -> SeriesMatrix:
        """Return a column of a panel: its target, or a covariate that is a number and changes over time.

        Args:
            panel: The series.
            column: Name of a covariate; unset, the target.
            season_length: Rows in the longest season; unset, it follows from the frequency.
        """
        values = panel.y.astype(np.float64) if column is None else _covariate(panel, column)
        if column is None and panel.mask is not None:
            values[~panel.mask] = np.nan
        first = int(panel.starts.arg_min() or 0)
        begins = panel.frequency.between(panel.starts.new_from_index(first, panel.num_series), panel.starts)
        season = panel.frequency.season_length if season_length is None else season_length
        series = np.repeat(np.arange(panel.num_series), panel.lengths)
        if (begins < 0).any():  # series of different grids, such as weeks that begin on different days
            at = panel.times()
            times = at.unique().sort()
            places = _places(at, times)
        else:
            width = int((begins + panel.lengths).max())
            times = panel.frequency.time_at(panel.starts.new_from_index(first, width), np.arange(width))
            places = np.arange(len(panel)) - np.repeat(panel.offsets[:-1] - begins, panel.lengths)
        return _from_cells(panel.ids, times, series, places, values, season)

    @classmethod
    def from_table(
        cls,
        frame: pl.DataFrame,
        *,
        id: str | None,  # noqa: A002 (as in a schema)
        time: str,
        value: str,
        frequency: Frequency | None = None,
        season_length: int | None = None,
    ) -> SeriesMatrix:
        """Return a column of a long table; where a series has a time twice, the later row counts.

        Times at which no series has a row are there too, if the rows have a regular step.

        Args:
            frame: The table.
            id: Column that names the series; ``None`` for a single series.
            time: Column of times.
            value: Column of numbers.
            frequency: Step between rows; unset, it is inferred.
            season_length: Rows in the longest season; unset, it follows from the frequency.
        """
        frame = frame.filter(pl.col(time).is_not_null())
        if not frame.height:
            raise InputError("there are no rows with a time.")
        column = pl.repeat(_ONLY, frame.height, eager=True) if id is None else frame[id]
        column = column if column.dtype.is_integer() else column.cast(pl.String)
        names = column.unique().sort()
        numbers = frame[value].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        times = frame[time].unique().sort()
        if frequency is None:
            frequency = infer(times, np.array([0, len(times)]))
        season = season_length or (1 if frequency is None else frequency.season_length)
        times = _complete(times, frequency)
        return _from_cells(names, times, _places(column, names), _places(frame[time], times), numbers, season)


def _from_cells(
    ids: pl.Series, times: pl.Series, series: Ints, places: Ints, values: Floats, season_length: int
) -> SeriesMatrix:
    """Fill a matrix: each value belongs to a series and to a place among the times."""
    if len(ids) * len(times) > _MOST_CELLS:
        raise InputError(
            f"{len(ids):,} series at {len(times):,} times are more than {_MOST_CELLS:,} values; check fewer at once."
        )
    matrix = np.full((len(ids), len(times)), np.nan)
    matrix[series, places] = values
    return SeriesMatrix(ids=ids, times=times, values=matrix, season_length=season_length)


def _complete(times: pl.Series, frequency: Frequency | None) -> pl.Series:
    """Return sorted times with those that are missing between them; as they are where they have no regular step."""
    if frequency is None:
        return times
    steps = frequency.between(times.new_from_index(0, len(times)), times)
    if (steps < 0).any() or int(steps[-1]) + 1 > _MOST_GAPS * len(times):
        return times
    return frequency.time_at(times.new_from_index(0, int(steps[-1]) + 1), np.arange(int(steps[-1]) + 1))


def _places(values: pl.Series, among: pl.Series) -> Ints:
    return among.search_sorted(values).to_numpy().astype(np.int64)


def _covariate(panel: Panel, column: str) -> Floats:
    found: tuple[tuple[AnyFloats | None, Any], ...] = ((panel.past_x, panel.past), (panel.future_x, panel.future))
    for values, features in found:
        for place, feature in enumerate(features):
            if feature.name == column and values is not None:
                return values[:, place].astype(np.float64)
    raise InputError(f"{column!r} is no covariate that changes over time.")
