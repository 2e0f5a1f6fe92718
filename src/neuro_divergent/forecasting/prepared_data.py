"""Training data prepared for a task: read, checked, split into windows, with fitted scalers and row weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.io.source import Backend, backend_of
from neuro_divergent.data.lengths import check_lengths
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.panel_store.stored import is_stored_panel
from neuro_divergent.data.scaling.covariates import CovariateScaling
from neuro_divergent.data.scaling.series_fit import fit_series_scaler
from neuro_divergent.data.scaling.spreads import Spreads
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.splits import Split
from neuro_divergent.forecasting.fitted import FittedModel, build_batcher, build_spec
from neuro_divergent.forecasting.given_panel import with_categories_of
from neuro_divergent.forecasting.history import choose_season
from neuro_divergent.forecasting.row_weights import RowWeights, row_weights
from neuro_divergent.forecasting.task import Task
from neuro_divergent.models.base import Architecture

if TYPE_CHECKING:
    from neuro_divergent.forecasting.warm_start import Initial


@dataclass(frozen=True, eq=False)
class PreparedData:
    """A task on a panel.

    Attributes:
        task: The task, with nothing left open.
        spec: What the network is built for.
        panel: The series.
        split: Windows of its parts.
        scaler_params: Parameters of the series scaler.
        spreads: Usual scales of the windows of each series; ``None`` where windows are not scaled.
        covariates: Scaling of the covariates.
        weight: How much each row counts, or what computes it where rows are many.
        backend: Kind of the input table.
        initial: Model whose weights training starts from, if any.
    """

    task: Task
    spec: TaskSpec
    panel: Panel
    split: Split
    scaler_params: Array | None
    spreads: Spreads | None
    covariates: CovariateScaling
    weight: Array | RowWeights | None
    backend: Backend
    initial: Initial | None = None

    @classmethod
    def of(cls, task: Task, panel: Panel, backend: Backend) -> PreparedData:
        """Split a panel, fit scalers to its training part and compute row weights."""
        scaler, split = task.series_scaler, task.split(panel)
        params = None if scaler is None else fit_series_scaler(scaler, panel, split.train.ends)
        weight = row_weights(panel, task.weighting, split.train)
        spreads = None
        if task.scaler.has_scale:
            batcher = dataclasses.replace(build_batcher(task, panel, params), weight=weight)
            spreads = Spreads.fit(batcher, split.train)
        return cls(
            task=task,
            spec=build_spec(task, panel, panel.num_series if task.joint else 1),
            panel=panel,
            split=split,
            scaler_params=params,
            spreads=spreads,
            covariates=CovariateScaling.fit(panel, split.train.ends),
            weight=weight,
            backend=backend,
        )

    def name_row(self, batch: Any, row: int) -> str:
        """Name the series of a row of a batch, for messages."""
        if self.task.joint or batch.series is None:
            return f"row {row} of the batch"
        return f"series {self.panel.ids[int(batch.series[row])]!r}"

    def batcher(self, device: torch.device) -> WindowBatcher:
        """Return what makes batches for training."""
        spread = None if self.spreads is None else self.spreads.series
        plain = build_batcher(self.task, self.panel, self.scaler_params, spread, self.covariates, device)
        return dataclasses.replace(plain, weight=self.weight)


def prepare(
    architecture: Architecture, task: Task, data: Any, schema: Mapping[str, Any], before: FittedModel | None = None
) -> PreparedData:
    """Read and check the data, and resolve what the task left open.

    Args:
        architecture: What will be trained.
        task: What it is to forecast.
        data: As for ``Forecaster.fit``.
        schema: Fields of ``Schema``.
        before: Fitted model that training starts from; it decides what neither task nor schema say.
    """
    panel = read_panel(data, schema, before)
    if task.input_size is None:
        task = task.replace(input_size=task.history_for(panel) if before is None else before.task.input_size)
    if task.baseline is not None and architecture.traits.autoregressive:
        raise ConfigError(
            f"baseline: {architecture.name} forecasts each step from the step before, so no baseline can be added to "
            "its steps. Leave baseline out, or choose another model."
        )
    if task.baseline is not None:
        task = task.replace(season_length=choose_season(task, panel))
    joint = architecture.traits.mixes_channels if task.joint is None else task.joint
    if joint:
        panel.require_aligned()
        _refuse_covariates(panel)
    panel = check_lengths(panel, input_size=task.history, horizon=task.horizon)
    return PreparedData.of(task.replace(joint=joint), panel, backend_for(data))


def read_panel(data: Any, schema: Mapping[str, Any], before: FittedModel | None = None) -> Panel:
    """Read a table, if it is not a panel already.

    For a warm start its columns are those of the fitted model, unless others are given, and so are its categories.
    """
    if isinstance(data, Panel):
        return data if before is None else with_categories_of(data, before.context)
    if before is not None and is_stored_panel(data):
        return with_categories_of(load_panel(data, Schema(**schema)), before.context)
    names = Schema(**schema) if schema or before is None else before.context.schema
    if before is None or not before.context.categories:
        return load_panel(data, names)
    return build_panel(data, names, fitted=before.context)


def backend_for(data: Any) -> Backend:
    """Return the kind of table that forecasts are returned as: that of the input, Polars for a panel."""
    return "polars" if isinstance(data, Panel) else backend_of(data)


def _refuse_covariates(panel: Panel) -> None:
    """Refuse covariates that differ between series where a window holds them all; calendar features do not."""
    if panel.schema.covariates:
        names = ", ".join(repr(name) for name in panel.schema.covariates)
        raise ConfigError(
            f"windows that span all series cannot have covariates of each ({names}). Leave them out, or train with "
            "joint=False a model that takes one series at a time."
        )
