"""What forecasts the tables of a scoring job: an exported graph, or a model itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from neuro_divergent.core.errors import InputError, NeuroDivergentError
from neuro_divergent.core.storage.manifest import MANIFEST
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.io.source import read_table
from neuro_divergent.data.io.table import Table
from neuro_divergent.data.schema import Schema
from neuro_divergent.serving.export_file import stored_digest
from neuro_divergent.serving.exported_model import load
from neuro_divergent.serving.panel_inputs import ExportedGraph, TableForecaster
from neuro_divergent.serving.requested import RequestedOutput


@dataclasses.dataclass(frozen=True)
class Request:
    """What is forecast of each series.

    Attributes:
        levels: Central intervals, in percent.
        quantiles: Quantiles, between 0 and 1.
        horizon: Steps; ``None`` for those of training.
        changes: Fields of ``Schema`` that differ from those of training.
    """

    levels: tuple[float, ...] = ()
    quantiles: tuple[float, ...] = ()
    horizon: int | None = None
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Scorer(Protocol):
    """Forecasts tables.

    Attributes:
        schema: Roles and policies of the tables.
        frequency: Step between rows.
        version: Digest of the saved model.
        history: Rows at the end of each series that forecasts depend on; ``None`` for all.
        joint: Whether all series are forecast together.
        steps: Rows of forecasts of each series.
    """

    schema: Schema
    frequency: Frequency
    version: str
    history: int | None
    joint: bool
    steps: int

    def forecast(self, table: Table, future: Any) -> pl.DataFrame:
        """Return forecasts as ``predict`` does."""


class ExportedScorer:
    """Forecasts with an exported graph, without torch."""

    def __init__(self, model: ExportedGraph, request: Request) -> None:
        description = model.description
        requested = RequestedOutput.of(description, request.levels, request.quantiles, request.horizon)
        self._tables = TableForecaster(model, requested, changes=request.changes)
        self.steps = requested.horizon
        self.schema, self.frequency = self._tables.schema, self._tables.frequency
        self.version, self.joint = description.digest, description.joint
        self.history: int | None = description.input_size

    def forecast(self, table: Table, future: Any) -> pl.DataFrame:
        """Return forecasts; none where ``short`` is ``"drop"`` and every series is too short."""
        return self._tables.forecast(table, future, may_be_empty=True)


class ModelScorer:
    """Forecasts with a model that was not exported, as its ``predict`` does.

    Args:
        model: Any ``ForecastModel``.
        request: What to forecast.
        version: What tells this model from others, such as the digest of its manifest.

    Raises:
        InputError: If a setting is changed that only models of one network have.
    """

    def __init__(self, model: Any, request: Request, version: str) -> None:
        from neuro_divergent.forecasting.forecaster import Forecaster

        is_network = isinstance(model, Forecaster)
        given = [*request.changes, *(["horizon"] if request.horizon is not None else [])]
        if given and not is_network:
            raise InputError(f"{given[0]}: only models of one network have it; leave it out.")
        fitted, task = model.fitted, model.task
        if is_network:
            context = dataclasses.replace(fitted.context, schema=fitted.context.schema.replace(**request.changes))
            fitted = dataclasses.replace(fitted, context=context)
        self._model, self._fitted, self._request = model, fitted if is_network else None, request
        self.schema, self.frequency, self.version = fitted.context.schema, fitted.context.frequency, version
        self.joint, self.steps = bool(task.joint), request.horizon or task.horizon
        # A scaler without parameters is fitted to all rows, and other kinds of models may look at all of them.
        is_windowed = is_network and (task.series_scaler is None or fitted.scaler_params is not None)
        self.history: int | None = task.history if is_windowed else None

    def forecast(self, table: Table, future: Any) -> pl.DataFrame:
        """Return the forecasts as a table of polars."""
        levels, quantiles = self._request.levels, self._request.quantiles
        if self._fitted is None:
            return read_table(self._model.predict(table, future=future, levels=levels, quantiles=quantiles)).frame
        from neuro_divergent.forecasting.prediction_context import PredictionContext

        prepared = PredictionContext.of(self._fitted, table, future=future, horizon=self._request.horizon)
        return read_table(prepared.table(levels, quantiles)).frame


def open_scorer(model: Any, request: Request, *, version: str | None = None, threads: int = 1) -> Scorer:
    """Return what forecasts with a model.

    Args:
        model: An ``ExportedModel``, any ``ForecastModel``, or the path of an exported file, a model or a run. A model
            that was not exported needs torch.
        request: What to forecast.
        version: For a ``ForecastModel`` in memory: what tells it from others.
        threads: Processor threads of a graph.

    Raises:
        InputError: If there is no such model, or it cannot forecast what is requested.
    """
    if isinstance(model, (str, Path)):
        return _open_path(Path(model), request, threads)
    if hasattr(model, "description") and hasattr(model, "run"):
        return ExportedScorer(model, request)
    if version is None:
        raise InputError("pass version= with a model in memory: the column model_version names it, such as 'v3'.")
    return ModelScorer(model, request, version)


def _open_path(path: Path, request: Request, threads: int) -> Scorer:
    try:
        return ExportedScorer(load(path, threads=threads), request)
    except NeuroDivergentError:  # It was not exported, or is of another version, or has not what is requested.
        directory = next((place for place in (path, path / "model") if (place / MANIFEST).is_file()), None)
        if directory is None:
            raise
    from neuro_divergent.forecasting.load import load as load_model

    digest = stored_digest(directory)
    return ModelScorer(load_model(directory), request, digest)
