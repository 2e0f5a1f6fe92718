"""What training leaves behind: all that a forecast needs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import polars as pl
import torch
from torch import nn

from neuro_divergent.core.errors import DataError
from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.io.source import Backend
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.base import Array
from neuro_divergent.data.scaling.covariates import CovariateScaling
from neuro_divergent.forecasting.predictor import Predictor
from neuro_divergent.forecasting.task import Task
from neuro_divergent.forecasting.uncertainty.paths import PointFeedback
from neuro_divergent.models.autoregressive import AutoregressiveNetwork
from neuro_divergent.models.base import Architecture
from neuro_divergent.models.reversible import ReversibleNetwork


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A trained network with its task and the end of each series.

    Attributes:
        task: The task, with nothing left to be decided.
        spec: What the network was built for.
        context: The last ``input_size`` rows of each series.
        predictor: Network, loss and measured errors.
        numbers: Fitted numbers of the series scaler, one row per series of ``context``.
        covariates: Scaling of the covariates.
        device: Where the network is.
        backend: Kind of table that came in: ``polars``, ``pandas`` or ``pyarrow``.
        history: Losses, rates and speeds of training.
        environment: Versions, machine, device and threads of training.
    """

    task: Task
    spec: TaskSpec
    context: Panel
    predictor: Predictor
    numbers: Array | None
    covariates: CovariateScaling
    device: torch.device
    backend: Backend
    history: pl.DataFrame
    environment: dict[str, Any]

    def gather(self, panel: Panel) -> WindowBatcher:
        """Return what makes batches from a panel for this network.

        Raises:
            DataError: If a series was not in training although the series scaler knows only those.
        """
        numbers = self.numbers if panel.ids is self.context.ids else self._numbers_of(panel)
        return build_batcher(self.task, panel, numbers, self.covariates, self.device)

    def _numbers_of(self, panel: Panel) -> Array | None:
        if self.numbers is None:
            return None
        places = {name: place for place, name in enumerate(self.context.ids.to_list())}
        unknown = [name for name in panel.ids.to_list() if name not in places]
        if unknown:
            raise DataError(
                f"series {unknown[0]!r} not in training data, so its {self.task.series_scaler} was never fitted "
                f"({len(unknown)} series affected). Train on it, or train without series_scaler."
            )
        rows: Array = self.numbers[[places[name] for name in panel.ids.to_list()]]
        return rows

    def with_context(self, panel: Panel) -> FittedModel:
        """Return the same model at the end of other series."""
        context = panel.tail(self.task.history)
        return dataclasses.replace(self, context=context, numbers=self._numbers_of(context))


def build_batcher(
    task: Task, panel: Panel, numbers: Array | None, covariates: CovariateScaling, device: torch.device
) -> WindowBatcher:
    """Return what makes batches from a panel for a task, with what its scalers were fitted to."""
    return WindowBatcher(
        panel,
        task.history,
        task.horizon,
        task.scaler,
        series_scaler=task.series_scaler,
        fitted=numbers,
        covariates=covariates,
        joint=bool(task.joint),
        device=device,
    )


def build_network(architecture: Architecture, task: Task, spec: TaskSpec) -> nn.Module:
    """Return a fresh network for a task."""
    network = architecture.build(spec)
    if isinstance(network, AutoregressiveNetwork):
        network.feedback = PointFeedback(task.loss)
        # Given forecasts instead, a step is less certain than the distribution that is learned says: validation would
        # prefer networks that are never certain.
        network.shown_in_validation = task.loss.traits.probabilistic
    return ReversibleNetwork(network, spec.channels) if task.scaler.reversible else network
