"""Errors of a model on new data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Bools
from neuro_divergent.core.errors import DataWarning, InputError
from neuro_divergent.data.cleaning.calendar import check_times
from neuro_divergent.data.io.source import DEFAULT_ID, read_table
from neuro_divergent.data.layout import SAME_NAMES
from neuro_divergent.data.lengths import check_lengths
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.evaluation.cross_validation.forecast_values import id_column, name_rows, values_of
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.lifecycle.drift.errors import Errors, forecast_errors

_SINCE = "since"


def model_errors(model: ForecastModel, data: Any, *, since: Any = None, season_length: int | None = None) -> Errors:
    """Forecast new rows, one horizon after another, and return the errors.

    The first cut-off of a series is the end of its data of training, and the others follow one horizon apart, so that
    each value is forecast once. The last horizon may go beyond the data. Values that the model was trained on are not
    forecast.

    Args:
        model: A fitted model.
        data: Series with the columns that training had. Rows before the new ones serve as history; where they
            are missing, those that the model holds take their place.
        since: Last time that is not new; unset, the end of each series in the data of training.
        season_length: Rows in the longest season; unset, it follows from the frequency.

    Raises:
        InputError: If no row is new.
        DataError: If the data cannot be used.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> table = nd.datasets.Synthetic(num_series=2, length=60, frequency=1).frame()
        >>> model = nd.Statistical("seasonal_naive", horizon=7, season_length=7).fit(table.filter(pl.col("ds") < 50))
        >>> errors = nd.lifecycle.model_errors(model, table)
        >>> errors.times.to_list()
        [50, 51, 52, 53, 54, 55, 56, 57, 58, 59]
        >>> errors.steps[0].tolist()
        [1, 2, 3, 4, 5, 6, 7, 1, 2, 3]
    """
    task = model.task
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of series that are constant, which the feed is checked for
        panel = _panel(model, data)
    ends = _ends(model, panel, since)
    last = panel.offsets[1:] - task.horizon  # of the rows that are there
    is_new = _is_new(panel, ends)
    old = np.add.reduceat(~is_new, panel.offsets[:-1])
    begins = panel.offsets[:-1] + np.maximum(old, task.history)
    rows = np.maximum(-(-(last - begins) // task.horizon), 0) * task.horizon
    windows = Windows(panel, task.history, task.horizon, begins, begins + rows, task.horizon, bool(task.joint))
    if not len(windows):
        raise InputError("new data: no row is newer than the data of training, or there is no history before it.")
    table = name_rows(values_of(model.forecast_windows(windows)), panel)
    name, time = id_column(panel), panel.schema.time
    table = table.join(ends.rename({"id": name}), on=name, how="left")
    table = table.filter(pl.col(_SINCE).is_null() | (pl.col(time) > pl.col(_SINCE)))
    return forecast_errors(table, id=name, time=time, frequency=panel.frequency, season_length=season_length)


def _panel(model: ForecastModel, data: Any) -> Panel:
    """Return the series, with a horizon of masked rows after their end."""
    context, task = model.fitted.context, model.task
    if not isinstance(data, Panel):
        data = build_panel(with_history(model, data), context.schema, fitted=context)
    if task.joint:
        data.require_aligned()
    return check_lengths(data.extended(task.horizon), input_size=task.history, horizon=task.horizon)


def with_history(model: ForecastModel, data: Any) -> pl.DataFrame:
    """Return new rows with those before them that the model holds, where the rows follow directly on these."""
    context = model.fitted.context
    schema = context.schema
    table = read_table(data, schema)
    if schema.time not in table.frame.columns:
        raise table.lacks(schema.time, SAME_NAMES)
    frame = table.frame.with_columns(check_times(table.frame[schema.time], table.error, schema.date_format))
    if not context.num_series or (schema.id is None and DEFAULT_ID in frame.columns):
        return frame
    held = context.to_frame()
    shared = [name for name in held.columns if name in frame.columns]
    if schema.time not in shared or schema.target not in shared:
        return frame
    kinds = {name: frame.schema[name] for name in shared}
    held = held.select(pl.col(name).cast(kind, strict=False) for name, kind in kinds.items())
    keys = [] if schema.id is None else [schema.id]
    last = pl.DataFrame({**({schema.id: context.ids} if schema.id else {}), "next": _next(context)})
    last = last.with_columns(pl.col("next").cast(kinds[schema.time], strict=False))
    last = last.with_columns(pl.col(key).cast(kinds[key], strict=False) for key in keys)
    first = (
        frame.group_by(keys).agg(first=pl.col(schema.time).min())
        if keys
        else frame.select(first=pl.col(schema.time).min())
    )
    known = first.join(last, on=keys, how="inner") if keys else first.hstack(last)
    known = known.filter(pl.col("first") <= pl.col("next"))
    before = held.join(known, on=keys, how="inner") if keys else held.join(known, how="cross")
    before = before.filter(pl.col(schema.time) < pl.col("first")).select(shared)
    missing = [name for name in frame.columns if name not in shared]
    return pl.concat([before, frame], how="diagonal_relaxed") if not missing else frame


def _next(context: Panel) -> pl.Series:
    ends = context.frequency.time_at(context.starts, context.lengths - 1)
    return context.frequency.times_after(ends, 1)


def _ends(model: ForecastModel, panel: Panel, since: Any) -> pl.DataFrame:
    """Return the last time of each series that is not new; null where all of it is."""
    time = panel.starts.dtype
    if since is not None:
        return pl.DataFrame(
            {"id": panel.ids, _SINCE: pl.Series([since]).cast(time).new_from_index(0, panel.num_series)}
        )
    context = model.fitted.context
    if not context.num_series:
        return pl.DataFrame({"id": panel.ids, _SINCE: pl.Series([None] * panel.num_series, dtype=time)})
    ends = context.frequency.time_at(context.starts, context.lengths - 1).cast(time)
    known = pl.DataFrame({"id": context.ids.cast(panel.ids.dtype, strict=False), _SINCE: ends})
    return pl.DataFrame({"id": panel.ids}).join(known, on="id", how="left", maintain_order="left")


def _is_new(panel: Panel, ends: pl.DataFrame) -> Bools:
    series = np.repeat(np.arange(panel.num_series), panel.lengths)
    return (panel.times() > ends[_SINCE].gather(series)).fill_null(True).to_numpy()
