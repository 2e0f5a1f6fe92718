"""The state of a fitted forecaster: all that a forecast needs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import nn

from neuro_divergent.core.arrays import Array, Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.core.progress import track
from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.data.batcher import WindowBatcher, fit_series_scaler
from neuro_divergent.data.io.source import Backend
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.covariates import CovariateScaling
from neuro_divergent.data.scaling.spreads import Spreads
from neuro_divergent.data.windows import Windows
from neuro_divergent.forecasting.context_file import without_series
from neuro_divergent.forecasting.predictor import Predictor, WindowForecasts
from neuro_divergent.forecasting.task import Task
from neuro_divergent.forecasting.trained_on import TrainedOn
from neuro_divergent.forecasting.uncertainty.paths import PointFeedback
from neuro_divergent.forecasting.uncertainty.requested import RequestedQuantiles
from neuro_divergent.models.autoregressive import AutoregressiveNetwork
from neuro_divergent.models.base import Architecture
from neuro_divergent.models.baseline import SeasonalNaiveNetwork
from neuro_divergent.models.reversible import ReversibleNetwork

_CPU = torch.device("cpu")
_MANY = 2**14  # series whose names are looked up by a join
_MOST_COPIED = 2**22  # values of the ends of series on disk that are copied to forecast from


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A trained network with its task and the end of each series.

    Attributes:
        task: The task, with nothing left open.
        spec: What the network was built for.
        context: The last ``input_size`` rows of each series; without any series if the model was saved without them.
        predictor: Network, loss and measured errors.
        scaler_params: Parameters of the series scaler, one row per series of ``context``; ``None`` without a series
            scaler or without series.
        spreads: Usual scales of windows; ``None`` where windows are not scaled, and in models of earlier versions.
        covariates: Scaling of the covariates.
        device: Where the network is.
        backend: Kind of the input table: ``polars``, ``pandas`` or ``pyarrow``.
        history: Losses, rates and speeds of training.
        environment: Versions, machine, device and threads of training.
        trained_on: What the weights come from; ``None`` in models of earlier versions.
    """

    task: Task
    spec: TaskSpec
    context: Panel
    predictor: Predictor
    scaler_params: Array | None
    spreads: Spreads | None
    covariates: CovariateScaling
    device: torch.device
    backend: Backend
    history: pl.DataFrame
    environment: dict[str, Any]
    trained_on: TrainedOn | None = None

    @property
    def has_context(self) -> bool:
        """Whether it holds the ends of series, to forecast without other data."""
        return self.context.num_series > 0

    def batcher(self, panel: Panel, until: Ints | None = None) -> WindowBatcher:
        """Return what makes batches from a panel for this network.

        Args:
            panel: The series.
            until: For a model without context, whose series scaler is fitted to the panel: the row of each series to
                stop before, such as its first target; unset, all rows count.

        Raises:
            DataError: If a series was not in training although the series scaler knows only those, or if there are
                more or fewer series than a network that takes all of them at once was trained for.
        """
        if self.task.joint and panel.num_series != self.spec.channels:
            raise DataError(
                f"this model forecasts {self.spec.channels} series at once, and the data have {panel.num_series}. Pass "
                "the series it was trained on."
            )
        is_context = panel.ids is self.context.ids
        params = self.scaler_params if is_context else self._scaler_params_of(panel, until)
        spread = self._spread_of(panel, params, until)
        return build_batcher(self.task, panel, params, spread, self.covariates, self.device)

    def forecast_windows(
        self, windows: Windows, levels: Sequence[float] = (), quantiles: Sequence[float] = ()
    ) -> WindowForecasts:
        """Forecast many windows of a panel, together with the observed values."""
        batcher = self.batcher(windows.panel, until=windows.begins)
        requested = RequestedQuantiles(levels, quantiles)
        return WindowForecasts.of(windows, batcher, requested, self.predictor.values)

    def forecast_blocks(
        self, windows: Windows, levels: Sequence[float] = (), quantiles: Sequence[float] = (), *, size: int
    ) -> Iterator[WindowForecasts]:
        """Forecast many windows of a panel as ``forecast_windows`` does, ``size`` of them at a time."""
        batcher = self.batcher(windows.panel, until=windows.begins)
        requested = RequestedQuantiles(levels, quantiles)
        with track("Forecasting", len(windows), "window") as shown:
            for first in range(0, len(windows), size):
                shown.update(first)
                numbers = range(first, min(first + size, len(windows)))
                yield WindowForecasts.of(windows, batcher, requested, self.predictor.values, numbers)
            shown.update(len(windows))

    def _spread_of(self, panel: Panel, scaler_params: Array | None, until: Ints | None = None) -> Array | None:
        """Return the usual scale of windows of each series of a panel; of a new one, that of its last history."""
        if self.spreads is None:
            return None
        known = self.spreads.series
        if known is not None and (panel.ids is self.context.ids or panel.ids.equals(self.context.ids)):
            return known
        spread = np.full(panel.num_series, np.nan)
        if known is not None:
            places = self._places_of(panel.ids)
            spread = np.where(places < 0, np.nan, known[places])
        new = np.flatnonzero(np.isnan(spread))
        if not len(new):
            return spread
        ends = panel.offsets[1:] if until is None else np.clip(until, panel.offsets[:-1], panel.offsets[1:])
        spread[new] = self.spreads.of_others(build_batcher(self.task, panel, scaler_params), new, ends)
        return spread

    def _scaler_params_of(self, panel: Panel, until: Ints | None = None) -> Array | None:
        if self.task.series_scaler is None:
            return None
        if self.scaler_params is None:
            ends = panel.offsets[1:] if until is None else np.clip(until, panel.offsets[:-1], panel.offsets[1:])
            return fit_series_scaler(self.task.series_scaler, panel, ends)
        places = self._places_of(panel.ids)
        unknown = np.flatnonzero(places < 0)
        if len(unknown):
            raise DataError(
                f"series {panel.ids[int(unknown[0])]!r} not in training data, so its {self.task.series_scaler} was "
                f"never fitted ({len(unknown)} series affected). Train on it, or train without series_scaler."
            )
        rows: Array = self.scaler_params[places]
        return rows

    def _places_of(self, ids: pl.Series) -> Ints:
        """Return the places of series in the context, -1 for those that are not there."""
        known = self.context.ids
        if max(len(ids), len(known)) >= _MANY and ids.dtype == known.dtype:
            # A join makes no Python object for each name.
            places = pl.DataFrame({"id": known, "place": np.arange(len(known))}).unique("id", keep="last")
            found = ids.alias("id").to_frame().join(places, on="id", how="left", maintain_order="left")
            return found["place"].fill_null(-1).to_numpy().astype(np.int64)
        names = self._places
        return np.array([names.get(name, -1) for name in ids.to_list()], np.int64)

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {name: place for place, name in enumerate(self.context.ids.to_list())}

    def with_context(self, panel: Panel) -> FittedModel:
        """Return the same model at the end of other series.

        Without parameters of the series scaler, they are fitted to all rows of these series. The ends of many series on
        disk are left there.
        """
        params = self._scaler_params_of(panel)
        spreads, spread = self.spreads, self._spread_of(panel, params)
        if spreads is not None:
            spreads = dataclasses.replace(spreads, series=spread)
        stays = panel.is_memory_mapped and panel.num_series * self.task.history > _MOST_COPIED
        context = panel if stays else panel.tail(self.task.history)
        return dataclasses.replace(self, context=context, scaler_params=params, spreads=spreads)

    def part(self, first: int, end: int) -> FittedModel:
        """Return the same model at the end of some of its series, which follow each other."""
        params, spreads = self.scaler_params, self.spreads
        if spreads is not None and spreads.series is not None:
            spreads = dataclasses.replace(spreads, series=spreads.series[first:end])
        return dataclasses.replace(
            self,
            context=self.context.part(first, end),
            scaler_params=None if params is None else params[first:end],
            spreads=spreads,
        )

    def without_context(self) -> FittedModel:
        """Return the same model without values, ids and times of series.

        Kept are the weights, the scaling of covariates and windows over all series, the values of categorical
        covariates, ranks of validation errors, and the errors themselves as at most 199 quantiles for each step.
        """
        intervals = self.predictor.intervals
        predictor = dataclasses.replace(self.predictor, intervals=None if intervals is None else intervals.summarized())
        spreads = None if self.spreads is None else dataclasses.replace(self.spreads, series=None)
        return dataclasses.replace(
            self,
            context=without_series(self.context),
            scaler_params=None,
            spreads=spreads,
            predictor=predictor,
            trained_on=None if self.trained_on is None else self.trained_on.without_range(),
        )

    def summary(self, num_parameters: int) -> str:
        """Return what was fitted, in a few words."""
        series = f"on {self.context.num_series:,} series" if self.has_context else "without context"
        return f"fitted {series}, {num_parameters:,} parameters"

    @property
    def holds(self) -> dict[str, str]:
        """What it contains that comes from the training data, by name."""
        context, predictor = self.context, self.predictor
        found = {"weights": f"{num_parameters(predictor.network):,} parameters of the network"}
        found["history"] = "losses and metrics of training"
        if self.has_context:
            found["series"] = f"ids, times and the last {self.task.history} rows of {context.num_series:,} series"
        if self.trained_on is not None and self.trained_on.target_range is not None:
            found["target_range"] = "lowest and highest target of the training rows"
        if self.scaler_params is not None:
            found["scaler_params"] = "parameters of the series scaler for each series"
        if self.spreads is not None:
            whose = "medians over all series" if self.spreads.series is None else "for each series"
            found["spreads"] = f"usual scale of windows, {whose}"
        if scaled := [feature.name for role in (context.past, context.future, context.static) for feature in role]:
            found["covariate_scaling"] = f"mean and standard deviation over all series of {', '.join(scaled)}"
        if context.categories:
            found["categories"] = f"values of {', '.join(context.categories)}"
        if predictor.intervals is not None:
            count = len(predictor.intervals.errors)
            found["errors"] = f"{count:,} absolute validation errors, or quantiles of them, for each step"
        if predictor.copula is not None:
            found["ranks"] = "ranks of validation errors by step"
        return found


def num_parameters(network: nn.Module) -> int:
    """Return how many numbers training adjusts."""
    return sum(parameter.numel() for parameter in network.parameters())


def build_batcher(
    task: Task,
    panel: Panel,
    scaler_params: Array | None,
    spread: Array | None = None,
    covariates: CovariateScaling | None = None,
    device: torch.device = _CPU,
) -> WindowBatcher:
    """Return what makes batches from a panel for a task, with fitted scalers."""
    return WindowBatcher(
        panel,
        task.history,
        task.horizon,
        task.scaler,
        series_scaler=task.series_scaler,
        scaler_params=scaler_params,
        spread=spread,
        covariates=covariates or CovariateScaling(),
        joint=bool(task.joint),
        device=device,
    )


def build_spec(task: Task, panel: Panel, channels: int) -> TaskSpec:
    """Return what a network for a task is built for, on the covariates of a panel."""
    return TaskSpec(
        horizon=task.horizon,
        input_size=task.history,
        channels=channels,
        outputs=task.loss.outputs,
        past=panel.past,
        future=panel.future,
        static=panel.static,
    )


def build_network(architecture: Architecture, task: Task, spec: TaskSpec) -> nn.Module:
    """Return a new network for a task."""
    network = architecture.build(spec)
    if isinstance(network, AutoregressiveNetwork):
        network.feedback = PointFeedback(task.loss)
        # Fed with its own forecasts, a network is less certain than its one-step distribution: validation would prefer
        # networks with distributions that are too wide.
        network.shown_in_validation = task.loss.traits.probabilistic
    if task.baseline is not None:
        assert task.season_length is not None, "it is set when data are prepared"
        network = SeasonalNaiveNetwork(network, spec, task.season_length)
    return ReversibleNetwork(network, spec.channels) if task.scaler.reversible else network
