"""Cuts windows out of a panel and scales them: one indexing operation per batch."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from numpy.lib.stride_tricks import as_strided
from torch import Tensor

from neuro_divergent.core.arrays import Array, Floats, Ints
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.announce import announce, is_mapped, resident
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.base import SeriesScaler, WindowScaler
from neuro_divergent.data.scaling.covariates import CovariateScaling, CovariateTensors
from neuro_divergent.data.scaling.pipeline import ScalingPipeline, standardise
from neuro_divergent.data.scaling.series_fit import fit_series_scaler as fit_series_scaler

_CPU = torch.device("cpu")
_PAGE = 4096


class Cuttable(Protocol):
    """Values by row that are no NumPy array: parts of several arrays, or values that are computed when needed."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def cut(self, rows: Ints, size: int) -> Array:
        """Return a copy of ``size`` rows from each row on, ``(len(rows), size, ...)``."""


@dataclass(frozen=True, eq=False)
class WindowBatcher:
    """Makes batches of scaled windows from a panel.

    NumPy copies a window as one block of memory, which is five times faster than indexing with torch, and reads from a
    memory-mapped panel only what a batch needs.

    Attributes:
        input_size: Rows of history.
        horizon: Rows of target.
        series_scaler: Scaler of each series, applied first, or ``None``.
        scaler_params: Its parameters, ``(num_series, params)``.
        spread: Usual scale of windows of each series, ``(num_series,)``; see ``Spreads``.
        target_limit: Largest absolute value of a scaled target; larger ones are cut to it. ``None`` for no limit.
        weight: How much each row of the panel counts as a target, or ``None`` when all count the same.
        joint: Whether a window spans all series at once, as channels.
    """

    panel: Panel
    input_size: int
    horizon: int
    scaler: WindowScaler
    series_scaler: SeriesScaler | None = None
    scaler_params: Array | None = None
    spread: Array | None = None
    target_limit: float | None = None
    covariates: CovariateScaling = CovariateScaling()  # noqa: RUF009 - frozen
    weight: Array | Cuttable | None = None
    joint: bool = False
    device: torch.device = _CPU

    def windows(self, series: Ints, rows: Ints) -> Batch:
        """Return windows with their targets, from the series and the first history row of each."""
        size = self.input_size + self.horizon
        return self._batch(series, rows, size)._replace(
            future_x=self._features(self.panel.future_x, self._covariates.future, rows, size),
            weight=self.target_weight(rows),
        )

    @property
    def is_mapped(self) -> bool:
        """Whether windows are read from disk."""
        return bool(self._reads)

    @property
    def arrays(self) -> list[Any]:
        """The arrays that windows are read from disk from."""
        return [array for array, _, _ in self._reads]

    def announce(self, rows: Ints, size: int | None = None) -> None:
        """Have the windows that begin at some rows read from disk, without waiting for them.

        ``size`` is for other numbers of rows than those of a window. Does nothing for a panel in memory.
        """
        rows = self._of_all_series(rows) if self.joint else rows
        for array, first, count in self._reads:
            announce(array, rows + first if size is None else rows, count if size is None else size)

    def is_resident(self, rows: Ints) -> bool:
        """Whether all pages of windows that begin at some rows are in memory, as far as a sample of them tells."""
        rows = self._of_all_series(rows) if self.joint else rows
        return all(resident(array, rows + first, count) >= 1 for array, first, count in self._reads)

    def bytes_to_read(self, windows: int) -> int:
        """Return the bytes of the pages of some windows that lie apart from each other."""
        channels = self.panel.num_series if self.joint else 1
        width = sum(count * array.nbytes // max(len(array), 1) + _PAGE for array, _, count in self._reads)
        return int(windows * channels * max(width, 1))

    def context(self, future: Array | None = None) -> Batch:
        """Return the last history of every series, to forecast from, in the order of the panel.

        ``future`` are the covariates known ahead for the horizon, ``(num_series, horizon, features)``.
        """
        every = np.arange(self.panel.num_series)
        rows = self.panel.offsets[1:] - self.input_size
        series, rows = (every[:1], rows[:1]) if self.joint else (every, rows)
        batch = self._batch(series, rows, self.input_size)
        if future is None:
            return batch
        known = self._features(self.panel.future_x, self._covariates.future, rows, self.input_size)
        ahead = self._standardised(np.ascontiguousarray(future[series], dtype=np.float32), self._covariates.future)
        return batch._replace(future_x=ahead if known is None else torch.cat([known, ahead], dim=1))

    def restore(self, values: Tensor, batch: Batch) -> Tensor:
        """Bring outputs ``(batch, horizon, channel, ...)`` made from a batch back to the units of the data."""
        return self.scaling.inverse(values, batch.loc, batch.scale, self.params_of(batch.series))

    def rescale(self, values: Tensor, batch: Batch) -> Tensor:
        """Bring values in the units of the data ``(batch, horizon, channel)`` to the scale of a batch."""
        return self.scaling.rescale(values, batch.loc, batch.scale, self.params_of(batch.series))

    def params_of(self, series: Tensor | None) -> Tensor | None:
        """Return the parameters of the series scaler, ``(batch, 1, channel, params)``; ``None`` without one."""
        if self.series_scaler is None or series is None:
            return None
        return self._params[None, None] if self.joint else self._params[series][:, None, None]

    def spread_of(self, series: Tensor) -> Tensor | None:
        """Return the usual scale of windows of some series, ``(batch, 1, channel)``; ``None`` where it is not known."""
        if self.spread is None:
            return None
        return self._spread[None, None] if self.joint else self._spread[series][:, None, None]

    def history_scale(self, series: Ints, rows: Ints) -> tuple[Floats, Floats]:
        """Return scale and level of the histories that begin at some rows, ``(rows, channel)`` each, as float64.

        The scale is 0 where a history does not tell one.
        """
        values, mask = self._observed(rows, self.input_size)
        places = torch.from_numpy(series).to(self.device)
        scale, level = self.scaling.history_scale(values, mask, self.params_of(places))
        return scale[:, 0].double().cpu().numpy(), level[:, 0].double().cpu().numpy()

    def target_weight(self, rows: Ints) -> Tensor | None:
        """Return how much each target counts of windows that begin at some rows; ``None`` where all count the same."""
        return None if self.weight is None else self._cut(self.weight, rows + self.input_size, self.horizon)

    def is_same(self, other: WindowBatcher) -> bool:
        """Whether another batcher makes the same batches: settings are equal, and arrays are the same objects."""
        for field in dataclasses.fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine is not theirs and (isinstance(mine, (np.ndarray, Panel, CovariateScaling)) or mine != theirs):
                return False
        return True

    @cached_property
    def scaling(self) -> ScalingPipeline:
        """Both scalers as functions of tensors."""
        return ScalingPipeline(self.scaler, self.series_scaler)

    def _batch(self, places: Ints, rows: Ints, size: int) -> Batch:
        """Cut ``size`` rows from each row on, scale them and separate history from target; without ``future_x``."""
        panel, length = self.panel, self.input_size
        values, mask = self._observed(rows, size)
        static, series = panel.static_x, torch.from_numpy(places).to(self.device)
        scaled = self.scaling.transform(values, mask, self.params_of(series), length, self.spread_of(series))
        has_target = size > length
        if has_target and self.target_limit is not None:
            scaled.values[:, length:].clamp_(-self.target_limit, self.target_limit)
        return Batch(
            past_y=scaled.values[:, :length],
            past_mask=None if mask is None else mask[:, :length],
            past_x=self._features(panel.past_x, self._covariates.past, rows, length),
            static_x=None if static is None else self._standardised(static[places], self._covariates.static),
            future_y=scaled.values[:, length:] if has_target else None,
            future_mask=mask[:, length:] if mask is not None and has_target else None,
            loc=scaled.loc,
            scale=scaled.scale,
            series=series,
            unit_loc=scaled.unit_loc,
            unit_scale=scaled.unit_scale,
        )

    def _observed(self, rows: Ints, size: int) -> tuple[Tensor, Tensor | None]:
        """Return ``size`` values of the target from each row on, and which of them were observed."""
        mask = self.panel.mask
        return self._cut(self.panel.y, rows, size), None if mask is None else self._cut(mask, rows, size).float()

    def _cut(self, values: Array | Cuttable, rows: Ints, size: int) -> Tensor:
        """Copy ``size`` values from each row on, as ``(batch, time, channel)``."""
        if not isinstance(values, np.ndarray):
            places = self._of_all_series(rows) if self.joint else rows
            found = torch.from_numpy(values.cut(places, size)).to(self.device)
            return found.view(-1, len(rows), size).permute(1, 2, 0)
        step = values.strides[0]
        if self.joint:
            channels = self.panel.num_series
            length = len(values) // channels
            view = self._view(values, (channels, length - size + 1, size), (length * step, step, step))
            return torch.from_numpy(view[:, rows]).to(self.device).permute(1, 2, 0)
        view = self._view(values, (len(values) - size + 1, size), (step, step))
        return torch.from_numpy(view[rows]).to(self.device).unsqueeze(-1)

    def _features(self, values: Any, params: Tensor | None, rows: Ints, size: int) -> Tensor | None:
        """Copy ``size`` rows of features from each row on, as ``(batch, time, feature)``."""
        if values is None:
            return None
        if not isinstance(values, np.ndarray):
            return self._standardised(values.cut(rows, size), params)
        count, width = values.shape
        view = self._view(values, (count - size + 1, size * width), values.strides)
        return self._standardised(view[rows].reshape(len(rows), size, width), params)

    def _of_all_series(self, rows: Ints) -> Ints:
        """Return the rows of all series from rows of the first one, series after series; all are of equal length."""
        channels = self.panel.num_series
        places: Ints = (np.arange(channels)[:, None] * (len(self.panel) // channels) + rows).reshape(-1)
        return places

    @cached_property
    def _reads(self) -> list[tuple[Any, int, int]]:
        """The mapped arrays: which rows of a window are read of each, as the first one and their number."""
        panel, length, size = self.panel, self.input_size, self.input_size + self.horizon
        weight = None if self.weight is None else self.weight if is_mapped(self.weight) else panel.weight
        reads: list[tuple[Any, int, int]] = [
            (panel.y, 0, size),
            (panel.mask, 0, size),
            (weight, length, self.horizon),
            (panel.past_x, 0, length),
            (panel.future_x, 0, size),
        ]
        return [read for read in reads if is_mapped(read[0])]

    def _view(self, values: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
        """Return all windows of an array as overlapping rows of a view, made once."""
        key = (id(values), shape)
        if key not in self._views:
            self._views[key] = as_strided(values, shape, strides, writeable=False)
        return self._views[key]

    def _standardised(self, values: Array, params: Tensor | None) -> Tensor:
        """Subtract shifts and divide by spreads, column by column."""
        return standardise(torch.from_numpy(values).to(self.device), params)

    @cached_property
    def _covariates(self) -> CovariateTensors:
        return self.covariates.tensors(self.device)

    @cached_property
    def _params(self) -> Tensor:
        return torch.from_numpy(np.asarray(self.scaler_params, dtype=np.float32)).to(self.device)

    @cached_property
    def _spread(self) -> Tensor:
        return torch.from_numpy(np.asarray(self.spread, dtype=np.float32)).to(self.device)

    @cached_property
    def _views(self) -> dict[tuple[int, tuple[int, ...]], Array]:
        return {}
