"""Forecasts of tables with an exported graph: a panel becomes the inputs of the graph, and its output a table.

This is the path for tables of any size, by polars and without torch. Small requests go through ``ExportedModel``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.lib.stride_tricks import sliding_window_view

from neuro_divergent.core.arrays import Array, Floats32, Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.data.cleaning.calendar import show
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.future import read_future
from neuro_divergent.data.io.source import read_table
from neuro_divergent.data.io.table import describe, take_rows
from neuro_divergent.data.lengths import check_history
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import assemble
from neuro_divergent.data.schema import Schema
from neuro_divergent.serving.description import Description
from neuro_divergent.serving.requested import RequestedOutput

_ROWS = 4096  # windows that go through the graph at once


class ExportedGraph(Protocol):
    """The part of ``ExportedModel`` that tables need."""

    @property
    def description(self) -> Description:
        """What the graph reads and returns."""

    def run(self, inputs: Mapping[str, Array]) -> Floats32:
        """Return the output ``forecast``, ``(batch, horizon, channel, 1 + quantiles)``."""


def forecast_table(
    model: ExportedGraph,
    source: Any,
    *,
    future: Any = None,
    levels: Sequence[float] = (),
    quantiles: Sequence[float] = (),
    horizon: int | None = None,
    changes: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Forecast what comes after the end of each series of a table, as ``Forecaster.predict`` does.

    Args:
        model: The exported model.
        source: Anything ``read_table`` accepts.
        future: Table of the covariates known ahead, for the horizon of every series.
        levels: Central intervals, in percent.
        quantiles: Quantiles, between 0 and 1.
        horizon: Steps to forecast, at most those of the graph.
        changes: Fields of ``Schema`` that differ from those of training, such as ``missing`` or ``date_format``.

    Returns:
        Columns id, time, ``forecast``, then ``lo-80`` and ``hi-80`` for each level and ``q-0.1`` for each quantile.

    Raises:
        DataError: If the table cannot be used, with the reason.
        InputError: If the graph does not have what is requested.
    """
    requested = RequestedOutput.of(model.description, levels, quantiles, horizon)
    return TableForecaster(model, requested, changes=changes).forecast(source, future)


class TableForecaster:
    """Forecasts one table after another with the same graph.

    Args:
        model: The exported model.
        requested: Steps and columns of the forecasts.
        changes: Fields of ``Schema`` that differ from those of training.

    Attributes:
        schema: Roles and policies of the tables.
        frequency: Step between their rows.
    """

    def __init__(
        self, model: ExportedGraph, requested: RequestedOutput, *, changes: Mapping[str, Any] | None = None
    ) -> None:
        self.schema = describe_schema(model.description).replace(**(changes or {}))
        self.frequency = Frequency.parse(model.description.frequency)
        self._model, self._requested = model, requested
        self._categories = _categories(model.description)
        self._known = {name: place for place, name in enumerate(model.description.series)}

    def forecast(self, source: Any, future: Any = None, *, may_be_empty: bool = False) -> pl.DataFrame:
        """Return the forecasts for a table; see ``forecast_table``.

        With ``may_be_empty``, a table whose series are all left out, because they are too short, has no forecasts
        instead of being refused.
        """
        description = self._model.description
        panel = assemble(
            read_table(source, self.schema), self.schema, frequency=self.frequency, categories=self._categories
        )
        if may_be_empty and self.schema.short == "drop" and (panel.lengths < description.input_size).all():
            nothing = np.empty((0, description.horizon, 1, 1 + len(description.quantiles)), np.float32)
            return to_table(panel.take([]), nothing, self._requested)
        panel = check_history(panel, input_size=description.input_size)
        ahead = read_future(future, panel, self._requested.horizon)
        if description.joint:
            self._check_joint(panel)
            blocks = [self._model.run(_joint_inputs(description, panel, ahead))]
        else:
            series = self._places(panel) if description.takes_series else None
            blocks = [self._model.run(inputs) for inputs in graph_inputs(description, panel, ahead, series)]
        return to_table(panel, np.concatenate(blocks), self._requested)

    def _check_joint(self, panel: Panel) -> None:
        panel.require_aligned()
        channels = self._model.description.channels
        if panel.num_series != channels:
            raise DataError(
                f"this model forecasts {channels} series at once, and the data have {panel.num_series}. Pass the "
                "series it was trained on."
            )

    def _places(self, panel: Panel) -> Ints:
        """Return the place of each series in training, -1 for others, which some graphs refuse."""
        places = np.array([self._known.get(name, -1) for name in panel.ids.to_list()], np.int64)
        unknown = np.flatnonzero(places < 0)
        if self._model.description.requires_known_series and len(unknown):
            message = (
                f"series {show(panel.ids[int(unknown[0])])} not in training data, so its scaler was never fitted "
                f"({len(unknown)} series affected). Train on it, or train without series_scaler."
            )
            raise DataError(describe(panel.source, message))
        return places


def describe_schema(description: Description) -> Schema:
    """Return the roles and policies of training."""
    roles: dict[str, Any] = {
        role: tuple(feature.name for feature in getattr(description, role)) for role in ("past", "future", "static")
    }
    names = ("missing", "gaps", "short", "unknown_category", "encoding", "date_format")
    policies = {name: getattr(description, name) for name in names} | description.reading
    return Schema(
        target=description.target,
        time=description.time,
        id=description.id,
        calendar=description.calendar,
        categorical=tuple(_categories(description)),
        **roles,
        **policies,
    )


def graph_inputs(
    description: Description,
    panel: Panel,
    future: Floats32 | None = None,
    series: Ints | None = None,
    *,
    rows: int = _ROWS,
) -> Iterator[dict[str, Array]]:
    """Yield the ends of the series as inputs of the graph, some windows at a time, in the order of the panel.

    Args:
        description: What the graph reads; not of a joint model.
        panel: The series, each at least ``input_size`` rows long.
        future: Covariates known ahead, ``(num_series, steps, features)``; fewer steps than the graph forecasts are
            lengthened by repeating the last one.
        series: Place of each series in training, for graphs that take it.
        rows: Windows that are yielded at a time.
    """
    length = description.input_size
    begins = panel.offsets[1:] - length
    for first in range(0, panel.num_series, rows):
        some = slice(first, first + rows)
        past_y = _cut(panel.y, begins[some], length)
        mask = np.ones_like(past_y) if panel.mask is None else _cut(panel.mask, begins[some], length)
        inputs: dict[str, Array] = {
            "past_y": past_y[..., None],
            "past_mask": mask[..., None].astype(np.float32, copy=False),
            **_covariates(description, panel, some, None if future is None else future[some]),
        }
        if series is not None:
            inputs["series"] = series[some]
        yield inputs


def _joint_inputs(description: Description, panel: Panel, future: Floats32 | None) -> dict[str, Array]:
    """Return one window that holds all series as channels; its covariates are those of the first."""
    length, count = description.input_size, panel.num_series
    past_y = panel.y.reshape(count, -1)[:, -length:].T[None]
    mask = np.ones_like(past_y) if panel.mask is None else panel.mask.reshape(count, -1)[:, -length:].T[None]
    return {
        "past_y": np.ascontiguousarray(past_y),
        "past_mask": np.ascontiguousarray(mask, dtype=np.float32),
        **_covariates(description, panel, slice(0, 1), None if future is None else future[:1]),
    }


def _covariates(description: Description, panel: Panel, some: slice, future: Floats32 | None) -> dict[str, Array]:
    """Return the covariates of the last windows of some series."""
    length = description.input_size
    begins = (panel.offsets[1:] - length)[some]
    found: dict[str, Array] = {}
    if panel.past_x is not None:
        found["past_x"] = _cut(panel.past_x, begins, length)
    if panel.future_x is not None and future is not None:
        known = _cut(panel.future_x, begins, length)
        found["future_x"] = np.concatenate([known, _lengthen(future, description.horizon)], axis=1)
    if panel.static_x is not None:
        found["static_x"] = panel.static_x[some]
    return found


def to_table(panel: Panel, forecast: Floats32, requested: RequestedOutput) -> pl.DataFrame:
    """Return the output of the graph, ``(batch, horizon, channel, 1 + quantiles)``, as a table with ids and times."""
    steps, schema = requested.horizon, panel.schema
    columns = [panel.times_ahead(steps).alias(schema.time)]
    if schema.id is not None:
        repeated = take_rows(panel.ids, np.repeat(np.arange(panel.num_series), steps))
        columns.insert(0, repeated.alias(schema.id))
    by_series = np.moveaxis(forecast, 2, 1).reshape(panel.num_series, *forecast.shape[1::2])[:, :steps]
    for name, place in zip(requested.columns, requested.places, strict=True):
        columns.append(pl.Series(name, by_series[..., place].reshape(-1)))
    return pl.DataFrame(columns)


def _categories(description: Description) -> dict[str, list[Any]]:
    features = (*description.past, *description.future, *description.static)
    return {feature.name: list(feature.categories) for feature in features if feature.categories is not None}


def _cut(values: Array, rows: Ints, length: int) -> Array:
    """Copy ``length`` rows from each row on, ``(rows, length, ...)``."""
    return np.moveaxis(sliding_window_view(values, length, axis=0)[rows], -1, 1)


def _lengthen(future: Floats32, horizon: int) -> Floats32:
    short = horizon - future.shape[1]
    return future if short <= 0 else np.concatenate([future, np.repeat(future[:, -1:], short, axis=1)], axis=1)
