"""Trained models that forecast together."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.io.source import Backend
from neuro_divergent.data.loader import Order
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.base import Array
from neuro_divergent.data.splits import Split
from neuro_divergent.data.windows import Integers, Windows, across
from neuro_divergent.forecasting.ensemble.combination import Answer, Combination, Shares, accuracy_weights
from neuro_divergent.forecasting.fitted import FittedModel
from neuro_divergent.forecasting.predictor import WindowForecasts, by_series, interval_quantiles
from neuro_divergent.forecasting.task import Task
from neuro_divergent.forecasting.uncertainty.intervals import Intervals, check_levels, check_quantiles
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

    def windows(self, series: Integers, rows: Integers) -> tuple[Batch, ...]:
        """Return windows with their targets for each member, from the series and the first history row of each."""
        each = across(self.members[0].panel, rows) if self.joint else (series, rows)
        batches = []
        for gather in self.members:
            places, begins = (series, rows) if gather.joint else each
            batches.append(gather.windows(places, begins + self.input_size - gather.input_size))
        return tuple(batches)


@dataclass(frozen=True, eq=False)
class FittedEnsemble:
    """Trained members, how they are combined, and what was measured of the whole.

    It answers what ``FittedModel`` and its predictor answer, so that it can be evaluated, and teach, like one model.

    Attributes:
        members: The trained members, at the end of the same series.
        combination: How their answers become one.
        intervals: Errors of the whole on the validation part, where intervals come from them.
        backend: Kind of table that came in.
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
            loss=QuantileLoss(sorted(fixed)) if self.combination.shares_work else base.loss,
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

    def gather(self, panel: Panel) -> EnsembleBatcher:
        """Return what makes batches from a panel for all members."""
        gathers = tuple(member.gather(panel) for member in self.members)
        return EnsembleBatcher(gathers, self.task.history, bool(self.task.joint))

    def values(
        self, gather: EnsembleBatcher, batches: tuple[Batch, ...], quantiles: Shares
    ) -> tuple[Tensor, Tensor | None]:
        """Return point ``(batch, horizon, channel)`` and quantiles (one more axis) in the units of the data."""
        channels = gather.members[0].panel.num_series if gather.joint else 1
        point, bounds = self._values(gather, batches, quantiles)
        return _by_channel(point, channels), None if bounds is None else _by_channel(bounds, channels)

    def forecast_windows(self, windows: Windows, levels: Shares = (), quantiles: Shares = ()) -> WindowForecasts:
        """Forecast many windows of a panel beside what happened.

        Windows with less history than the whole reads are left out.
        """
        check_levels(levels)
        check_quantiles(quantiles)
        wanted = (*(share for level in levels for share in interval_quantiles(level)), *quantiles)
        gather = self.gather(windows.panel)
        windows = dataclasses.replace(windows, input_size=gather.input_size, joint=gather.joint)
        if not len(windows):
            raise InputError("there is no window to forecast.")
        parts: list[list[Array]] = []
        for numbers in Order(batch_size=_ROWS, shuffle=False).batches(len(windows), 0, 0):
            series, rows = windows.locate(numbers)
            batches = gather.windows(series, rows)
            point, bounds = self._values(gather, batches, wanted)
            if gather.joint:
                series, rows = across(windows.panel, rows)
            parts.append([series, rows + gather.input_size, point, *([] if bounds is None else [bounds])])
        return WindowForecasts.join(windows.panel, parts, levels, quantiles)

    def split(self, panel: Panel) -> Split:
        """Cut a panel so that no member has learnt from what is held out."""
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
        """Return the same members, weighted by how accurate each is on windows."""
        weights = accuracy_weights(self._squared_errors(windows))
        return dataclasses.replace(self, combination=dataclasses.replace(self.combination, weights=weights))

    def with_intervals(self, windows: Windows) -> FittedEnsemble:
        """Return the same with errors of the whole measured on windows, if intervals are to come from them."""
        if not self.combination.is_measured:
            return self
        dense = dataclasses.replace(windows, step=1)
        windows = dataclasses.replace(windows, step=max(1, len(dense) // _MOST))
        gather, errors = self.gather(windows.panel), []
        for numbers in Order(batch_size=_ROWS, shuffle=False).batches(len(windows), 0, 0):
            batches = gather.windows(*windows.locate(numbers))
            point, _ = self._values(gather, batches, ())
            errors.append(self._relative_errors(gather, batches, point))
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

    def _values(self, gather: EnsembleBatcher, batches: tuple[Batch, ...], wanted: Shares) -> Answer:
        """Return point ``(windows * channels, horizon)`` and quantiles (one more axis)."""
        answers: list[Answer] = []
        questions = self.combination.questions(wanted)
        for member, own, batch, asked in zip(self.members, gather.members, batches, questions, strict=True):
            found, bounds = member.predictor.values(own, batch, asked)
            answers.append((_flat(found), None if bounds is None else _flat(bounds)))
        point, quantiles = self.combination.answer(wanted, answers)
        if wanted and quantiles is None:
            quantiles = self.around(gather.members[self.lead_place], batches[self.lead_place], point, wanted)
        return point, quantiles

    def around(self, gather: WindowBatcher, batch: Batch, point: Array, quantiles: Shares) -> Array:
        """Return quantiles around point forecasts ``(windows * channels, steps)`` from measured errors.

        Args:
            gather: What made the batch for the leading member.
            batch: What that member sees.
            point: Forecasts of the whole.
            quantiles: Shares to give.
        """
        offsets = torch.stack([self._offsets(share) for share in quantiles], -1)[None, : point.shape[1], None, :]
        if not gather.scaler.applied and batch.scale is not None:
            offsets = offsets * batch.scale.cpu().unsqueeze(-1)
        with torch.inference_mode():
            points = _by_channel(point, batch.past_y.shape[2]).to(batch.past_y.device)
            scaled = gather.rescale(points, batch).unsqueeze(-1) + offsets.to(points.device)
            return _flat(gather.restore(scaled, batch))

    def _offsets(self, share: float) -> Tensor:
        """Return how far a quantile lies from the point at each step."""
        if self.intervals is None:
            raise InputError(
                "intervals of an ensemble are measured on a validation part, and there was none. Train it with "
                "validation set to a share or a number of rows, calibrate it, or train members with quantiles."
            )
        if abs(share - 0.5) < 1e-9:
            return torch.zeros(self.intervals.errors.shape[1])
        width = self.intervals.half_widths(abs(2 * share - 1))
        return width if share > 0.5 else -width

    def _relative_errors(self, gather: EnsembleBatcher, batches: tuple[Batch, ...], point: Array) -> Tensor:
        """Return absolute errors on the scale of the leading member; NaN where nothing was observed."""
        own, batch = gather.members[self.lead_place], batches[self.lead_place]
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
        gather, count = self.gather(windows.panel), windows.panel.num_series
        sums, seen = np.zeros((len(self.members), count)), np.zeros(count)
        for numbers in Order(batch_size=_ROWS, shuffle=False).batches(len(windows), 0, 0):
            series, rows = windows.locate(numbers)
            batches = gather.windows(series, rows)
            if gather.joint:
                series, rows = across(windows.panel, rows)
            actual, observed = windows.panel.values_from(rows + gather.input_size, windows.horizon)
            seen += np.bincount(series, observed.sum(1), minlength=count)
            for place, (member, own, batch) in enumerate(zip(self.members, gather.members, batches, strict=True)):
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
