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
from neuro_divergent.data.gather import Gather
from neuro_divergent.data.loader import Order
from neuro_divergent.data.scaling.base import Array
from neuro_divergent.data.windows import Integers, Windows
from neuro_divergent.forecasting.intervals import Intervals
from neuro_divergent.losses.base import Loss

_ROWS = 4096  # windows that go through the network at once


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


@dataclass(frozen=True, eq=False)
class Predictor:
    """A trained network and what turns its outputs into forecasts.

    Attributes:
        network: The trained network, in evaluation mode; its weights are final.
        loss: Says what the outputs mean.
        intervals: Errors on the validation part, or ``None`` when there was none.
    """

    network: nn.Module
    loss: Loss
    intervals: Intervals | None

    def __post_init__(self) -> None:
        """Let parts of the network work out what stays the same from now on."""
        for part in self.network.modules():
            prepare = getattr(part, "prepare_to_forecast", None)
            if prepare is not None:
                prepare()

    @torch.inference_mode()
    def values(self, gather: Gather, batch: Batch, quantiles: tuple[float, ...]) -> tuple[Tensor, Tensor | None]:
        """Return point ``(batch, horizon, channel)`` and quantiles (one more axis) in the units of the data."""
        native = self._native(quantiles)
        forecast = self.loss.forecast(self.network(batch), native, batch)
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
            assert batch.future_y is not None
            actual = gather.restore(batch.future_y, batch)
            seen = torch.ones_like(actual) if batch.future_mask is None else batch.future_mask
            if gather.joint:
                count, length = gather.panel.num_series, int(gather.panel.lengths[0])
                series = np.tile(np.arange(count), len(rows))
                rows = (rows[:, None] + length * np.arange(count)).reshape(-1)
            results = [point, actual, seen, *([] if bounds is None else [bounds])]
            parts.append([series, rows + gather.input_size, *(by_series(item).cpu().numpy() for item in results)])
        series, rows, points, actuals, observed, *ends = (np.concatenate(part) for part in zip(*parts, strict=True))
        return WindowForecasts(
            series,
            rows,
            points,
            actuals,
            observed > 0,
            lower={level: ends[0][..., 2 * place] for place, level in enumerate(levels)},
            upper={level: ends[0][..., 2 * place + 1] for place, level in enumerate(levels)},
            quantiles={share: ends[0][..., 2 * len(levels) + place] for place, share in enumerate(quantiles)},
        )

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
        if self.intervals is None:
            raise InputError(
                "intervals were not measured, because no series was long enough to hold out a validation part. Train "
                "with a QuantileLoss, or set validation to a smaller share."
            )
        offsets = torch.stack([self._offsets(quantile) for quantile in quantiles], dim=-1)[None, :, None, :]
        if not gather.scaler.applied and batch.scale is not None:
            offsets = offsets * batch.scale.unsqueeze(-1)
        return point.unsqueeze(-1) + offsets.to(point.device)

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
