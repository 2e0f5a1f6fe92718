"""Covariates that are known ahead, for the steps to forecast."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats32, Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.calendar import calendar_features, check_times, show, show_time
from neuro_divergent.data.cleaning.categories import ALLOW_UNKNOWN, encode_categories
from neuro_divergent.data.io.source import Table, read_table_ahead
from neuro_divergent.data.io.table import show_type
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.base import LARGEST


def read_future(source: Any, panel: Panel, horizon: int) -> Floats32 | None:
    """Read the covariates of the steps that follow each series, and compute the calendar features.

    The table must have a value for each of the next ``horizon`` steps of each series. Other rows (history, later steps,
    other series) are ignored, so one table can serve several forecasts. It may be ``None`` where every feature is a
    calendar feature.

    Returns:
        Values shaped ``(num_series, horizon, features)`` in the order of ``panel.ids`` and ``panel.future``, or
            ``None`` where the panel has no such features.

    Raises:
        DataError: If the table is needed and absent, or if it lacks a column, a row or a value.
    """
    if not panel.future:
        return None
    schema = panel.schema
    times = panel.times_ahead(horizon)
    values = np.empty((panel.num_series * horizon, len(panel.future)), np.float32)
    if schema.future:
        if source is None:
            count = f"{horizon} rows for each of {panel.num_series} series" if schema.id else f"{horizon} rows"
            raise DataError(
                f"future covariates {', '.join(schema.future)} are needed to forecast. Pass future= (--future) with "
                f"{count}, beginning {show_time(times, 0)}"
            )
        table = read_table_ahead(source, schema)
        rows = _find_rows(table, panel, times, horizon)
        for position in range(len(schema.future)):
            values[:, position] = _column(table, panel, position, rows, times, horizon)
    calendar_features(times, schema.calendar, values[:, len(schema.future) :])
    return values.reshape(panel.num_series, horizon, len(panel.future))


def _find_rows(table: Table, panel: Panel, times: pl.Series, horizon: int) -> Ints:
    """Return the row of the table for each series and step."""
    frame, schema = table.frame, panel.schema
    # The series of a wide table share their covariates, so these may come without ids.
    id_column = None if schema.wide and schema.id not in frame.columns else schema.id
    for name in (*([id_column] if id_column else []), schema.time, *schema.future):
        if name not in frame.columns:
            raise table.lacks(name)
    given = [_match(table, check_times(frame[schema.time], table.error, table.date_format), panel.starts).alias("time")]
    wanted = [times.alias("time")]
    if id_column is not None:
        given.append(_match(table, frame[id_column], panel.ids).alias("id"))
        wanted.append(panel.ids.gather(np.repeat(np.arange(panel.num_series), horizon)).alias("id"))
    keys = [key.name for key in given]
    right = pl.DataFrame(given).with_row_index("row")
    joined = pl.DataFrame(wanted).with_row_index("step").join(right, on=keys, how="left", maintain_order="left")
    if joined.height > len(times):
        twice = int(joined["step"].is_duplicated().arg_true()[0])
        rows = joined.filter(pl.col("step") == joined["step"][twice])["row"].to_list()
        place = _place(panel, int(joined["step"][twice]), horizon)
        raise table.error(f"{place}{show_time(joined['time'], twice)} twice (rows {rows[0] + 1}, {rows[1] + 1})")
    missing = joined["row"].is_null().arg_true()
    if len(missing):
        first = int(missing[0])
        raise table.error(
            f"{_place(panel, first, horizon)}{schema.future[0]!r} missing for {show_time(times, first)}: no such row; "
            f"{len(missing)} of {len(times)} rows missing{_strangers(panel, right)}"
        )
    return joined["row"].to_numpy().astype(np.int64)


def _match(table: Table, column: pl.Series, like: pl.Series) -> pl.Series:
    """Cast a column to its type in the panel, if the cast is lossless."""
    if column.dtype == like.dtype:
        return column
    zoned = [getattr(dtype, "time_zone", None) is not None for dtype in (column.dtype, like.dtype)]
    try:
        if column.dtype.is_temporal() != like.dtype.is_temporal() or zoned[0] != zoned[1]:
            raise pl.exceptions.InvalidOperationError
        converted = column.cast(like.dtype)
        if column.dtype.is_temporal() and (converted.cast(column.dtype) != column).any():
            raise pl.exceptions.InvalidOperationError
    except pl.exceptions.PolarsError:
        raise table.error(
            f"column {column.name!r} is {show_type(column.dtype)}; in the data it is {show_type(like.dtype)}"
        ) from None
    return converted


def _column(table: Table, panel: Panel, position: int, rows: Ints, times: pl.Series, horizon: int) -> Floats32:
    feature = panel.future[position]
    column = table.frame[feature.name].gather(rows)
    if feature.cardinality is not None:
        values, unknown = encode_categories(column, panel.categories[feature.name])
        if len(unknown) and panel.schema.unknown_category == "error":
            first = int(unknown[0])
            raise table.error(
                f"{_place(panel, first, horizon)}column {feature.name!r}, row {rows[first] + 1}: category "
                f"{show(column[first])} not in training data. {ALLOW_UNKNOWN}"
            )
    elif column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null):
        with np.errstate(over="ignore"):
            values = column.cast(pl.Float64).to_numpy().astype(np.float32)
    else:
        raise table.error(f"column {feature.name!r} is {show_type(column.dtype)}; in training it held numbers")
    wrong = np.flatnonzero(~(np.abs(values) <= LARGEST))
    if len(wrong):
        first = int(wrong[0])
        problem = "missing" if np.isnan(values[first]) else f"infinite or beyond {LARGEST:g}"
        place = f"{_place(panel, first, horizon)}{feature.name!r} {problem} for {show_time(times, first)}"
        raise table.error(f"{place} (row {rows[first] + 1}){f'; {len(wrong)} such rows' if len(wrong) > 1 else ''}")
    return values


def _place(panel: Panel, step: int, horizon: int) -> str:
    return "" if panel.schema.id is None else f"series {show(panel.ids[step // horizon])}: "


def _strangers(panel: Panel, given: pl.DataFrame) -> str:
    """Mention a series that is not in the panel, since its name may be misspelled."""
    if "id" not in given.columns:
        return ""
    unknown = given["id"].filter(~given["id"].is_in(panel.ids.implode()))
    return f"; series {show(unknown[0])} of the table is not in the data" if len(unknown) else ""
