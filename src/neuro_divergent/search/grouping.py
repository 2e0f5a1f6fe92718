"""Trainings of trials that are done in one step for all of them."""

from __future__ import annotations

import hashlib
import json
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neuro_divergent.core.errors import ConfigError, DivergedError, StorageError, UntrustedFileError
from neuro_divergent.core.signals import SignalListener
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.runs.directory import MODEL
from neuro_divergent.search.config import StudyConfig
from neuro_divergent.search.deadline import Deadline
from neuro_divergent.search.limits import Limits
from neuro_divergent.search.storage.trial_store import TrialStore
from neuro_divergent.search.trial_groups import VectorizeError, VectorizeWarning
from neuro_divergent.search.trial_part import TRIAL_CHECKPOINTS, TrialPart

if TYPE_CHECKING:
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.forecasting.training_phases import TrainingPhases
    from neuro_divergent.forecasting.vectorized_fit import Vectorize, VectorizedFit

MOST_TRAININGS = 8  # of several trials in one step
_SMALL_COPIES = 256 * 1024**2  # bytes of the series, in as many copies as there are folds
_SECONDS = "seconds"
# A process that is killed while checkpoints are written leaves some of that step and some of the one before.
_CHECKPOINTS = TRIAL_CHECKPOINTS.replace(keep=2)


class TrainedPart(NamedTuple):
    """A training that was done together with others.

    Attributes:
        forecaster: What was trained.
        size: How many were trained together.
        error: Why it ended early, if it did.
    """

    forecaster: Forecaster
    size: int
    error: DivergedError | None

    def result(self) -> Forecaster:
        """Return the forecaster, or raise what ended its training."""
        if self.error is not None:
            raise self.error
        return self.forecaster


class Grouping:
    """Trains parts of trials in one step for all of them, where they are alike and that is faster.

    Each has a run directory of its own, with settings, events, history, checkpoints and model. After a kill, a signal
    or the deadline the same trainings go on together from the last step of which all have a checkpoint, and end with
    the same weights. Whether it is faster is measured once for each kind of network; the storage has the result, so
    that it is the same after a kill.

    Args:
        config: Settings of the study.
        store: Its trials.
        vectorize: As for ``Study.run``.
        deadline: When the time is up, in terms of ``time.monotonic``.
    """

    def __init__(self, config: StudyConfig, store: TrialStore, vectorize: Vectorize, deadline: float) -> None:
        self._store, self._deadline = store, deadline
        self._is_forced = vectorize is True
        self._is_off = vectorize is False or why_not_parts(config) is not None

    def kind(self, config: RunConfig) -> str | None:
        """Return the same text for all settings of a run that can be trained together.

        ``None`` if they are trained by themselves: that was found to be faster, or it is not possible otherwise.
        """
        from neuro_divergent.training.vectorized.support import shared_settings

        if self._is_off or self._unsupported(config) is not None:
            return None
        shared = [config.architecture.to_dict(), config.task.to_dict(), shared_settings(config.training)]
        text = hashlib.sha256(json.dumps(shared, sort_keys=True, default=str).encode()).hexdigest()[:16]
        return None if not self._is_forced and self._store.vectorize_reason(text) else text

    def train(self, parts: Sequence[TrialPart]) -> dict[Path, TrainedPart]:
        """Train parts together, and return those that were, by their directories.

        Those that are trained already are trained again with the others, so that these get the weights that they would
        have got without a kill, but not written again.

        Raises:
            VectorizeError: If ``vectorize=True`` and it is not possible.
        """
        from neuro_divergent.forecasting.vectorized_fit import same_batch_size

        if self._is_off or len(parts) < 2 or not any(part.needs_training for part in parts):
            return {}
        kind = self.kind(parts[0].config)
        if kind is None or not self._has_room(parts):
            if self._is_forced and (reason := self._unsupported(parts[0].config)):
                raise _refused(parts[0], reason)
            return {}
        trained: dict[Path, TrainedPart] = {}
        try:
            phases = _phases(parts)
            by_forecaster = {id(phase.forecaster): part for phase, part in zip(phases, parts, strict=True)}
            for fit in same_batch_size(phases):
                if len(fit.phases) > 1 and not self._reason(fit, kind, parts[0]):
                    own = [by_forecaster[id(phase.forecaster)] for phase in fit.phases]
                    try:
                        states = _common_states(fit, own)
                    except UntrustedFileError:  # a damaged checkpoint: by itself each goes on from the one before
                        states = None
                    if states is not None:
                        trained |= self._train(fit, own, states)
        except (StorageError, VectorizeError):
            raise
        except Exception as error:
            if self._is_forced:
                raise
            # By itself each has its own error, if it has one: several need more memory than one, for instance.
            reason = f"{type(error).__name__}: {error}"
            self._store.set_vectorize_reason(kind, reason)
            warnings.warn(f"trials failed in one step, and are trained one by one: {reason}", VectorizeWarning, 2)
        return trained

    def _unsupported(self, config: RunConfig) -> str | None:
        from neuro_divergent.training.vectorized.support import unsupported_setting

        if config.checkpoints != TRIAL_CHECKPOINTS:
            return "checkpoints are set, and those of a group are written at the same steps"
        return unsupported_setting(config.training)

    def _has_room(self, parts: Sequence[TrialPart]) -> bool:
        """Whether the data of all folds fit into memory at once."""
        folds = {id(part.fold) for part in parts}
        return len(folds) == 1 or self._is_forced or parts[0].panel.y.nbytes * len(folds) <= _SMALL_COPIES

    def _reason(self, fit: VectorizedFit, kind: str, part: TrialPart) -> str | None:
        """Return why they are trained one after the other; measure it, if nobody has."""
        known = None if self._is_forced else self._store.vectorize_reason(kind)
        if known is None:
            known = fit.why_not(forced=self._is_forced) or ""
            if known and self._is_forced:
                raise _refused(part, known)
            self._store.set_vectorize_reason(kind, known)
        return known

    def _train(
        self, fit: VectorizedFit, parts: Sequence[TrialPart], states: Sequence[dict[str, Any]]
    ) -> dict[Path, TrainedPart]:
        """Train in the run directories of the parts, and save the models."""
        trained: dict[Path, TrainedPart] = {}
        with ExitStack() as all_runs:
            runs, is_known = [], set()
            for part, phase, training in zip(parts, fit.phases, fit.first, strict=True):
                training.trainer.callbacks = [Deadline(self._deadline)]
                opened = all_runs.enter_context(ExitStack())
                if not part.needs_training:
                    is_known.add(part)
                    continue
                run = part.run()
                run.check_data(phase.prepared.panel)
                opened.enter_context(run.opened())
                run.begin(phase.prepared)
                training.trainer.callbacks += run.directory.vectorized_callbacks(_CHECKPOINTS)
                runs.append((part, opened))
            # One that is only there for the others writes nothing, so it has no callbacks to load the state of.
            states = [
                {**state, "callbacks": []} if part in is_known else state
                for part, state in zip(parts, states, strict=bool(states))
            ]
            with _interruptible(fit):
                errors = dict(zip(parts, fit.train(states), strict=True))
            forecasters = dict(zip(parts, (phase.forecaster for phase in fit.phases), strict=True))
            for part, opened in runs:
                trained[part.directory] = found = TrainedPart(forecasters[part], len(parts), errors[part])
                try:
                    with opened:  # which writes how the run ended
                        found.result().save(part.directory / MODEL)
                except DivergedError:
                    continue
                found.forecaster.run = part.directory
        return trained


def why_not_parts(config: StudyConfig) -> str | None:
    """Return why trainings of a study are done one by one whatever they are, or ``None``."""
    if _SECONDS in config.constraints or any(goal.name == _SECONDS for goal in config.objectives):
        return "the time of each is measured"
    return None


def why_not_trials(config: StudyConfig, limits: Limits) -> str | None:
    """Return why trials of a study are not trained together with others, or ``None``."""
    if config.method.learns:
        return f"{config.method.name} looks at the result of one before it proposes the next"
    if config.pruner is not None:
        return f"the pruner {config.pruner.name} compares each with those that ended before"
    if limits.target_value is not None or limits.patience is not None:
        return "each may be the last, by its result"
    return why_not_parts(config)


def require_groups(config: StudyConfig, limits: Limits, vectorize: Vectorize) -> None:
    """Refuse ``vectorize=True`` where nothing can be trained together.

    Raises:
        ConfigError: With the reason.
    """
    if vectorize is not True:
        return
    has_parts = config.seeds > 1 or config.splitter is not None
    reason = why_not_parts(config) if has_parts else why_not_trials(config, limits)
    if reason is not None:
        raise ConfigError(f"vectorize: trials are not trained together: {reason}. Leave vectorize out.")


def _refused(part: TrialPart, reason: str) -> VectorizeError:
    return VectorizeError(f"vectorize: {part.config.architecture.name} cannot be trained so: {reason}.")


def _phases(parts: Sequence[TrialPart]) -> list[TrainingPhases]:
    """Return what each has to do; the data of each fold are prepared once."""
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.forecasting.training_phases import TrainingPhases

    prepared, found = {}, []
    for part in parts:
        forecaster = Forecaster.for_run(part.config)
        if id(part.fold) not in prepared:
            prepared[id(part.fold)] = part.prepare(forecaster)
        found.append(TrainingPhases(forecaster, prepared[id(part.fold)]))
    return found


def _common_states(fit: VectorizedFit, parts: Sequence[TrialPart]) -> list[dict[str, Any]] | None:
    """Return the checkpoints of all parts at the last step that all have, or none to begin at the start.

    A training that was over before that step has its last one. ``None`` if there are checkpoints, but not of one step:
    those parts were trained by themselves, and go on so.
    """
    found = [part.checkpoints() for part in parts]
    if not any(found):
        return []
    ends = []  # of those that are over
    for steps, training in zip(found, fit.first, strict=True):
        last = steps[max(steps)]() if steps else None
        total = training.trainer.config.total_steps(len(training.train))
        is_over = last is not None and (last["state"]["stop_reason"] is not None or last["state"]["step"] >= total)
        ends.append(max(steps) if is_over else None)
    for step in sorted(set().union(*found), reverse=True):
        chosen = [step if step in steps else end for steps, end in zip(found, ends, strict=True)]
        if all(own is not None and own <= step for own in chosen):
            return [steps[own]() for steps, own in zip(found, chosen, strict=True) if own is not None]
    return None


@contextmanager
def _interruptible(fit: VectorizedFit) -> Iterator[None]:
    """Let a signal end training between two steps; signals are handled in the main thread only."""

    def receive(name: str) -> None:
        for training in fit.first:
            training.trainer.interrupt(name)

    is_main = threading.current_thread() is threading.main_thread()
    listener = SignalListener(("SIGINT", "SIGTERM") if is_main else (), receive, "search")
    listener.start()
    try:
        yield
    finally:
        listener.stop()
