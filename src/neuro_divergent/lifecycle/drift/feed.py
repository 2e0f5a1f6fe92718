"""Finds what is broken in new data, compared with the past of the same series.

A check must not alarm on healthy data: seasons, trends, intermittent demand, holidays, shops that are closed on
Sundays. So little is compared with a fixed threshold. A stretch of equal or missing values counts if it is longer than
chance makes it, given how long the same series had such stretches before; a jump counts if its factor is that of a
unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.cleaning.calendar import check_times
from neuro_divergent.data.cleaning.frequency import Frequency, infer
from neuro_divergent.data.io.source import DEFAULT_ID, read_table
from neuro_divergent.data.panel import Panel
from neuro_divergent.lifecycle.drift.feed_checks import find_constant, find_missing, find_negative, find_zeros
from neuro_divergent.lifecycle.drift.incident import Incident, Kind
from neuro_divergent.lifecycle.drift.series_matrix import SeriesMatrix
from neuro_divergent.lifecycle.drift.unit_jump import find_unit_jumps

LEAST_PAST = 20
"""Observed values of a series in the past, without which it is not checked."""


def check_feed(
    reference: Any,
    new: Any,
    *,
    id: str | None = None,  # noqa: A002 (as in a schema)
    time: str = "ds",
    target: str = "y",
    frequency: str | int | Frequency | None = None,
    season_length: int | None = None,
    expected: Any = None,
) -> list[Incident]:
    """Find what is broken in new data.

    Args:
        reference: The past of the series: a table, a ``Panel`` or a ``SeriesMatrix``.
        new: The new rows, in one of these forms; times up to the last of the reference are left out. Only a table can
            have a time twice.
        id: Column that names the series; unset, ``unique_id`` if there is one.
        time: Column of times.
        target: Column of values.
        frequency: Step between rows; unset, it is inferred.
        season_length: Rows in a season; unset, it follows from the frequency.
        expected: Time of the newest row that should be there by now; unset, that of the newest row there is.

    Returns:
        The incidents, the largest number of series first. Series with fewer than 20 values in the past are not checked.

    Raises:
        InputError: If a column is missing or there are no new rows.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> table = nd.datasets.Synthetic(num_series=2, length=120).frame()
        >>> old, new = table.filter(pl.col("ds").dt.month() < 4), table.filter(pl.col("ds").dt.month() == 4)
        >>> nd.lifecycle.check_feed(old, new)
        []
        >>> [incident] = nd.lifecycle.check_feed(old, new.with_columns(pl.col("y") * 1000))
        >>> incident.kind, incident.series
        ('unit', ('series-0', 'series-1'))
    """
    names: dict[str, Any] = {"id": id, "time": time, "target": target}
    step = None if frequency is None else Frequency.parse(frequency)
    past = _matrix(_frame(reference, names), names, step, season_length)
    table = _frame(new, names)
    if isinstance(table, pl.DataFrame):
        table = table.filter(pl.col(time) > past.times[-1])
    fresh = _matrix(table, names, step, season_length).after(past.times[-1]) if _has_rows(table) else None
    if fresh is None or not fresh.num_times:
        raise InputError(f"new data: no row is newer than {past.times[-1]}, the last time of the reference.")
    broken = _duplicates(table, names) if isinstance(table, pl.DataFrame) else []
    whole = _joined(past, fresh, expected, step)
    count = past.num_times
    ids, times = whole.ids, whole.times.slice(count)
    broken += find_incidents(
        whole.values[:, :count], whole.values[:, count:], ids, times, season_length=past.season_length
    )
    return sorted(broken, key=lambda incident: (-len(incident.series), incident.kind))


def find_incidents(
    past: Floats, new: Floats, ids: pl.Series, times: pl.Series, *, season_length: int
) -> list[Incident]:
    """Find incidents in matrices of the same series, ``(series, times)`` with NaN where there is no value.

    Args:
        past: Values before.
        new: Values to check.
        ids: Names of the series.
        times: Times of the new values.
        season_length: Rows in a season.
    """
    checked = np.flatnonzero(np.isfinite(past).sum(1) >= LEAST_PAST)
    if not len(checked) or not new.shape[1]:
        return []
    past, new, ids = past[checked], new[checked], ids.gather(checked)
    broken: list[Incident] = []

    def report(kind: Kind, found: Ints, begins: Ints, ends: Ints, amounts: Floats) -> None:
        if len(found):
            order = np.argsort(-np.abs(amounts), kind="stable")
            names = tuple(ids[place] for place in found[order].tolist())
            last = int(ends.max())
            until = times[last] if last < len(times) - 1 else None
            largest = float(amounts[order[0]])
            broken.append(Incident(kind, names, len(checked), times[int(begins.min())], until, largest))

    report("missing", *find_missing(past, new))
    constant = find_constant(past, new)
    report("constant", *constant)
    zeros = find_zeros(past, new)
    others = ~np.isin(zeros[0], constant[0])
    report("zeros", zeros[0][others], zeros[1][others], zeros[2][others], zeros[3][others])
    report("negative", *find_negative(past, new))
    for factor, found, begins, ends in find_unit_jumps(past, new, season_length):
        report("unit", found, begins, ends, np.full(len(found), factor))
    return broken


def broken_series(incidents: Sequence[Incident]) -> list[Any]:
    """Return the names of all series that incidents are about, each once."""
    return list(dict.fromkeys(name for incident in incidents for name in incident.series))


def _frame(source: Any, names: dict[str, Any]) -> pl.DataFrame | SeriesMatrix:
    """Return a table with the columns that are needed, or a matrix."""
    if isinstance(source, SeriesMatrix):
        return source
    if isinstance(source, Panel):
        return SeriesMatrix.from_panel(source)
    table = read_table(source)
    frame = table.frame
    if names["id"] is None and DEFAULT_ID in frame.columns:
        names["id"] = DEFAULT_ID
    needed = [names["time"], names["target"], *([names["id"]] if names["id"] is not None else [])]
    if missing := [name for name in needed if name not in frame.columns]:
        raise InputError(f"data: there is no column {missing[0]!r}; there are {', '.join(frame.columns)}.")
    return frame.select(needed).with_columns(check_times(frame[names["time"]], table.error, table.date_format))


def _has_rows(table: pl.DataFrame | SeriesMatrix) -> bool:
    return bool(table.height if isinstance(table, pl.DataFrame) else table.num_times)


def _matrix(
    table: pl.DataFrame | SeriesMatrix, names: dict[str, Any], frequency: Frequency | None, season_length: int | None
) -> SeriesMatrix:
    if isinstance(table, SeriesMatrix):
        return table
    return SeriesMatrix.from_table(
        table,
        id=names["id"],
        time=names["time"],
        value=names["target"],
        frequency=frequency,
        season_length=season_length,
    )


def _joined(past: SeriesMatrix, new: SeriesMatrix, expected: Any, frequency: Frequency | None) -> SeriesMatrix:
    """Return one matrix of the series of the past, whose first columns are those of the past."""
    frequency = frequency or infer(past.times, np.array([0, past.num_times]))
    last = new.times[-1] if expected is None else max(expected, new.times[-1])
    times = pl.concat([past.times.rename("time"), new.times.rename("time").cast(past.times.dtype)])
    if frequency is not None:
        end = pl.Series("time", [last], dtype=past.times.dtype)
        ahead = int(frequency.between(past.times[-1:].rename("time"), end)[0])
        grid = frequency.times_after(past.times[-1:].rename("time"), max(ahead, 0))
        if new.times.is_in(grid.implode()).all():
            times = pl.concat([past.times.rename("time"), grid])
    places = pl.DataFrame({"id": new.ids.cast(past.ids.dtype, strict=False), "row": np.arange(new.num_series)})
    rows = pl.DataFrame({"id": past.ids}).join(places, on="id", how="left", maintain_order="left")["row"]
    values = np.full((past.num_series, len(times)), np.nan)
    values[:, : past.num_times] = past.values
    known = rows.is_not_null().to_numpy()
    columns = times.search_sorted(new.times.cast(times.dtype)).to_numpy()
    values[np.flatnonzero(known)[:, None], columns] = new.values[rows.drop_nulls().to_numpy()]
    return SeriesMatrix(ids=past.ids, times=times, values=values, season_length=past.season_length)


def _duplicates(frame: pl.DataFrame, names: dict[str, Any]) -> list[Incident]:
    """Return the incident of rows whose series and time are there more than once."""
    named, time = names["id"], names["time"]
    keys = [time] if named is None else [named, time]
    twice = frame.group_by(keys).len().filter(pl.col("len") > 1)
    if not twice.height:
        return []
    series = (
        ["all"]
        if named is None
        else twice.group_by(named).len().sort("len", named, descending=[True, False])[named].to_list()
    )
    count = 1 if named is None else frame[named].n_unique()
    extra = float(twice["len"].sum() - twice.height)
    return [Incident("duplicates", tuple(series), count, twice[time].min(), twice[time].max(), extra)]
