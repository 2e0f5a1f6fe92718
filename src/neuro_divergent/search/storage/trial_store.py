"""The trials of a study in a storage of Optuna: written by workers, read by everybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from neuro_divergent.core.threads import using_threads
from neuro_divergent.search.config import StudyConfig
from neuro_divergent.search.dependency import load_optuna, without_warnings
from neuro_divergent.search.methods.base import trial_seed
from neuro_divergent.search.parameter import Parameter, Point
from neuro_divergent.search.pruners.base import REPORTS
from neuro_divergent.search.reading.trial_record import (
    ATTEMPTS,
    PROPOSAL,
    REASON,
    REFUSED,
    STOPPED,
    VALUES,
    TrialRecord,
)
from neuro_divergent.search.space import Space
from neuro_divergent.search.storage.claims import Claims, FileClaims
from neuro_divergent.search.storage.open import open_storage
from neuro_divergent.search.trial import State, Trial

_QUEUE, _VECTORIZE = "queue", "vectorize"


class TrialStore:
    """Reads and writes the trials of a study.

    Args:
        config: Settings of the study.
        name: Name of the study in its storage.
        directory: Directory of the study.
        space: Its space, for the settings that are not searched.
        queue: Points that were enqueued before the study was begun.
    """

    def __init__(
        self, config: StudyConfig, name: str, directory: Path, space: Space, queue: Sequence[Point] = ()
    ) -> None:
        self.config, self.name, self.space = config, name, space
        self._first = list(queue)
        self._directory = directory
        self._optuna = load_optuna()
        self.storage, self._close = open_storage(config.storage, directory)
        with without_warnings():
            self._optuna.create_study(
                study_name=name,
                storage=self.storage,
                directions=[goal.direction for goal in config.objectives],
                load_if_exists=True,
            )
        self._study_id = self.storage.get_study_id_from_name(name)
        self._done: dict[int, Trial] = {}  # those that have ended do not change

    def claims(self) -> Claims:
        """Return what tells which process runs which trial."""
        if self.config.storage.startswith("postgresql"):
            from neuro_divergent.search.storage.postgresql_claims import PostgreSQLClaims

            return PostgreSQLClaims(self.config.storage, self.name)
        return FileClaims(self._directory)

    def close(self) -> None:
        """Close the connections to a database."""
        self._close()

    def trials(self) -> list[Trial]:
        """Return all trials, in the order in which they were begun."""
        found = self.storage.get_all_trials(self._study_id, deepcopy=False)
        for item in found:
            if item.number not in self._done and item.state.is_finished():
                self._done[item.number] = self._read(item)
        trials = [self._done.get(item.number) or self._read(item) for item in found]
        return sorted(trials, key=lambda trial: trial.number)

    def trial(self, number: int) -> Trial:
        """Return one trial as it is now."""
        return self._read(self.storage.get_trial(self._id(number)))

    def queue(self) -> list[Point]:
        """Return the points that were enqueued, those that were tried included."""
        return [*self._first, *self._enqueued()]

    def enqueue(self, point: Point) -> None:
        """Add a point to be tried before the method proposes more; the caller has exclusive access."""
        self.storage.set_study_user_attr(self._study_id, _QUEUE, [*self._enqueued(), point])

    def vectorize_reason(self, kind: str) -> str | None:
        """Return why trainings of a kind are done one after the other; empty if not, ``None`` if not known yet."""
        found = self.storage.get_study_user_attrs(self._study_id).get(f"{_VECTORIZE} {kind}")
        return None if found is None else str(found)

    def set_vectorize_reason(self, kind: str, reason: str) -> None:
        """Record why trainings of a kind are done one after the other; empty if they are done together."""
        self.storage.set_study_user_attr(self._study_id, f"{_VECTORIZE} {kind}", reason)

    def begin(self) -> int:
        """Begin a trial, whose point is still to be proposed, and return its number."""
        return int(self.storage.get_trial_number_from_id(self.storage.create_new_trial(self._study_id)))

    def record_point(self, number: int, point: Point, origin: str) -> None:
        """Record the point of a trial.

        The point is written in one piece before Optuna's parameters are, so that a trial has all of it or nothing.
        """
        trial_id = self._id(number)
        self.storage.set_trial_user_attr(trial_id, PROPOSAL, {"point": point, "origin": origin})
        known = self.storage.get_trial(trial_id).params
        for item in self.space:
            if item.setting in point and item.is_active(point) and item.key not in known:
                distribution = item.dimension.distribution()
                value = distribution.to_internal_repr(item.dimension.encode(point[item.setting]))
                self.storage.set_trial_param(trial_id, item.key, value, distribution)

    def sample(self, number: int) -> Point:
        """Return the point that the sampler of the method proposes for a trial; nothing of it is recorded."""
        frozen = self.storage.get_trial(self._id(number))
        # Several threads make Gaussian processes ten times slower.
        with without_warnings(), using_threads(1) if self.config.method.uses_torch else nullcontext():
            sampler = self.config.method.sampler(trial_seed(self.config.seed, number))
            study = self._study(sampler)
            sampler.before_trial(study, frozen)
            together = sampler.infer_relative_search_space(study, frozen)
            relative = sampler.sample_relative(study, frozen, together)

            def choose(item: Parameter) -> Any:
                distribution = item.dimension.distribution()
                if distribution.single():
                    return item.dimension.grid()[0]
                value = relative.get(item.key)
                if value is None:
                    value = sampler.sample_independent(study, frozen, item.key, distribution)
                return item.dimension.nearest(item.dimension.decode(value))

            return self.space.walk(choose)

    def set_attempts(self, number: int, attempts: int) -> None:
        """Record how often a trial was begun."""
        self.storage.set_trial_user_attr(self._id(number), ATTEMPTS, attempts)

    def stop(self, number: int, reason: str) -> None:
        """Record that a trial is not run for the time being, and why; for Optuna it is still running."""
        trial_id = self._id(number)
        self.storage.set_trial_user_attr(trial_id, REASON, reason)
        self.storage.set_trial_user_attr(trial_id, STOPPED, True)

    def resume(self, number: int) -> None:
        """Record that a trial that was stopped is run again."""
        trial_id = self._id(number)
        self.storage.set_trial_user_attr(trial_id, REASON, "")
        self.storage.set_trial_user_attr(trial_id, STOPPED, False)

    def report(self, number: int, step: int, value: float) -> bool:
        """Record a result of a running trial, and return whether the pruner would end it."""
        self.storage.set_trial_intermediate_value(self._id(number), step, value)
        return self.should_prune(number, before=None)

    def should_prune(self, number: int, before: int | None = REPORTS) -> bool:
        """Whether the pruner would end a trial after its last report, unless that is the last one before ``before``."""
        pruner, trial = self.config.pruner, self.storage.get_trial(self._id(number))
        if pruner is None or trial.last_step is None or (before is not None and trial.last_step >= before):
            return False
        parts = num_parts(self.config)
        with without_warnings():
            built = pruner.build(REPORTS if parts == 1 else parts or REPORTS)
            return bool(built.prune(self._study(None), trial))

    def complete(self, number: int, values: Mapping[str, float]) -> None:
        """Record the values of a trial, and that it is complete."""
        trial_id = self._id(number)
        self.storage.set_trial_user_attr(trial_id, VALUES, dict(values))
        with without_warnings():
            if self.config.constraints:
                trial = self._optuna.trial.Trial(self._study(self._optuna.samplers.RandomSampler(seed=0)), trial_id)
                for name, limit in self.config.constraints.items():
                    trial.set_constraint(name, values[name] - limit)
            self._tell(number, "COMPLETE", [values[goal.name] for goal in self.config.objectives])

    def fail(self, number: int, reason: str, *, state: State = "failed") -> None:
        """Record that a trial has no values, and why."""
        trial_id = self._id(number)
        self.storage.set_trial_user_attr(trial_id, REASON, reason)
        if state == "refused":
            self.storage.set_trial_user_attr(trial_id, REFUSED, True)
        with without_warnings():
            self._tell(number, "PRUNED" if state == "pruned" else "FAIL", None)

    def optuna_study(self) -> Any:
        """Return the study as an object of Optuna, to look at."""
        with without_warnings():
            return self._study(None)

    def _enqueued(self) -> list[Point]:
        return list(self.storage.get_study_user_attrs(self._study_id).get(_QUEUE, []))

    def _tell(self, number: int, state: str, values: Sequence[float] | None) -> None:
        study = self._study(self._optuna.samplers.RandomSampler(seed=0))
        study.tell(number, values, state=self._optuna.trial.TrialState[state])

    def _study(self, sampler: Any) -> Any:
        """Return a new object for the study, because one that exists may have old trials in its cache."""
        return self._optuna.load_study(study_name=self.name, storage=self.storage, sampler=sampler)

    def _id(self, number: int) -> int:
        return int(self.storage.get_trial_id_from_study_id_trial_number(self._study_id, number))

    def _read(self, item: Any) -> Trial:
        record = TrialRecord(
            number=item.number,
            state=item.state.name,
            attributes=item.user_attrs,
            started=None if item.datetime_start is None else item.datetime_start.timestamp(),
            finished=None if item.datetime_complete is None else item.datetime_complete.timestamp(),
            reports=item.intermediate_values,
        )
        return record.to_trial(self.config.constraints)


def num_parts(config: StudyConfig) -> int | None:
    """Return how many trainings a trial has; ``None`` if that depends on the data."""
    if config.splitter is None:
        return config.seeds
    splits = getattr(config.splitter, "n_splits", None)
    return None if splits is None else int(splits) * config.seeds
