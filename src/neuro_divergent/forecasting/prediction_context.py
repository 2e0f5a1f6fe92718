"""A prepared prediction: the ends of the series as batches, and the forecast as a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import torch

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.progress import track
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.future import read_future
from neuro_divergent.data.io.source import Backend, read_table, to_native
from neuro_divergent.data.io.table import take_rows
from neuro_divergent.data.lengths import check_history
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.forecasting.fitted import FittedModel
from neuro_divergent.forecasting.given_panel import as_panel
from neuro_divergent.forecasting.predictor import announce_rows, by_series
from neuro_divergent.forecasting.task import Task
from neuro_divergent.forecasting.uncertainty.requested import RequestedQuantiles

_ROWS = 4096  # series that go through the network at once
_PREPARED = 2**22  # values of histories that are prepared and kept; more are read when they are needed
_KEPT = 2**22  # rows of a table whose id and time columns are kept


@dataclass(frozen=True, eq=False)
class PredictionContext:
    """Everything about a forecast that does not depend on the requested levels.

    It is made once and used for each call of ``predict`` on the same data: what remains is the network itself. Of many
    series the histories are not kept, but read block by block.

    Attributes:
        fitted: The model.
        batcher: Makes batches from the end of the series.
        batches: Those batches.
        steps: Steps to forecast.
        future: Covariates known ahead, ``(num_series, steps, features)``.
        backend: Kind of table to return.
    """

    fitted: FittedModel
    batcher: WindowBatcher
    batches: Iterable[Batch]
    steps: int
    future: Array | None
    backend: Backend
    _index: dict[str, pl.Series] = field(default_factory=dict, init=False)

    @classmethod
    def of(
        cls, fitted: FittedModel, data: Any = None, *, future: Any = None, horizon: int | None = None
    ) -> PredictionContext:
        """Prepare a forecast, from new data if there is any.

        Raises:
            InputError: If there is none and the model holds no series either.
        """
        backend = fitted.backend
        if data is not None:
            panel, backend = read_history(data, fitted.context, fitted.task)
            fitted = fitted.with_context(panel)
        elif not fitted.has_context:
            raise InputError("this model was saved without context, so it holds no series: pass them as data.")
        context = fitted.context
        steps = horizon or fitted.task.horizon
        ahead = read_future(future, context, steps)
        batcher = fitted.batcher(context)
        return cls(
            fitted,
            batcher,
            _split(batcher, ahead, fitted.task.horizon),
            steps,
            ahead,
            backend,
        )

    @property
    def index(self) -> dict[str, pl.Series]:
        """The id and time columns of the result."""
        if self._index:
            return self._index
        made = forecast_index(self.fitted.context, self.steps)
        if self.fitted.context.num_series * self.steps <= _KEPT:
            self._index.update(made)
        return made

    def table(self, levels: Sequence[float] = (), quantiles: Sequence[float] = ()) -> Any:
        """Run the network and return the result as a table."""
        requested = RequestedQuantiles(levels, quantiles)
        if self.steps > self.fitted.task.horizon:
            if requested.all:
                raise InputError(
                    f"intervals reach {self.fitted.task.horizon} steps, the horizon of training; {self.steps} were "
                    f"requested. Train with horizon={self.steps}, or leave out levels and quantiles."
                )
            return to_native({**self.index, "forecast": self._far().reshape(-1)}, self.backend)
        point, bounds = self._values(requested.all)
        return to_native(forecast_columns(self.index, point, requested, bounds, self.steps), self.backend)

    def _values(self, quantiles: tuple[float, ...]) -> tuple[Array, Array | None]:
        """Return point ``(num_series, horizon)`` and quantiles (one more axis)."""
        parts = []
        with track("Forecasting", self.batcher.panel.num_series, "series") as shown:
            for batch in self.batches:
                parts.append(self.fitted.predictor.values(self.batcher, batch, quantiles))
                shown.update(shown.done + _ROWS)
        point = np.concatenate([by_series(point).cpu().numpy() for point, _ in parts])
        if not quantiles:
            return point, None
        return point, np.concatenate([by_series(bounds).cpu().numpy() for _, bounds in parts if bounds is not None])

    def _far(self) -> Array:
        """Forecast beyond the trained horizon by feeding forecasts back as history."""
        if self.batcher.panel.past_x is not None:
            names = ", ".join(feature.name for feature in self.batcher.panel.past)
            raise InputError(
                f"a horizon of {self.steps} is longer than the trained {self.fitted.task.horizon} and would need "
                f"values of {names} that are not known ahead. Train with horizon={self.steps}."
            )
        if isinstance(self.batches, _LazyBatches):
            return np.concatenate([part._far() for part in self._parts()])
        horizon = self.fitted.task.horizon
        near, done, parts = self, 0, []
        while True:
            point, _ = near._values(())
            parts.append(point)
            done += horizon
            if done >= self.steps:
                return np.concatenate(parts, axis=1)[:, : self.steps]
            near = near._after(point, None if self.future is None else self.future[:, done - horizon : done + horizon])

    def _parts(self) -> Iterator[PredictionContext]:
        """Yield the same for some of the series at a time, with their ends in memory."""
        horizon, history = self.fitted.task.horizon, self.fitted.task.history
        for first in range(0, self.batcher.panel.num_series, _ROWS):
            batcher = _some_series(self.batcher, first, first + _ROWS)
            batcher = dataclasses.replace(batcher, panel=batcher.panel.tail(history))
            future = None if self.future is None else self.future[first : first + _ROWS]
            yield dataclasses.replace(self, batcher=batcher, batches=_split(batcher, future, horizon), future=future)

    def _after(self, point: Array, future: Array | None) -> PredictionContext:
        """Return the same one horizon later, with the forecast as history."""
        horizon = self.fitted.task.horizon
        ahead = None
        known = None
        if future is not None:
            known, ahead = future[:, :horizon], _lengthen(future[:, horizon:], horizon)
        panel = _append(self.batcher.panel, point, known)
        batcher = dataclasses.replace(self.batcher, panel=panel)
        return dataclasses.replace(self, batcher=batcher, batches=_split(batcher, ahead, horizon))


def read_history(data: Any, context: Panel, task: Task) -> tuple[Panel, Backend]:
    """Read series to forecast, with the columns of the context, and return the kind of their table too."""
    given = as_panel(data, context, last=task.history)
    backend: Backend = "polars"
    if given is None:
        table = read_table(data, context.schema)
        given, backend = build_panel(table, context.schema, fitted=context), table.backend
    panel = check_history(given, input_size=task.history)
    if task.joint:
        panel.require_aligned()
    return panel, backend


def forecast_index(context: Panel, steps: int) -> dict[str, pl.Series]:
    """Return the id and time columns of a forecast."""
    times = context.times_ahead(steps).alias(context.schema.time)
    if context.schema.id is None:
        return {context.schema.time: times}
    repeated = take_rows(context.ids, np.repeat(np.arange(context.num_series), steps))
    return {context.schema.id: repeated, context.schema.time: times}


def forecast_columns(
    index: dict[str, pl.Series],
    point: Array,
    requested: RequestedQuantiles,
    bounds: Array | None,
    steps: int | None = None,
) -> dict[str, Any]:
    """Return the columns of a table of forecasts.

    Args:
        index: The id and time columns.
        point: Forecasts, ``(series, horizon)``.
        requested: The requested quantiles.
        bounds: Forecasts of them, one more axis.
        steps: How many steps of the horizon to return; all by default.
    """
    columns: dict[str, Any] = {**index, "forecast": point[:, :steps].reshape(-1)}
    if bounds is not None:
        for place, name in enumerate(requested.columns):
            columns[name] = bounds[:, :steps, place].reshape(-1)
    return columns


def _split(batcher: WindowBatcher, future: Array | None, horizon: int) -> Iterable[Batch]:
    """Return the end of every series as batches of bounded size."""
    near = None if future is None else _lengthen(future[:, :horizon], horizon)
    if not batcher.joint and batcher.panel.num_series * batcher.input_size > max(_PREPARED, _ROWS * batcher.input_size):
        return _LazyBatches(batcher, near)
    with torch.inference_mode():
        batch = batcher.context(near)
        size = len(batch.past_y)
        return tuple(
            Batch._make(None if item is None else item[first : first + _ROWS] for item in batch)
            for first in range(0, size, _ROWS)
        )


@dataclass(frozen=True, eq=False)
class _LazyBatches:
    """The ends of many series as batches that are made when they are needed, each time again.

    Attributes:
        batcher: Makes them.
        future: Covariates known ahead for the horizon, ``(num_series, horizon, features)``.
    """

    batcher: WindowBatcher
    future: Array | None

    def __iter__(self) -> Iterator[Batch]:
        self._announce(0)
        for first in range(0, self.batcher.panel.num_series, _ROWS):
            self._announce(first + _ROWS)
            future = None if self.future is None else self.future[first : first + _ROWS]
            with torch.inference_mode():
                batch = _some_series(self.batcher, first, first + _ROWS).context(future)
                assert batch.series is not None
                # They are numbered as in the whole panel, whose scaler parameters are looked up by number.
                batch = batch._replace(series=batch.series + first)
            yield batch

    def _announce(self, first: int) -> None:
        """Say which rows will be read next, where they are on disk."""
        panel, size = self.batcher.panel, self.batcher.input_size
        if panel.is_memory_mapped:
            panel.check_files()
            announce_rows(panel, panel.offsets[1:][first : first + _ROWS] - size, size)


def _some_series(batcher: WindowBatcher, first: int, end: int) -> WindowBatcher:
    """Return what makes batches of some of the series, numbered from 0."""
    panel = batcher.panel.part(first, min(end, batcher.panel.num_series))
    params, spread = (None if item is None else item[first:end] for item in (batcher.scaler_params, batcher.spread))
    return dataclasses.replace(batcher, panel=panel, scaler_params=params, spread=spread)


def _lengthen(future: Array, horizon: int) -> Array:
    """Repeat the last known row up to a whole horizon; what is forecast from it is cut off again."""
    short = horizon - future.shape[1]
    return future if short <= 0 else np.concatenate([future, np.repeat(future[:, -1:], short, axis=1)], axis=1)


def _append(panel: Panel, point: Array, future: Array | None) -> Panel:
    """Move each series on by its forecast, keeping its length."""
    series, steps = point.shape
    length = len(panel) // series
    keep = max(length - steps, 0)

    def moved(old: Array, new: Array) -> Array:
        rows = old.reshape(series, length, *old.shape[1:])[:, length - keep :]
        both = np.concatenate([rows, new.astype(old.dtype)], axis=1)[:, -length:]
        return np.ascontiguousarray(both).reshape(series * length, *old.shape[1:])

    return dataclasses.replace(
        panel,
        y=moved(panel.y, point),
        mask=None if panel.mask is None else moved(panel.mask, np.ones_like(point, dtype=bool)),
        future_x=None if panel.future_x is None or future is None else moved(panel.future_x, future),
    )
