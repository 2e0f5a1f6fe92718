"""Runs a trial: all of its trainings, and the mean of their values."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neuro_divergent.core.errors import (
    DivergedError,
    NeuroDivergentError,
    OutOfMemoryError,
    StorageError,
)
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.runs.directory import CHECKPOINTS
from neuro_divergent.search.config import StudyConfig
from neuro_divergent.search.deadline import Deadline
from neuro_divergent.search.grouping import MOST_TRAININGS, Grouping, TrainedPart, why_not_trials
from neuro_divergent.search.limits import Limits
from neuro_divergent.search.naive_error import is_scale_free
from neuro_divergent.search.parameter import Point
from neuro_divergent.search.reporter import Reporter
from neuro_divergent.search.retention import TRIALS, Retention, run_directories
from neuro_divergent.search.settings import config_for
from neuro_divergent.search.storage.trial_store import TrialStore
from neuro_divergent.search.trial import MOST_ATTEMPTS, Trial
from neuro_divergent.search.trial_groups import TrialGroups, VectorizeError
from neuro_divergent.search.trial_part import TRIAL_CHECKPOINTS, TrialPart

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.evaluation.splitters.fold import Fold
    from neuro_divergent.forecasting.vectorized_fit import Vectorize


class PrunedError(NeuroDivergentError):
    """The pruner ended a trial."""


class TrialRunner:
    """Trains the networks of trials and records what comes of them.

    Args:
        config: Settings of the study.
        directory: Directory of the study.
        store: Where trials are recorded.
        panel: The data.
        threads: Threads that training may use; unset, what its settings say.
        deadline: When the time is up, in terms of ``time.monotonic``.
        vectorize: As for ``Study.run``.
    """

    def __init__(
        self,
        config: StudyConfig,
        directory: Path,
        store: TrialStore,
        panel: Panel,
        *,
        threads: int | None = None,
        deadline: float = float("inf"),
        vectorize: Vectorize = False,
    ) -> None:
        self._config, self._directory, self._store, self._panel = config, directory, store, panel
        self._threads, self._deadline = threads, deadline
        self._retention = Retention(directory, config.objectives, config.keep)
        self._folds: list[Fold | None] = [None]
        if config.splitter is not None:
            self._folds = list(config.splitter.split(panel))
        self._grouping = Grouping(config, store, vectorize, deadline)
        self._trained: dict[Path, TrainedPart] = {}  # of trials that were trained together and are not scored yet

    def run(self, trial: Trial) -> None:
        """Run a trial to its end and record it; one that was begun before goes on from its last checkpoint.

        Then models that are not among the best are removed.

        What goes wrong in the trial is recorded as its reason. What goes wrong with the disk, a signal or the deadline
        is raised, and the trial can be continued.
        """
        self._run(trial)
        self.remove_models()

    def remove_models(self) -> None:
        """Remove the models of trials that have ended and are not to be kept."""
        self._retention.apply(self._store.trials())

    def groups(self, limits: Limits, num_workers: int = 1) -> TrialGroups | None:
        """Return how trials are taken several at once, until limits are reached; ``None`` for one by one."""
        most = MOST_TRAININGS // (len(self._folds) * self._config.seeds)
        if most < 2 or why_not_trials(self._config, limits) is not None:
            return None
        return TrialGroups(most, num_workers, kind=self._kind, train=self._train_together)

    def _kind(self, point: Point) -> str | None:
        return self._grouping.kind(self.prepared(config_for(self._config.run, point)))

    def _train_together(self, trials: Sequence[Trial]) -> bool:
        """Train the networks of several trials in one step; return whether that was done, so that each is to be run."""
        parts = [part for trial in trials for part in self._parts(trial.name, trial.settings)]
        self._trained = self._grouping.train(parts)
        return bool(self._trained)

    def _run(self, trial: Trial) -> None:
        try:
            values = self._values(trial)
            self._remove_checkpoints(trial)
        except PrunedError as pruned:
            self._remove_checkpoints(trial)
            self._store.fail(trial.number, str(pruned), state="pruned")
        except (StorageError, VectorizeError):
            raise
        except DivergedError as error:
            self._store.fail(trial.number, f"diverged: {error}")
        except (OutOfMemoryError, MemoryError) as error:
            self._store.fail(trial.number, f"out of memory: {error}")
        except Exception as error:  # noqa: BLE001 (the search goes on, and the reason is recorded)
            if "out of memory" in str(error).lower() or "can't allocate memory" in str(error).lower():
                self._store.fail(trial.number, f"out of memory: {error}")
            else:
                self._store.fail(trial.number, f"{type(error).__name__}: {error}")
        else:
            self._store.complete(trial.number, values)

    def _values(self, trial: Trial) -> dict[str, float]:
        found: list[dict[str, float]] = []
        parts = list(self._parts(trial.name, trial.settings))
        goal, pruner = self._config.objectives[0], self._config.pruner
        trained = {part.directory: self._trained.pop(part.directory, None) for part in parts}
        if not any(trained.values()) and trial.attempts < MOST_ATTEMPTS:
            trained |= self._grouping.train(parts)
        for place, part in enumerate(parts):
            values = part.stored()
            together = trained[part.directory]
            if values is None and together is not None:
                values = part.score(together.result(), self._config.metrics, trained_together=together.size)
            elif values is None:
                reporter = None
                if len(parts) == 1 and pruner is not None:
                    reporter = Reporter(lambda step, value: self._store.report(trial.number, step, value), goal.sign)
                was_trained = part.is_trained  # by a process that died before it had recorded that
                ends = Deadline(self._deadline)
                scaled = reporter if is_scale_free(goal) else None
                forecaster = part.fit([ends] if reporter is None else [ends, reporter], scaled)
                if reporter is not None and (
                    reporter.is_pruned or (was_trained and self._store.should_prune(trial.number))
                ):
                    raise PrunedError("worse than other trials at the same step")
                values = part.score(forecaster, self._config.metrics)
            found.append(values)
            if len(parts) > 1 and pruner is not None:
                own = [item[goal.name] for item in found]
                value = own[-1] if pruner.by_instance else float(np.mean(own))
                if self._store.report(trial.number, place, value) and place + 1 < len(parts):
                    raise PrunedError(f"worse than other trials after {place + 1} of {len(parts)} trainings")
        total = {name: sum(item[name] for item in found) for name in ("seconds",)}
        return {name: float(np.mean([item[name] for item in found])) for name in found[0]} | total

    def _remove_checkpoints(self, trial: Trial) -> None:
        """Remove checkpoints of a trial that is over: they are as large as its model each, and of no use."""
        for path in run_directories(self._directory, trial):
            shutil.rmtree(path / CHECKPOINTS, ignore_errors=True)

    def _parts(self, name: str, point: Point) -> Iterator[TrialPart]:
        base = self.prepared(config_for(self._config.run, point))
        several = len(self._folds) > 1 or self._config.seeds > 1
        for fold in self._folds:
            for place in range(self._config.seeds):
                own = name
                if several:
                    own += "" if fold is None else f"-fold-{fold.number}"
                    own += f"-seed-{place}" if self._config.seeds > 1 else ""
                training = base.training.replace(seed=base.training.seed + place)
                checkpoints = base.checkpoints
                if checkpoints.directory is not None:  # a place that all trials share
                    checkpoints = checkpoints.replace(directory=f"{str(checkpoints.directory).rstrip('/')}/{own}")
                config = base.replace(training=training, checkpoints=checkpoints)
                yield TrialPart(self._directory / TRIALS / own, config, self._panel, fold)

    def prepared(self, config: RunConfig) -> RunConfig:
        """Return the settings of a trial: without a second training on all rows, and with few checkpoints."""
        own = config.resolve_training()
        training = own.training
        if self._threads is not None and (training.threads == "auto" or training.threads > self._threads):
            training = training.replace(threads=self._threads)
        is_default = own.checkpoints == RunConfig.model_fields["checkpoints"].default
        checkpoints = TRIAL_CHECKPOINTS if is_default else own.checkpoints
        return own.replace(task=own.task.replace(refit=False), training=training, checkpoints=checkpoints)
