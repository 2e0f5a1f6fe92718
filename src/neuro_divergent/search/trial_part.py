"""One training of a trial: a seed, and a fold if there are folds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import DivergedError, UntrustedFileError
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.core.storage.regular_file import read_json
from neuro_divergent.core.storage.strict_json import dumps
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.forecasting.training_run import TrainingRun
from neuro_divergent.runs.directory import CHECKPOINTS, SCORES, RunDirectory
from neuro_divergent.search.naive_error import naive_errors
from neuro_divergent.search.objective import RESOURCES, levels_for
from neuro_divergent.search.reporter import Reporter
from neuro_divergent.training.callbacks.base import CallbackLike
from neuro_divergent.training.callbacks.checkpointing import Checkpointing

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.data.panel import Panel
    from neuro_divergent.evaluation.splitters.fold import Fold
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.forecasting.prepared_data import PreparedData

RESULT = "trial.json"
# One checkpoint is enough to go on from, and the best weights are in it.
TRIAL_CHECKPOINTS = Checkpointing(every_epochs=None, every_seconds=30.0, keep=1)
_LIMIT = 1 << 20
_TIMED_WINDOWS, _TIMINGS = 256, 3


@dataclass(frozen=True, eq=False)
class TrialPart:
    """One training of a trial, in a run directory of its own.

    Attributes:
        directory: The run.
        config: Its settings.
        panel: All data.
        fold: What to train on and what to score; ``None`` for the training and validation part of the task.
    """

    directory: Path
    config: RunConfig
    panel: Panel
    fold: Fold | None = None

    def stored(self) -> dict[str, float] | None:
        """Return the values of a part that is finished, or ``None``."""
        path = self.directory / RESULT
        try:
            found = read_json(path, _LIMIT) if path.is_file() else None
        except UntrustedFileError:
            return None
        return {str(key): float(value) for key, value in found.items()} if isinstance(found, dict) else None

    @property
    def is_trained(self) -> bool:
        """Whether training has come to its end."""
        return RunDirectory(self.directory).is_finished

    @property
    def needs_training(self) -> bool:
        """Whether neither its values nor its model are known; the models of most trials are removed."""
        return not self.is_trained and self.stored() is None

    def checkpoints(self) -> dict[int, Callable[[], dict[str, Any]]]:
        """Return functions that read the checkpoints of the run, by step."""
        from neuro_divergent.training.checkpointing.checkpoint import read_checkpoint, step_of

        place = self.directory / CHECKPOINTS
        steps = {step_of(path.name): path for path in place.glob("*")} if place.is_dir() else {}
        return {step: partial(read_checkpoint, path) for step, path in steps.items() if step is not None}

    def run(self) -> TrainingRun:
        """Return the run: new, or to be resumed."""
        directory = RunDirectory(self.directory)
        if directory.has_begun:
            return TrainingRun.resumed(directory, self.config)
        return TrainingRun.new(directory, self.config)

    def prepare(self, forecaster: Forecaster) -> PreparedData:
        """Return the data that a forecaster with these settings is trained on."""
        from neuro_divergent.evaluation.cross_validation.fold_task import training_part

        panel = self.panel if self.fold is None else training_part(forecaster.task, self.fold, self.panel)
        return forecaster._prepare(panel, {})

    def fit(self, callbacks: Sequence[CallbackLike] = (), scaled: Reporter | None = None) -> Forecaster:
        """Train from the start or from the latest checkpoint; a model that is trained is loaded.

        Args:
            callbacks: Further callbacks.
            scaled: The one of them that reports errors divided by the naive error of each series.
        """
        from neuro_divergent.forecasting.forecaster import Forecaster

        run = self.run()
        forecaster = Forecaster.for_run(run.config)
        prepared = self.prepare(forecaster)
        if run.is_complete:  # a process died after training and before scoring
            forecaster = run.load_model()
            forecaster.panel, forecaster.split = prepared.panel, prepared.split
            return forecaster
        run.check_data(prepared.panel)
        if scaled is not None:
            scaled.scale = naive_errors(prepared.panel, prepared.split.train.ends)
            scaled.joint = bool(prepared.task.joint)
        with run.opened():
            run.train(forecaster, prepared, callbacks=callbacks, state=run.load_state())
        return forecaster

    def score(self, forecaster: Forecaster, metrics: Sequence[str], *, trained_together: int = 1) -> dict[str, float]:
        """Return metrics and all resources, and store them.

        Args:
            forecaster: What was trained.
            metrics: Names of metrics.
            trained_together: Trainings that its seconds of training were shared with, itself included.
        """
        values = {
            "parameters": float(forecaster.num_parameters),
            "seconds": _seconds(forecaster) / trained_together,
            **self._score(forecaster, [name for name in metrics if name not in RESOURCES]),
        }
        for name, value in values.items():
            if not math.isfinite(value):
                raise DivergedError(f"{name} is {value} on what was held out")
        write_file(self.directory / RESULT, dumps(values, indent=1))
        return values

    def _score(self, forecaster: Forecaster, metrics: list[str]) -> dict[str, float]:
        """Forecast what was held out, and return metrics and the latency."""
        from neuro_divergent.evaluation.cross_validation.cross_validation import scores_of
        from neuro_divergent.evaluation.cross_validation.fold_task import windows_to_test
        from neuro_divergent.evaluation.cross_validation.forecast_values import FORECAST, name_rows, values_of
        from neuro_divergent.evaluation.evaluate import evaluate
        from neuro_divergent.workflow.results import as_json

        levels = levels_for(metrics)
        if self.fold is None:
            assert forecaster.split is not None
            assert forecaster.panel is not None
            evaluation = evaluate(forecaster, part="validation", levels=levels)
            write_file(self.directory / SCORES, as_json(evaluation.to_dict()))  # which 'nd runs' shows
            windows, panel, frame = forecaster.split.validation, forecaster.panel, evaluation.forecasts
        else:
            panel = self.panel
            windows = windows_to_test(forecaster.task, self.fold, panel)
            frame = name_rows(values_of(forecaster.forecast_windows(windows, levels)), panel)
        found: dict[str, float] = {}
        if metrics:
            scores: pl.DataFrame = scores_of(frame, panel, [FORECAST], metrics, panel.frequency.season_length, None)
            found = {name: _value(scores, name) for name in metrics}
        return {**found, "latency": _latency(forecaster, windows)}


def _value(scores: pl.DataFrame, name: str) -> float:
    """Return a score; a metric without a level has the only column that begins with its name."""
    key = name.lower()
    column = next(item for item in scores.columns if item == key or item.startswith(f"{key}-"))
    value = scores[column][0]
    return float("nan") if value is None else float(value)


def _seconds(forecaster: Forecaster) -> float:
    """Return how long training took, without time in which nobody trained."""
    history = forecaster.history
    found: Any = history["seconds"].max() if history.height and "seconds" in history.columns else None
    return float(found or 0.0)


def _latency(forecaster: Forecaster, windows: Any) -> float:
    """Return the milliseconds to forecast one window, the least of three measurements of up to 256 at once."""
    from neuro_divergent.evaluation.cross_validation.window_list import WindowList

    few = WindowList.sample(windows, _TIMED_WINDOWS)
    times = []
    for _ in range(_TIMINGS):
        began = time.perf_counter()
        forecaster.forecast_windows(few)
        times.append(time.perf_counter() - began)
    return 1000 * min(times) / max(len(few), 1)
