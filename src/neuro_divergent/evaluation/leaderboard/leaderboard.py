"""Leaderboard: models trained on a public data set and ranked on its test part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from neuro_divergent.core.errors import InputError
from neuro_divergent.evaluation.comparison.comparison import Comparison, compare
from neuro_divergent.evaluation.cross_validation.cross_validation import CrossValidation, Progress, cross_validate
from neuro_divergent.evaluation.cross_validation.forecast_values import history_of
from neuro_divergent.evaluation.leaderboard.preset import Preset
from neuro_divergent.evaluation.scoring.score import score
from neuro_divergent.evaluation.splitters.time_series import TimeSeriesSplit

if TYPE_CHECKING:
    from neuro_divergent.forecasting.forecaster import Forecaster

MODELS = ("nlinear", "dlinear", "nhits")
METRICS = ("mae", "smape", "mase")
_NAIVE2 = "naive2"
_KEYS = ["unique_id", "ds", "cutoff", "step"]


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Results of a leaderboard.

    Attributes:
        preset: What was compared: the data set, and how it is split.
        table: A row per model and baseline, the best first: ``model``, ``values``, the metrics (``owa`` where the data
            set has the reference forecasts) and the ``seconds`` of training and forecasting.
        comparison: Comparison of the models, with significance tests.
        forecasts: Every forecast of the test part.
    """

    preset: Preset
    table: pl.DataFrame
    comparison: Comparison
    forecasts: pl.DataFrame


def run_leaderboard(
    preset: Preset,
    data: str | Path,
    models: Sequence[str] | Mapping[str, Forecaster] = MODELS,
    *,
    metrics: Sequence[str] = METRICS,
    training: Any = "auto",
    settings: Mapping[str, Any] | None = None,
    jobs: int = 1,
    store: str | Path | None = None,
    progress: Progress | None = None,
) -> Leaderboard:
    """Train models on a data set and score them on its test part.

    Training does not use the test rows. Each model is trained once; the windows of the test part are one horizon apart
    and forecast in one pass.

    Args:
        preset: The data set.
        data: Directory with its files.
        models: Names of architectures, or a dict of forecasters by name, with the horizon of the preset.
        metrics: Names of metrics; the table is sorted by the first one.
        training: How architectures given by name are trained, as for ``Forecaster``.
        settings: Further fields of ``TrainingConfig`` for those, such as ``max_steps``.
        jobs: Number of worker processes.
        store: Directory in which results of finished models are stored, from which an interrupted run resumes.
        progress: Called as by ``cross_validate``.

    Examples:
        >>> import neuro_divergent as nd
        >>> from neuro_divergent.evaluation.leaderboard.preset import Preset
        >>> nd.datasets.air_passengers().write_parquet("flights.parquet")
        >>> sizes = {"horizon": 6, "input_size": 24, "season_length": 12, "test": 12, "validation": 12}
        >>> preset = Preset(name="flights", title="Airline passengers", files=("flights.parquet",), **sizes)
        >>> board = nd.evaluation.run_leaderboard(preset, ".", ["nlinear"], settings={"max_steps": 5})
        >>> sorted(board.table["model"])
        ['drift', 'last value', 'nlinear', 'seasonal naive']
        >>> board.table.columns
        ['model', 'values', 'mae', 'smape', 'mase', 'seconds']
    """
    table = preset.load(Path(data))
    forecasters = models if isinstance(models, Mapping) else _forecasters(preset, models, training, settings or {})
    with_future, without_future = _by_use_of_covariates(preset, forecasters)
    known: dict[str, Any] = {"future": list(preset.future), "calendar": list(preset.calendar)}
    groups: tuple[tuple[dict[str, Forecaster], dict[str, Any]], ...] = ((with_future, known), (without_future, {}))
    found = [
        cross_validate(
            group,
            table,
            TimeSeriesSplit(n_splits=1, test_size=preset.test),
            metrics=metrics,
            jobs=jobs,
            store=store,
            progress=progress,
            season_length=preset.season_length,
            frequency=preset.frequency,
            **covariates,
        )
        for group, covariates in groups
        if group
    ]
    return _ranked(preset, found, metrics, preset.naive2(Path(data)))


def _by_use_of_covariates(
    preset: Preset, forecasters: Mapping[str, Forecaster]
) -> tuple[dict[str, Forecaster], dict[str, Forecaster]]:
    """Separate the forecasters that can use the future covariates of the preset from those that cannot."""
    if not preset.future and not preset.calendar:
        return dict(forecasters), {}
    with_future = {name: item for name, item in forecasters.items() if item.architecture.traits.future_x}
    return with_future, {name: item for name, item in forecasters.items() if name not in with_future}


def _forecasters(
    preset: Preset, names: Sequence[str], training: Any, settings: Mapping[str, Any]
) -> dict[str, Forecaster]:
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.training.config import TrainingConfig

    if not names:
        raise InputError("models: name at least one; 'nd models' lists them.")
    chosen = TrainingConfig.preset(training) if isinstance(training, str) else training or TrainingConfig()
    return {
        name: Forecaster(
            name,
            horizon=preset.horizon,
            input_size=preset.input_size,
            validation=preset.validation,
            training=chosen.replace(**settings),
        )
        for name in names
    }


def _ranked(
    preset: Preset, found: Sequence[CrossValidation], metrics: Sequence[str], naive2: pl.DataFrame | None
) -> Leaderboard:
    forecasts = _joined(found)
    metrics = list(metrics)
    reference = None
    if naive2 is not None:
        forecasts = forecasts.join(naive2, on=["unique_id", "step"], how="left", maintain_order="left")
        metrics, reference = [*metrics, "owa"], _NAIVE2
    history = history_of(found[0].panel)
    season = preset.season_length
    scores = score(forecasts, metrics=metrics, train=history, season_length=season, reference=reference)
    spent = {name: taken for result in found for name, taken in result.seconds.items()}
    seconds = pl.DataFrame({"model": list(spent), "seconds": list(spent.values())})
    table = scores.join(seconds, on="model", how="left").sort(metrics[0], nulls_last=True)
    comparison = compare(forecasts, metrics[0], train=history, season_length=season)
    return Leaderboard(preset, table, comparison, forecasts)


def _joined(found: Sequence[CrossValidation]) -> pl.DataFrame:
    """Return the forecasts of several cross-validations, of the same folds, as one table."""
    first, *others = found
    joined: pl.DataFrame = first.forecasts
    for other in others:
        added = other.forecasts.select(*_KEYS, *other.models)
        joined = joined.join(added, on=_KEYS, maintain_order="left")
    return joined
