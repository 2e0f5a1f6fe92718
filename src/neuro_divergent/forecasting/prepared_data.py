"""Training data prepared for a task: split into windows, with fitted scalers and row weights."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.data.batcher import WindowBatcher, fit_series_scaler
from neuro_divergent.data.io.source import Backend
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.covariates import CovariateScaling
from neuro_divergent.data.splits import Split
from neuro_divergent.forecasting.fitted import build_batcher
from neuro_divergent.forecasting.row_weights import row_weights
from neuro_divergent.forecasting.task import Task


@dataclass(frozen=True, eq=False)
class PreparedData:
    """A task on a panel.

    Attributes:
        task: The task, with nothing left open.
        spec: What the network is built for.
        panel: The series.
        split: Windows of its parts.
        scaler_params: Parameters of the series scaler.
        covariates: Scaling of the covariates.
        weight: How much each row counts.
        backend: Kind of the input table.
    """

    task: Task
    spec: TaskSpec
    panel: Panel
    split: Split
    scaler_params: Array | None
    covariates: CovariateScaling
    weight: Array | None
    backend: Backend

    @classmethod
    def of(cls, task: Task, panel: Panel, split: Split, backend: Backend) -> PreparedData:
        """Fit scalers to the training part and compute row weights."""
        scaler = task.series_scaler
        spec = TaskSpec(
            horizon=task.horizon,
            input_size=task.history,
            channels=panel.num_series if task.joint else 1,
            outputs=task.loss.outputs,
            past=panel.past,
            future=panel.future,
            static=panel.static,
        )
        return cls(
            task=task,
            spec=spec,
            panel=panel,
            split=split,
            scaler_params=None if scaler is None else fit_series_scaler(scaler, panel, split.train.ends),
            covariates=CovariateScaling.fit(panel, split.train.ends),
            weight=row_weights(panel, task.weighting, split.train),
            backend=backend,
        )

    def name_row(self, batch: Any, row: int) -> str:
        """Name the series of a row of a batch, for messages."""
        if self.task.joint or batch.series is None:
            return f"row {row} of the batch"
        return f"series {self.panel.ids[int(batch.series[row])]!r}"

    def batcher(self, device: torch.device) -> WindowBatcher:
        """Return what makes batches for training."""
        plain = build_batcher(self.task, self.panel, self.scaler_params, self.covariates, device)
        return dataclasses.replace(plain, weight=self.weight)
