"""A trained network that forecasts windows, in the units of the data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from neuro_divergent.core.arrays import Array, Ints
from neuro_divergent.core.progress import track
from neuro_divergent.core.spec import Batch
from neuro_divergent.core.threads import using_threads
from neuro_divergent.data.announce import announce
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows, across
from neuro_divergent.forecasting.forecast_module import ForecastModule, require_intervals
from neuro_divergent.forecasting.uncertainty.copula import Copula
from neuro_divergent.forecasting.uncertainty.intervals import Intervals
from neuro_divergent.forecasting.uncertainty.paths import draws_paths
from neuro_divergent.forecasting.uncertainty.requested import RequestedQuantiles
from neuro_divergent.losses.base import Loss
from neuro_divergent.training.thread_count import network_threads

_ROWS = 4096  # windows that go through the network at once
_PATH_ROWS = 2**14  # steps of paths that go through it at once
Values = tuple[Tensor, Tensor | None]  # point, and quantiles if any are requested


@dataclass(frozen=True, eq=False)
class WindowForecasts:
    """Forecasts and observed values of many windows, in the units of the data.

    Attributes:
        series: Place of each window's series in the panel, ``(windows,)``.
        rows: First target row of each window in the panel, ``(windows,)``.
        point: Forecast, ``(windows, horizon)``.
        actual: Target, ``(windows, horizon)``.
        observed: Whether the target was observed, ``(windows, horizon)``.
        lower: Lower ends of the interval for each level in percent.
        upper: Upper ends.
        quantiles: Quantiles by their level, between 0 and 1.
    """

    series: Ints
    rows: Ints
    point: Array
    actual: Array
    observed: Array
    lower: dict[float, Array] = dataclasses.field(default_factory=dict)
    upper: dict[float, Array] = dataclasses.field(default_factory=dict)
    quantiles: dict[float, Array] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
        cls,
        windows: Windows,
        batcher: Any,
        requested: RequestedQuantiles,
        values: Callable[..., Values],
        numbers: range | None = None,
    ) -> WindowForecasts:
        """Forecast windows batch by batch, and add the observed values.

        Args:
            windows: The windows.
            batcher: What makes batches of them, for one network or for the members of an ensemble.
            requested: Which intervals and quantiles to give.
            values: Makes forecasts from a batch: ``Predictor.values``, or that of an ensemble.
            numbers: Which of the windows; unset, all.
        """
        panel, parts = windows.panel, []
        chosen = range(len(windows)) if numbers is None else numbers
        with track("Forecasting", len(chosen), "window") as shown:
            for first in chosen[::_ROWS]:
                series, rows = windows.locate(np.arange(first, min(first + _ROWS, chosen.stop)))
                if panel.is_memory_mapped:
                    panel.check_files()
                    if not batcher.joint:
                        announce_rows(panel, rows, batcher.input_size + windows.horizon)
                results = values(batcher, batcher.windows(series, rows), requested.all)
                if batcher.joint:
                    series, rows = across(panel, rows)
                made = (by_series(item).cpu().numpy() for item in results if item is not None)
                parts.append([series, rows + batcher.input_size, *made])
                shown.update(first + _ROWS - chosen.start)
        series, rows, points, *ends = (np.concatenate(part) for part in zip(*parts, strict=True))
        # Targets are read from the panel: scaling and its inverse would leave rounding errors in them, and a zero could
        # lie outside of an interval that ends at zero.
        actual, observed = panel.values_from(rows, points.shape[1])
        quantiles = np.moveaxis(ends[0], -1, 0) if ends else ()
        return cls(series, rows, points, actual, observed, **requested.by_name(quantiles))  # type: ignore[arg-type]


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
    def values(self, batcher: WindowBatcher, batch: Batch, quantiles: tuple[float, ...]) -> Values:
        """Return point ``(batch, horizon, channel)`` and quantiles (one more axis) in the units of the data."""
        size = batch.past_y.shape[:2]
        if size not in self._threads:
            self._threads[size] = network_threads(self.network, batch.past_y)
        with using_threads(self._threads[size]):
            return self._values(batcher, batch, quantiles)

    def _values(self, batcher: WindowBatcher, batch: Batch, quantiles: tuple[float, ...]) -> Values:
        module, scaler_params = self.module(batcher, quantiles), batcher.params_of(batch.series)
        if module.path_probabilities is None:
            return module.forecast(batch, scaler_params)
        # Paths are many: only so many windows go through the network at once.
        size, _, channels = batch.past_y.shape
        rows = max(1, _PATH_ROWS // (module.path_probabilities.shape[0] * channels))
        parts = []
        for first in range(0, size, rows):
            some = Batch._make(None if item is None else item[first : first + rows] for item in batch)
            parts.append(module.forecast(some, batcher.params_of(some.series)))
        return torch.cat([point for point, _ in parts]), torch.cat([bound for _, bound in parts if bound is not None])

    def module(self, batcher: WindowBatcher, quantiles: tuple[float, ...]) -> ForecastModule:
        """Return the module that forecasts a point and these quantiles, built once."""
        module = self._modules.get(quantiles)
        if module is None or module.scaling != batcher.scaling:
            with torch.inference_mode(mode=False):  # its constants are also used where gradients are computed
                module = ForecastModule(
                    self.network,
                    self.loss,
                    batcher.scaling,
                    covariates=batcher.covariates,
                    quantiles=quantiles,
                    intervals=self.intervals,
                    device=batcher.device,
                )
            self._modules[quantiles] = module
        return module

    @property
    def draws_paths(self) -> bool:
        """Whether paths come from the network itself, each step drawn given the steps before."""
        return draws_paths(self.network, self.loss)

    def around(self, point: Tensor, batcher: WindowBatcher, batch: Batch, quantile: Tensor) -> Tensor:
        """Return what lies around a point forecast, by errors on the validation part, on the network's scale.

        Args:
            point: Forecast, ``(batch, horizon, channel)``.
            batcher: What made the batch.
            batch: What was forecast from.
            quantile: Probabilities of the values to return, ``(draws, batch, horizon, channel)``.
        """
        offsets = require_intervals(self.intervals).offsets(quantile).to(point.dtype)
        if not batcher.scaler.applied and batch.scale is not None:
            offsets = offsets * batch.scale
        return point + offsets

    @cached_property
    def _modules(self) -> dict[tuple[float, ...], ForecastModule]:
        return {}

    @cached_property
    def _threads(self) -> dict[tuple[int, ...], int]:
        return {}


def announce_rows(panel: Panel, rows: Ints, size: int) -> None:
    """Have the rows of a panel on disk read that are needed next: ``size`` from each row on."""
    for array in (panel.y, panel.mask, panel.past_x, panel.future_x):
        announce(array, rows, size)


def by_series(values: Tensor) -> Tensor:
    """Turn ``(batch, horizon, channel, ...)`` into ``(batch * channel, horizon, ...)``."""
    return values.transpose(1, 2).flatten(0, 1)
