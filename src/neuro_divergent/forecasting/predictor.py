"""From the end of each series to a table of forecasts."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.spec import Batch
from neuro_divergent.core.threads import using_threads
from neuro_divergent.data.gather import Gather
from neuro_divergent.data.loader import Order
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.base import Array
from neuro_divergent.data.windows import Integers, Windows, across
from neuro_divergent.forecasting.copula import Copula
from neuro_divergent.forecasting.intervals import Intervals
from neuro_divergent.forecasting.paths import draw_paths, draws_paths, evenly_spread, forecast_from, quantiles_of
from neuro_divergent.losses.base import Loss
from neuro_divergent.training.thread_count import network_threads

_ROWS = 4096  # windows that go through the network at once
_PATH_ROWS = 2**14  # steps of paths that go through it at once


@dataclass(frozen=True, eq=False)
class WindowForecasts:
    """Forecasts of many windows beside what happened, in the units of the data.

    Attributes:
        series: Place of each window's series in the panel, ``(windows,)``.
        rows: First target row of each window in the panel, ``(windows,)``.
        point: Forecast, ``(windows, horizon)``.
        actual: What happened, ``(windows, horizon)``.
        observed: Whether that was observed, ``(windows, horizon)``.
        lower: Lower ends of the interval for each level in percent.
        upper: Upper ends.
        quantiles: Quantiles by their share.
    """

    series: Integers
    rows: Integers
    point: Array
    actual: Array
    observed: Array
    lower: dict[float, Array] = dataclasses.field(default_factory=dict)
    upper: dict[float, Array] = dataclasses.field(default_factory=dict)
    quantiles: dict[float, Array] = dataclasses.field(default_factory=dict)

    @classmethod
    def join(
        cls, panel: Panel, parts: list[list[Array]], levels: tuple[float, ...], quantiles: tuple[float, ...]
    ) -> WindowForecasts:
        """Put batches of forecasts together and beside what happened.

        Args:
            panel: The series.
            parts: For each batch series, first target rows, point and, where there are levels or quantiles, an array
                ``(windows, horizon, quantiles)``: both ends of each level, then the quantiles.
            levels: Central intervals that were asked for.
            quantiles: Quantiles that were asked for.
        """
        series, rows, points, *ends = (np.concatenate(part) for part in zip(*parts, strict=True))
        # What happened is read where it stands: scaling and its undoing would leave rounding errors in it, and a zero
        # could lie outside of an interval that ends at zero.
        actual, observed = panel.values_from(rows, points.shape[1])
        return cls(
            series,
            rows,
            points,
            actual,
            observed,
            lower={level: ends[0][..., 2 * place] for place, level in enumerate(levels)},
            upper={level: ends[0][..., 2 * place + 1] for place, level in enumerate(levels)},
            quantiles={share: ends[0][..., 2 * len(levels) + place] for place, share in enumerate(quantiles)},
        )


@dataclass(frozen=True, eq=False)
class Predictor:
    """A trained network and what turns its outputs into forecasts.

    Attributes:
        network: The trained network, in evaluation mode; its weights are final.
        loss: Says what the outputs mean.
        intervals: Errors on the validation part, or ``None`` when there was none.
        copula: How the steps of a path go together, where that was measured.
    """

    network: nn.Module
    loss: Loss
    intervals: Intervals | None
    copula: Copula | None = None

    def __post_init__(self) -> None:
        """Let parts of the network work out what stays the same from now on."""
        for part in self.network.modules():
            prepare = getattr(part, "prepare_to_forecast", None)
            if prepare is not None:
                prepare()

    @torch.inference_mode()
    def values(self, gather: Gather, batch: Batch, quantiles: tuple[float, ...]) -> tuple[Tensor, Tensor | None]:
        """Return point ``(batch, horizon, channel)`` and quantiles (one more axis) in the units of the data.

        Quantiles of a network that forecasts each step from the one before are those of paths, and its point is then
        their mean or median: given the point of the step before, a step is more certain than it is.
        """
        with using_threads(network_threads(self.network, batch.past_y)):
            return self._values(gather, batch, quantiles)

    def _values(self, gather: Gather, batch: Batch, quantiles: tuple[float, ...]) -> tuple[Tensor, Tensor | None]:
        native = self._native(quantiles)
        if native and self.draws_paths:
            return self._from_paths(gather, batch, native)
        forecast = self.loss.forecast(forecast_from(self.network, batch), native, batch)
        point = gather.restore(forecast.point, batch)
        if not quantiles:
            return point, None
        bounds = forecast.quantiles if native else self._measured(forecast.point, gather, batch, quantiles)
        assert bounds is not None
        bounds = gather.restore(bounds, batch)
        # Scaling and its undoing leave rounding errors in counts.
        return point, bounds.round() if native and self.loss.whole else bounds

    def windows(
        self, gather: Gather, windows: Windows, levels: tuple[float, ...] = (), quantiles: tuple[float, ...] = ()
    ) -> WindowForecasts:
        """Forecast every window, without training anything again."""
        wanted = (*(share for level in levels for share in ends_of(level)), *quantiles)
        parts: list[list[Array]] = []
        for numbers in Order(batch_size=_ROWS, shuffle=False).batches(len(windows), 0, 0):
            series, rows = windows.locate(numbers)
            batch = gather.windows(series, rows)
            point, bounds = self.values(gather, batch, wanted)
            if gather.joint:
                series, rows = across(gather.panel, rows)
            results = [point, *([] if bounds is None else [bounds])]
            parts.append([series, rows + gather.input_size, *(by_series(item).cpu().numpy() for item in results)])
        return WindowForecasts.join(gather.panel, parts, levels, quantiles)

    @property
    def draws_paths(self) -> bool:
        """Whether paths come from the network itself, each step drawn given the steps before."""
        return draws_paths(self.network, self.loss)

    def _from_paths(self, gather: Gather, batch: Batch, quantiles: tuple[float, ...]) -> tuple[Tensor, Tensor]:
        """Return point and quantiles of paths."""
        size, _, channels = batch.past_y.shape
        shares = evenly_spread(quantiles, gather.horizon, channels).to(batch.past_y.device)
        rows = max(1, _PATH_ROWS // (len(shares) * channels))
        points, bounds = [], []
        for first in range(0, size, rows):
            some = Batch._make(None if item is None else item[first : first + rows] for item in batch)
            paths = draw_paths(self.network, self.loss, some, shares)
            # Quantile losses have no setting for what the point is: it is their median.
            by_mean = getattr(self.loss, "point", "median") == "mean"
            points.append(paths.mean(0) if by_mean else quantiles_of(paths, (0.5,), whole=False).squeeze(-1))
            bounds.append(quantiles_of(paths, quantiles, whole=self.loss.whole))
        point, bound = (gather.restore(torch.cat(parts), batch) for parts in (points, bounds))
        return point, bound.round() if self.loss.whole else bound

    def _native(self, quantiles: tuple[float, ...]) -> tuple[float, ...]:
        """Return the quantiles that the loss forecasts by itself: all of those asked for, or none."""
        if self.loss.any_level:
            return quantiles
        own = self.loss.quantile_levels
        if not quantiles or not own:
            return ()
        known = [next((level for level in own if abs(level - wanted) < 1e-9), None) for wanted in quantiles]
        missing = [wanted for wanted, level in zip(quantiles, known, strict=True) if level is None]
        if missing:
            raise InputError(
                f"quantile {missing[0]:g} was not trained: the loss has {', '.join(f'{level:g}' for level in own)}. "
                f"Ask for those, or train with QuantileLoss([..., {missing[0]:g}])."
            )
        return tuple(level for level in known if level is not None)

    def _measured(self, point: Tensor, gather: Gather, batch: Batch, quantiles: tuple[float, ...]) -> Tensor:
        """Return quantiles around a point forecast from errors on the validation part, on the network's scale."""
        self._known_errors()
        offsets = torch.stack([self._offsets(quantile) for quantile in quantiles], dim=-1)[None, :, None, :]
        if not gather.scaler.applied and batch.scale is not None:
            offsets = offsets * batch.scale.unsqueeze(-1)
        return point.unsqueeze(-1) + offsets.to(point.device)

    def around(self, point: Tensor, gather: Gather, batch: Batch, share: Tensor) -> Tensor:
        """Return what lies around a point forecast, by errors on the validation part, on the network's scale.

        Args:
            point: Forecast, ``(batch, horizon, channel)``.
            gather: What made the batch.
            batch: What was forecast from.
            share: Shares that lie below what is wanted, ``(draws, batch, horizon, channel)``.
        """
        offsets = self._known_errors().offsets(share).to(point.dtype)
        if not gather.scaler.applied and batch.scale is not None:
            offsets = offsets * batch.scale
        return point + offsets

    def _known_errors(self) -> Intervals:
        if self.intervals is None:
            raise InputError(
                "intervals were not measured, because no series was long enough to hold out a validation part. Train "
                "with a QuantileLoss, or set validation to a smaller share."
            )
        return self.intervals

    def _offsets(self, quantile: float) -> Tensor:
        """Return how far a quantile lies from the point forecast at each step."""
        assert self.intervals is not None
        key = round(quantile, 9)
        if key not in self._cache:
            if abs(quantile - 0.5) < 1e-9:
                self._cache[key] = torch.zeros(self.intervals.errors.shape[1])
            else:
                width = self.intervals.half_widths(abs(2 * quantile - 1))
                self._cache[key] = width if quantile > 0.5 else -width
        return self._cache[key]

    @cached_property
    def _cache(self) -> dict[float, Tensor]:
        return {}


def ends_of(level: float) -> tuple[float, float]:
    """Return the two quantiles between which a central interval of ``level`` percent lies."""
    tail = (1 - level / 100) / 2
    return tail, 1 - tail


def by_series(values: Tensor) -> Tensor:
    """Turn ``(batch, horizon, channel, ...)`` into ``(batch * channel, horizon, ...)``."""
    return values.transpose(1, 2).flatten(0, 1)
