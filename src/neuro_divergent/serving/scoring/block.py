"""Complete series of a source, cut to the rows that forecasts need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.calendar import check_times
from neuro_divergent.data.io.table import Table
from neuro_divergent.data.schema import Schema
from neuro_divergent.serving.scoring.future import FutureSource
from neuro_divergent.serving.scoring.scorer import Scorer


@dataclass(frozen=True)
class Block:
    """Series to forecast together.

    Attributes:
        tail: The ends of the series; ``None`` where all rows are needed.
        whole: Returns all their rows.
    """

    tail: Table | None
    whole: Callable[[], Table]

    def forecast(self, scorer: Scorer, future: FutureSource | None) -> pl.DataFrame:
        """Return the forecasts.

        Where the ends cannot be used by themselves, all rows are read, so that messages count them as ``predict`` does.
        """
        if self.tail is not None:
            try:
                return scorer.forecast(self.tail, _ahead(future, self.tail))
            except DataError:
                pass
        table = self.whole()
        return scorer.forecast(table, _ahead(future, table))


def _ahead(future: FutureSource | None, table: Table) -> Any:
    return None if future is None else future.of(table.frame)


@dataclass(frozen=True)
class Cutter:
    """Cuts sorted series to the rows that forecasts need.

    Attributes:
        schema: Roles and policies.
        id: Column of the ids; ``None`` for a table of one series.
        history: Rows to keep of each series; ``None`` for all.
        as_of: Rows after this time are left out; of the type of the times.
    """

    schema: Schema
    id: str | None
    history: int | None
    as_of: Any = None

    def limit(self, times: pl.Series) -> Any:
        """Return ``as_of`` in the type of a column of times, to compare with.

        Raises:
            DataError: If it is no time of that kind.
        """
        return as_time(self.as_of, times)

    def tail(self, frame: pl.DataFrame, offsets: Ints) -> pl.DataFrame | None:
        """Return the last rows of each series; ``None`` where they would not be enough.

        Where values are filled from earlier ones, a series must not begin with a missing one unless it has no more
        rows.
        """
        if self.history is None:
            return None
        lengths = np.diff(offsets)
        kept = np.minimum(lengths, self.history)
        begins = offsets[1:] - kept
        if self.schema.missing != "error":
            cut = begins[lengths > kept]
            if len(cut) and has_holes(take(frame, cut)):
                return None
        if not (lengths > kept).any():
            return frame
        counts = np.stack([lengths - kept, kept], axis=1).ravel()
        # A filter takes a fifth of the time of picking rows by their numbers.
        return frame.filter(pl.Series(np.repeat(np.tile([False, True], len(kept)), counts)))


def take(frame: pl.DataFrame, rows: Ints) -> pl.DataFrame:
    """Return some rows of a table."""
    chosen: pl.DataFrame = frame[rows.astype(np.uint32)]
    return chosen


def has_holes(frame: pl.DataFrame) -> bool:
    """Whether a value is null or NaN."""
    return any(column.null_count() > 0 or (column.dtype.is_float() and bool(column.is_nan().any())) for column in frame)


def as_time(value: Any, times: pl.Series) -> Any:
    """Return a time in the type of a column of times, to compare with; text is ISO 8601 or an integer.

    Raises:
        DataError: If it is no time of that kind.
    """

    def fail(message: str) -> DataError:
        return DataError(f"as_of: {message}")

    given = check_times(pl.Series(times.name, [value]), fail)
    zone = getattr(times.dtype, "time_zone", None)
    if given.dtype.is_temporal() != times.dtype.is_temporal():
        raise fail(f"{value!r} is not a time of column {times.name!r}, which is {times.dtype}")
    if zone is not None and getattr(given.dtype, "time_zone", None) is None:
        given = given.cast(pl.Datetime("us")).dt.replace_time_zone(zone)
    if zone is None and getattr(given.dtype, "time_zone", None) is not None:
        raise fail(f"{value!r} has a time zone, and column {times.name!r} has none")
    return given.cast(times.dtype)[0] if zone is None else given.dt.convert_time_zone(zone).cast(times.dtype)[0]


def ascending(times: pl.Series, borders: Ints) -> bool:
    """Whether times rise from row to row, but for the rows at which another series begins."""
    values = times.to_numpy()
    values = values.view(np.int64) if values.dtype.kind == "M" else values  # Integers are compared much faster.
    rising = values[1:] > values[:-1]
    rising[borders - 1] = True
    return bool(rising.all())
