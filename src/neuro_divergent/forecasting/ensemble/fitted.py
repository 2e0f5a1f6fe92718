"""The state of a fitted ensemble: trained members and how their forecasts are combined."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor

from neuro_divergent.core.arrays import Array, Ints
from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.io.source import Backend
from neuro_divergent.data.loader import Order
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.splits import Split
from neuro_divergent.data.windows import Windows, across
from neuro_divergent.forecasting.ensemble.combination import Combination, MemberForecast, Quantiles, accuracy_weights
from neuro_divergent.forecasting.fitted import FittedModel
from neuro_divergent.forecasting.predictor import Values, WindowForecasts, by_series
from neuro_divergent.forecasting.task import Task
from neuro_divergent.forecasting.uncertainty.intervals import Intervals
from neuro_divergent.forecasting.uncertainty.requested import RequestedQuantiles
from neuro_divergent.losses.quantile import QuantileLoss

_ROWS = 4096  # windows that go through the networks at once
_MOST = 2000  # windows that intervals are measured on, or one per series


@dataclass(frozen=True, eq=False)
class EnsembleBatcher:
    """Makes batches of the same windows for each member, from as much history as it reads.

    Attributes:
        members: What makes the batches of each member.
        input_size: Rows of history of a window: as many as any member reads.
        joint: Whether a window spans all series.
    """

    members: tuple[WindowBatcher, ...]
    input_size: int
    joint: bool

    def windows(self, series: Ints, rows: Ints) -> tuple[Batch, ...]:
        """Return windows with their targets for each member, from the series and the first history row of each."""
        each = across(self.members[0].panel, rows) if self.joint else (series, rows)
        batches = []
        for batcher in self.members:
            places, begins = (series, rows) if batcher.joint else each
            batches.append(batcher.windows(places, begins + self.input_size - batcher.input_size))
        return tuple(batches)


@dataclass(frozen=True, eq=False)
class FittedEnsemble:
    """Trained members, how they are combined, and the errors of the whole.

    It has the interface of ``FittedModel`` and of its predictor, so that it is evaluated, and teaches, like one model.

    Attributes:
        members: The trained members, at the end of the same series.
        combination: How their forecasts are combined.
        intervals: Errors of the whole on the validation part, where intervals come from them.
        backend: Kind of the input table.
    """

    members: tuple[FittedModel, ...]
    combination: Combination
    intervals: Intervals | None
    backend: Backend

    @classmethod
    def of(cls, members: Sequence[FittedModel], combination: Combination, backend: Backend) -> Self:
        """Put members together.

        Raises:
            InputError: If they do not stand at the end of the same series.
        """
        first, *others = (member.context for member in members)
        if len({member.has_context for member in members}) > 1:
            raise InputError("some members were saved without context. Save all members with it, or none.")
        if not members[0].has_context:
            return cls(tuple(members), combination, None, backend)
        ends = [panel.frequency.time_at(panel.starts, panel.lengths - 1) for panel in (first, *others)]
        for place, (panel, end) in enumerate(zip(others, ends[1:], strict=True), 2):
            if not panel.ids.equals(first.ids) or not end.equals(ends[0]):
                raise InputError(
                    f"member {place} was trained on other series than the first, or on another span of them. Train all "
                    "members on the same data: Ensemble.fit does."
                )
        return cls(tuple(members), combination, None, backend)

    @cached_property
    def task(self) -> Task:
        """What the whole forecasts: from the longest history, and over all series at once if a member does."""
        points = [member for member in self.members if not _has_quantiles(member)]
        base = (points or self.members)[0].task
        fixed = {level for member in self.members for level in member.task.loss.quantile_levels}
        return base.replace(
            input_size=max(member.task.history for member in self.members),
            joint=any(member.task.joint for member in self.members),
            loss=QuantileLoss(sorted(fixed)) if self.combination.by_quantile else base.loss,
        )

    @property
    def spec(self) -> TaskSpec:
        """What the network of the leading member was built for."""
        return self._lead.spec

    @property
    def context(self) -> Panel:
        """The end of each series, as far back as any member reads."""
        return max(self.members, key=lambda member: member.task.history).context

    @property
    def predictor(self) -> Self:
        """What turns batches into forecasts: this."""
        return self

    def batcher(self, panel: Panel, until: Ints | None = None) -> EnsembleBatcher:
        """Return what makes batches from a panel for all members; ``until`` is as for ``FittedModel.batcher``."""
        batchers = tuple(member.batcher(panel, until) for member in self.members)
        return EnsembleBatcher(batchers, self.task.history, bool(self.task.joint))

    def values(self, batcher: EnsembleBatcher, batches: tuple[Batch, ...], quantiles: Quantiles) -> Values:
        """Return point ``(batch, horizon, channel)`` and quantiles (one more axis) in the units of the data."""
        channels = batcher.members[0].panel.num_series if batcher.joint else 1
        point, bounds = self._values(batcher, batches, quantiles)
        return _by_channel(point, channels), None if bounds is None else _by_channel(bounds, channels)

    def forecast_windows(
        self, windows: Windows, levels: Sequence[float] = (), quantiles: Sequence[float] = ()
    ) -> WindowForecasts:
        """Forecast many windows of a panel, together with the observed values.

        Windows with less history than the whole reads are left out.
        """
        requested = RequestedQuantiles(levels, quantiles)
        batcher = self.batcher(windows.panel, windows.begins)
        windows = dataclasses.replace(windows, input_size=batcher.input_size, joint=batcher.joint)
        if not len(windows):
            raise InputError("there is no window to forecast.")
        return WindowForecasts.of(windows, batcher, requested, self.values)

    def split(self, panel: Panel) -> Split:
        """Split a panel so that no member was trained on what is held out."""
        task = self.task
        splits = [member.task.split(panel) for member in self.members]

        def joined(name: str) -> Windows:
            parts: list[Windows] = [getattr(split, name) for split in splits]
            return Windows(
                panel,
                task.history,
                task.horizon,
                np.max([part.begins for part in parts], axis=0),
                np.min([part.ends for part in parts], axis=0),
                parts[0].step,
                bool(task.joint),
            )

        return Split(joined("train"), joined("validation"), joined("test"))

    def with_accuracy_weights(self, windows: Windows) -> FittedEnsemble:
        """Return the same members, weighted by how accurate each is on windows.

        Raises:
            ConfigError: If there is no window.
        """
        if not len(windows):
            raise ConfigError(
                "weights: 'validation' needs windows that no member was trained on, and there are none. Hold out "
                "more, or leave weights out."
            )
        weights = accuracy_weights(self._squared_errors(windows))
        return dataclasses.replace(self, combination=dataclasses.replace(self.combination, weights=weights))

    def with_intervals(self, windows: Windows) -> FittedEnsemble:
        """Return the same with errors of the whole measured on windows, if intervals are to come from them."""
        if not self.combination.is_measured:
            return self
        dense = dataclasses.replace(windows, step=1)
        windows = dataclasses.replace(windows, step=max(1, len(dense) // _MOST))
        batcher, errors = self.batcher(windows.panel), []
        for numbers in Order(batch_size=_ROWS, shuffle=False).batches(len(windows), 0, 0):
            batches = batcher.windows(*windows.locate(numbers))
            point, _ = self._values(batcher, batches, ())
            errors.append(self._relative_errors(batcher, batches, point))
        if not errors:
            return self
        complete = torch.cat(errors)
        complete = complete[~complete.isnan().any(1)]
        return dataclasses.replace(self, intervals=Intervals(complete.sort(0).values) if len(complete) else None)

    @cached_property
    def lead_place(self) -> int:
        """Which member leads: its scale is the one that errors of the whole are measured on.

        Where there are others it is none with a series scaler that bends, which may not take what others forecast.
        """

        def rank(place: int) -> tuple[bool, bool, int]:
            task = self.members[place].task
            return bool(task.joint), task.series_scaler is None or task.series_scaler.affine, task.history

        return max(range(len(self.members)), key=rank)

    @property
    def _lead(self) -> FittedModel:
        return self.members[self.lead_place]

    def _values(self, batcher: EnsembleBatcher, batches: tuple[Batch, ...], wanted: Quantiles) -> MemberForecast:
        """Return point ``(windows * channels, horizon)`` and quantiles (one more axis)."""
        forecasts: list[MemberForecast] = []
        requested = self.combination.member_quantiles(wanted)
        for member, own, batch, levels in zip(self.members, batcher.members, batches, requested, strict=True):
            found, bounds = member.predictor.values(own, batch, levels)
            forecasts.append((_flat(found), None if bounds is None else _flat(bounds)))
        point, quantiles = self.combination.combine(wanted, forecasts)
        if wanted and quantiles is None:
            quantiles = self.around(batcher.members[self.lead_place], batches[self.lead_place], point, wanted)
        return point, quantiles

    def around(self, batcher: WindowBatcher, batch: Batch, point: Array, quantiles: Quantiles) -> Array:
        """Return quantiles around point forecasts ``(windows * channels, steps)`` from measured errors.

        Args:
            batcher: What made the batch for the leading member.
            batch: What that member sees.
            point: Forecasts of the whole.
            quantiles: Quantiles to give.
        """
        offsets = self.quantile_offsets(quantiles)[None, : point.shape[1], None, :]
        if not batcher.scaler.applied and batch.scale is not None:
            offsets = offsets * batch.scale.cpu().unsqueeze(-1)
        with torch.inference_mode():
            points = _by_channel(point, batch.past_y.shape[2]).to(batch.past_y.device)
            scaled = batcher.rescale(points, batch).unsqueeze(-1) + offsets.to(points.device)
            return _flat(batcher.restore(scaled, batch))

    def quantile_offsets(self, quantiles: Quantiles) -> Tensor:
        """Return how far quantiles lie from the point at each step, ``(horizon, quantile)``, by measured errors.

        Raises:
            InputError: If no errors were measured, or too few.
        """
        if self.intervals is None:
            raise InputError(
                "intervals of an ensemble are measured on a validation part, and there was none. Train it with "
                "validation set to a fraction or a number of rows, calibrate it, or train members with quantiles."
            )
        return torch.stack([self.intervals.quantile_offset(quantile) for quantile in quantiles], -1)

    def _relative_errors(self, batcher: EnsembleBatcher, batches: tuple[Batch, ...], point: Array) -> Tensor:
        """Return absolute errors on the scale of the leading member; NaN where nothing was observed."""
        own, batch = batcher.members[self.lead_place], batches[self.lead_place]
        assert batch.future_y is not None
        points = _by_channel(point, batch.past_y.shape[2]).to(batch.past_y.device)
        error = (own.rescale(points, batch) - batch.future_y).abs()
        if not own.scaler.applied and batch.scale is not None:
            error = error / batch.scale
        if batch.future_mask is not None:
            error = error.masked_fill(batch.future_mask == 0, torch.nan)
        return by_series(error).cpu()

    def _squared_errors(self, windows: Windows) -> Array:
        """Return the mean squared error of each member on each series that was observed, ``(members, series)``."""
        batcher, count = self.batcher(windows.panel), windows.panel.num_series
        sums, seen = np.zeros((len(self.members), count)), np.zeros(count)
        for numbers in Order(batch_size=_ROWS, shuffle=False).batches(len(windows), 0, 0):
            series, rows = windows.locate(numbers)
            batches = batcher.windows(series, rows)
            if batcher.joint:
                series, rows = across(windows.panel, rows)
            actual, observed = windows.panel.values_from(rows + batcher.input_size, windows.horizon)
            seen += np.bincount(series, observed.sum(1), minlength=count)
            for place, (member, own, batch) in enumerate(zip(self.members, batcher.members, batches, strict=True)):
                point = _flat(member.predictor.values(own, batch, ())[0])
                squared = np.where(observed, np.square(point.astype(np.float64) - actual), 0)
                sums[place] += np.bincount(series, squared.sum(1), minlength=count)
        means: Array = sums[:, seen > 0] / seen[seen > 0]
        return means


def _has_quantiles(member: FittedModel) -> bool:
    return member.task.loss.traits.any_level or bool(member.task.loss.quantile_levels)


def _flat(values: Tensor) -> Array:
    flat: Array = by_series(values).cpu().numpy()
    return flat


def _by_channel(values: Array, channels: int) -> Tensor:
    """Undo ``by_series``: turn ``(batch * channel, horizon, ...)`` into ``(batch, horizon, channel, ...)``."""
    return torch.from_numpy(np.ascontiguousarray(values)).view(-1, channels, *values.shape[1:]).transpose(1, 2)
