"""A training run from the data to the report."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.prepared_data import PreparedData
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.forecasting.training_run import TrainingRun
from neuro_divergent.runs.directory import RunDirectory
from neuro_divergent.training.callbacks.base import CallbackLike
from neuro_divergent.workflow.outcome import USUAL_LEVELS, Outcome, conclude
from neuro_divergent.workflow.results import write_results


def train_run(
    config: RunConfig,
    run: str | Path,
    data: Any = None,
    *,
    levels: Sequence[float] = USUAL_LEVELS,
    callbacks: Sequence[CallbackLike] = (),
) -> Outcome:
    """Train what a config describes in a new directory, and write everything that ``nd train`` writes there.

    Args:
        config: All settings of the run.
        run: Directory to create.
        data: As for ``Forecaster.fit``; the file that the settings name if left out.
        levels: Intervals to forecast, in percent; those that cannot be given are left out with a note.
        callbacks: Further ones.
    """
    training_run = TrainingRun.new(RunDirectory(Path(run)), config.resolve_training())
    forecaster = Forecaster.for_run(training_run.config)
    prepared = training_run.prepare(forecaster, data)
    teacher = None if config.teacher is None else Forecaster.load(config.teacher)
    with training_run.opened():
        return train_opened(training_run, forecaster, prepared, levels=levels, callbacks=callbacks, teacher=teacher)


def train_opened(
    run: TrainingRun,
    forecaster: Forecaster,
    prepared: PreparedData,
    *,
    levels: Sequence[float] = USUAL_LEVELS,
    callbacks: Sequence[CallbackLike] = (),
    teacher: Forecaster | None = None,
    state: Mapping[str, Any] | str | Path | None = None,
) -> Outcome:
    """Train in a run directory that is open, then write scores, forecasts, diagnosis and report there.

    The caller holds the lock of the run (``run.opened()``). The forecaster is trained in place on ``prepared`` data, on
    from the checkpoint ``state`` if there is one. ``levels`` and ``callbacks`` are those of ``train_run``. Where
    several processes train together, the first one writes.
    """
    began = time.perf_counter()
    run.train(forecaster, prepared, callbacks=callbacks, teacher=teacher, state=state)
    outcome = conclude(run.config.resolve_model(), forecaster, levels=levels, seconds=time.perf_counter() - began)
    return dataclasses.replace(outcome, files=write_results(run.directory, outcome)) if run.is_main else outcome
