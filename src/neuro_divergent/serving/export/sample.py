"""Windows to try a graph on, as arrays for the graph and as tables for ``predict``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array, Floats32, Ints
from neuro_divergent.core.spec import Feature
from neuro_divergent.data.cleaning.calendar import calendar_features
from neuro_divergent.data.cleaning.categories import decode_categories
from neuro_divergent.data.panel import Panel
from neuro_divergent.serving.description import Description
from neuro_divergent.serving.export.describe import time_type

_MISSING = 0.25
_FEWEST = 4  # values of a window that are observed, if it has as many
_APART, _BEGINNINGS = 3, 8  # steps between the beginnings of windows, and how many of them there are
_CONSTANT = 5  # how often a window is constant
_REPEATS = 4  # windows of a series that is known, where others are possible


@dataclass(frozen=True, eq=False)
class Sample:
    """Windows that follow each other by one step in a joint model, and of different series in others.

    Attributes:
        context: Roles of the columns, frequency and categories.
        description: What the graph reads.
        y: Target, ``(windows, input_size, channels)``; NaN where it is missing.
        past_x: Covariates known only in the past, ``(windows, input_size, features)``, as in the context.
        future_x: Covariates known ahead, ``(windows, input_size + horizon, features)``.
        static_x: Covariates that do not change, ``(windows, features)``.
        ids: Series of each window, or of each channel of a joint model.
        starts: Time of the first row of each window.
    """

    context: Panel
    description: Description
    y: Floats32
    past_x: Floats32
    future_x: Floats32
    static_x: Floats32
    ids: pl.Series
    starts: pl.Series

    @classmethod
    def draw(
        cls, context: Panel, description: Description, size: int, *, missing: Sequence[bool] = (False,), seed: int = 0
    ) -> Sample:
        """Draw windows, always the same: values of a series of training, mixed with others of the same series.

        Some are constant, so that the scale of a window has to come from what is usual.

        Args:
            context: The end of each series; values are invented if it has none.
            description: What the graph reads.
            size: Number of windows.
            missing: Whether values of a window are missing; the windows take turns.
            seed: Of the draw.
        """
        random = np.random.default_rng(seed)
        length, horizon, channels = description.input_size, description.horizon, description.channels
        steps = length + size - 1
        if description.joint:
            drawn = np.stack([_values(context, place, steps, description, random) for place in range(channels)], -1)
            drawn[:, seed % channels] = drawn[0, seed % channels]
            drawn[random.random(drawn.shape) < _MISSING * any(missing)] = math.nan
            y = np.stack([drawn[first : first + length] for first in range(size)])
            ids = context.ids if context.num_series else _new_ids(context, channels)
        else:
            y = np.stack([_values(context, place, length, description, random) for place in range(size)])[..., None]
            y[_CONSTANT::_CONSTANT] = y[_CONSTANT::_CONSTANT, :1]
            for place in range(size):
                if missing[place % len(missing)]:
                    _hide(y[place, :, 0], random)
            ids = _choose_ids(context, description, size)
        begins = np.arange(size) if description.joint else _APART * (np.arange(size) % _BEGINNINGS)
        starts = context.frequency.time_at(_first_time(context).gather(np.zeros(size, np.uint32)), begins)
        calendar = len(context.schema.calendar)
        known = context.future[: len(context.future) - calendar]
        ahead = np.empty((size, length + horizon, len(context.future)), np.float32)
        ahead[..., : len(known)] = _covariates(context, "future", known, (size, length + horizon), random)
        if calendar:
            times = _times(context, starts, length + horizon)
            calendar_features(times, context.schema.calendar, ahead.reshape(-1, ahead.shape[2])[:, len(known) :])
        return cls(
            context=context,
            description=description,
            y=y.astype(np.float32),
            past_x=_covariates(context, "past", context.past, (size, length), random),
            future_x=ahead,
            static_x=_covariates(context, "static", context.static, (size,), random),
            ids=ids,
            starts=starts,
        )

    def __len__(self) -> int:
        """Number of windows."""
        return len(self.y)

    def inputs(self) -> dict[str, Array]:
        """Return the windows as the graph reads them."""
        wanted = self.description
        mask = ~np.isnan(self.y)
        found: dict[str, Array] = {
            "past_y": np.where(mask, self.y, np.float32(0)),
            "past_mask": mask.astype(np.float32),
        }
        ahead = [*(feature.name for feature in wanted.future), *wanted.calendar]
        for name, values, features, names in (
            ("past_x", self.past_x, self.context.past, [feature.name for feature in wanted.past]),
            ("future_x", self.future_x, self.context.future, ahead),
            ("static_x", self.static_x, self.context.static, [feature.name for feature in wanted.static]),
        ):
            if names:
                columns = [feature.name for feature in features]
                found[name] = np.ascontiguousarray(values[..., [columns.index(column) for column in names]])
        if wanted.takes_series:
            places = {name: place for place, name in enumerate(wanted.series)}
            found["series"] = np.array([places.get(name, -1) for name in self.ids.to_list()], np.int64)
        return found

    def calls(self) -> list[Ints]:
        """Return the windows that one table may hold: those of different series."""
        if self.description.joint or self.context.schema.id is None:
            return [np.array([place]) for place in range(len(self))]
        turn: dict[Any, int] = {}
        found: dict[int, list[int]] = {}
        for place, name in enumerate(self.ids.to_list()):
            turn[name] = turn.get(name, -1) + 1
            found.setdefault(turn[name], []).append(place)
        return [np.array(places) for places in found.values()]

    def tables(self, windows: Ints) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """Return the history of some windows as a table, and what is known ahead of them as another."""
        context, length = self.context, self.description.input_size
        past = self._table(windows, 0, length)
        past = past.with_columns(pl.Series(context.schema.target, self._y(windows)).fill_nan(None))
        for place, feature in enumerate(context.past):
            past = past.with_columns(_column(context, feature, self._repeated(self.past_x[windows, :, place])))
        for place, feature in enumerate(context.static):
            rows = np.repeat(self.static_x[windows, place][:, None], length, axis=1)
            past = past.with_columns(_column(context, feature, self._repeated(rows)))
        past = past.with_columns(self._known_ahead(windows, 0, length))
        if not context.schema.future:
            return past, None
        end = self.future_x.shape[1]
        return past, self._table(windows, length, end).with_columns(self._known_ahead(windows, length, end))

    def long_table(self) -> pl.DataFrame:
        """Return the series that the windows of a joint model are cut from, with rows of targets that do not count."""
        steps, horizon = len(self) + self.description.input_size - 1, self.description.horizon
        values = np.concatenate([self.y[:, 0], self.y[-1, 1:], np.zeros((horizon, self.y.shape[2]), np.float32)])
        times = _times(self.context, self.starts[:1], steps + horizon)
        channels = self.y.shape[2]
        columns = [] if self.context.schema.id is None else [_repeat_each(self.ids, len(times), self.context.schema.id)]
        columns.append(pl.concat([times] * channels).rename(self.context.schema.time))
        columns.append(pl.Series(self.context.schema.target, values.T.reshape(-1)).fill_nan(None))
        return pl.DataFrame(columns)

    def _table(self, windows: Ints, first: int, last: int) -> pl.DataFrame:
        """Return ids and times of some rows of windows."""
        schema, ids = self.context.schema, self.ids
        starts = self.context.frequency.time_at(self.starts.gather(windows), np.full(len(windows), first))
        times = _times(self.context, starts, last - first)
        if self.description.joint:
            times = pl.concat([times] * len(ids))
        else:
            ids = ids.gather(windows)
        columns = [] if schema.id is None else [_repeat_each(ids, last - first, schema.id)]
        return pl.DataFrame([*columns, times.rename(schema.time)])

    def _y(self, windows: Ints) -> Array:
        return np.ascontiguousarray(self.y[windows].transpose(0, 2, 1)).reshape(-1)

    def _repeated(self, values: Array) -> Array:
        return np.ascontiguousarray(values).reshape(-1)

    def _known_ahead(self, windows: Ints, first: int, last: int) -> list[pl.Series]:
        schema, features = self.context.schema, self.context.future
        return [
            _column(self.context, features[place], self._repeated(self.future_x[windows, first:last, place]))
            for place in range(len(schema.future))
        ]


def _values(context: Panel, place: int, steps: int, description: Description, random: np.random.Generator) -> Array:
    """Return values of a series, none of which lies outside of those that it has."""
    observed: Array = np.zeros(0)
    if context.num_series:
        series = place % context.num_series
        rows = slice(int(context.offsets[series]), int(context.offsets[series + 1]))
        observed = context.y[rows] if context.mask is None else context.y[rows][context.mask[rows]]
    if not len(observed):
        low, high = description.target_range or (5.0, 15.0)
        observed = random.uniform(low, high, max(steps, _FEWEST))
    observed = observed[-steps:].astype(np.float64)
    part = random.uniform(0, 0.5, steps)
    mixed: Array = (1 - part) * np.resize(observed, steps) + part * random.choice(observed, steps)
    return mixed


def _hide(values: Array, random: np.random.Generator) -> None:
    """Make values of a window missing: some of them, or its first half."""
    length = len(values)
    hidden = random.random(length) < _MISSING if random.random() < 0.5 else np.arange(length) < length // 2
    hidden[random.permutation(length)[:_FEWEST]] = False
    hidden[0] |= length > _FEWEST
    values[hidden] = math.nan


def _choose_ids(context: Panel, description: Description, size: int) -> pl.Series:
    """Return the series of each window: of training, and new ones where they are possible."""
    count = context.num_series
    if context.schema.id is None or (description.requires_known_series and count):
        return context.ids.gather(np.arange(size) % count) if count else _new_ids(context, size)
    fresh = _new_ids(context, size)
    known = min(_REPEATS * count, (size + 1) // 2)
    return pl.concat([context.ids.gather(np.arange(known) % count) if known else fresh[:0], fresh[: size - known]])


def _new_ids(context: Panel, size: int) -> pl.Series:
    if context.ids.dtype.is_integer():
        highest = context.ids.max() if context.num_series else 0
        assert isinstance(highest, int)
        return pl.Series(np.arange(size, dtype=np.int64) + highest + 1).cast(context.ids.dtype)
    known = set(context.ids.cast(pl.String).to_list())
    names = [f"new {place}" for place in range(size + len(known)) if f"new {place}" not in known]
    return pl.Series(names[:size], dtype=pl.String).cast(context.ids.dtype)


def _first_time(context: Panel) -> pl.Series:
    if context.num_series:
        return context.starts[:1]
    kind, _, _ = time_type(context)
    if kind == "integer":
        return pl.Series([0], dtype=pl.Int64)
    day = 31 if context.frequency.unit == "me" else 1  # the first of January 2024 is a Monday
    return pl.Series([date(2024, 1, day)]) if kind == "date" else pl.Series([datetime(2024, 1, day)])


def _times(context: Panel, starts: pl.Series, steps: int) -> pl.Series:
    """Return ``steps`` times from each start on."""
    repeated = starts.gather(np.repeat(np.arange(len(starts), dtype=np.uint32), steps))
    return context.frequency.time_at(repeated, np.tile(np.arange(steps), len(starts))).rename("time")


def _covariates(
    context: Panel, role: str, features: Sequence[Feature], shape: tuple[int, ...], random: np.random.Generator
) -> Floats32:
    """Return covariates of the size that they have in a context, and any category but unknown ones."""
    values: Array | None = getattr(context, f"{role}_x")
    found = np.empty((*shape, len(features)), np.float32)
    for place, feature in enumerate(features):
        if feature.cardinality is not None:
            found[..., place] = random.integers(1, feature.cardinality, shape) if feature.cardinality > 1 else 0
        else:
            column = values[:, place] if values is not None and len(values) else np.array([0.0, 1.0])
            found[..., place] = column.mean() + (column.std() or 1.0) * random.standard_normal(shape)
    return found


def _column(context: Panel, feature: Feature, values: Array) -> pl.Series:
    if feature.cardinality is None:
        return pl.Series(feature.name, values)
    return decode_categories(values, context.categories[feature.name]).rename(feature.name)


def _repeat_each(values: pl.Series, times: int, name: str) -> pl.Series:
    return values.gather(np.repeat(np.arange(len(values), dtype=np.uint32), times)).rename(name)
