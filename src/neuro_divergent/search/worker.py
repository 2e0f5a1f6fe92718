"""The loop of a worker: take over a trial whose process died, or begin one, and run it; or several at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from neuro_divergent.core.errors import ConfigError, InputError, Interrupted, NeuroDivergentError
from neuro_divergent.core.progress import Task, track
from neuro_divergent.search.config import StudyConfig
from neuro_divergent.search.deadline import TIME_IS_UP
from neuro_divergent.search.limits import Limits
from neuro_divergent.search.parameter import Point
from neuro_divergent.search.progress import show_trials
from neuro_divergent.search.proposer import Proposer
from neuro_divergent.search.storage.claims import Claims
from neuro_divergent.search.storage.trial_store import TrialStore
from neuro_divergent.search.trial import MOST_ATTEMPTS, Trial
from neuro_divergent.search.trial_groups import TrialGroups, VectorizeError

_TIME_WAS_UP = "the time of the search was up; it goes on when the study is resumed"
_PAUSE = 0.5  # seconds between two looks for something to do
_MOST_REFUSED = 100  # in a row
_MOST_FAILED = 20  # before any trial was complete


class Worker:
    """Runs trials of a study until a limit is reached and nothing is left to take over.

    Any number of workers may run at once, on one machine or on several that share the storage. Whoever begins a trial
    does so alone, so as many are begun as were asked for.

    Args:
        config: Settings of the study.
        store: Where trials are recorded.
        start: The first point to try.
        run: Runs a trial to its end and records that.
        check: Raises ``InputError`` for a point that cannot be built.
        groups: How trials are taken several at once; ``None`` for one by one.
    """

    def __init__(
        self,
        config: StudyConfig,
        store: TrialStore,
        start: Point,
        *,
        run: Callable[[Trial], None],
        check: Callable[[Point], object],
        groups: TrialGroups | None = None,
    ) -> None:
        self._config, self._store, self._run, self._check = config, store, run, check
        self._groups = groups
        self._proposer = Proposer(config, store, start)

    def work(self, limits: Limits, deadline: float | None = None) -> str:
        """Run trials, and return why no more are begun.

        Args:
            limits: When to end.
            deadline: When the time is up, in terms of ``time.monotonic``; unset, what the limits say from now on.
        """
        claims = self._store.claims()
        deadline = limits.deadline() if deadline is None else deadline
        try:
            with track("Search", limits.trials, "trial") as shown:
                return self._work(limits, deadline, claims, shown)
        finally:
            claims.close()

    def _work(self, limits: Limits, deadline: float, claims: Claims, shown: Task) -> str:
        while True:
            if time.monotonic() >= deadline:
                return f"{limits.seconds or 0.0:g} seconds"
            with claims.exclusive():
                trials = self._store.trials()
                show_trials(shown, trials, self._config)
                taken = next((item for item in trials if not item.is_done and claims.try_claim(item.number)), None)
                reason = limits.reason(trials, self._config.objectives) or self._proposer.exhausted(trials)
                if taken is None and reason is None:
                    _require_success(trials)
                    taken = self._begin(claims)
                elif taken is not None:
                    self._take_over(taken)
                group = [] if taken is None else [taken.number, *self._others(taken.number, limits, claims)]
            if group:
                self._finish(group, claims)
            elif all(item.is_done for item in trials):
                return str(reason)
            else:
                time.sleep(_PAUSE)  # another worker runs the last trials, and may die

    def _begin(self, claims: Claims) -> Trial:
        """Begin a trial, with a point."""
        begun = self._store.trial(self._store.begin())
        claims.try_claim(begun.number)
        self._propose(begun)
        return begun

    def _others(self, number: int, limits: Limits, claims: Claims) -> Iterator[int]:
        """Yield trials to be run together with one: those whose process died, then new ones, while they are alike."""
        first, trials = self._store.trial(number), self._store.trials()
        if self._groups is None or first.is_done or first.attempts >= MOST_ATTEMPTS:
            return
        kind = self._groups.kind(first.settings)
        if kind is None:
            return
        count = 1
        for item in trials:
            if item.number == number or item.is_done or not item.settings:
                continue
            if item.attempts + 1 >= MOST_ATTEMPTS or count >= self._groups.most:
                continue
            if self._groups.kind(item.settings) == kind and claims.try_claim(item.number):
                self._take_over(item)
                count += 1
                yield item.number
        ends = [end for end in (limits.left(trials), self._proposer.left(trials)) if end is not None]
        size = self._groups.size(min(ends) + 1 if ends else None)  # with the one that was begun
        while count < size:
            trials = self._store.trials()
            if limits.reason(trials, self._config.objectives) or self._proposer.exhausted(trials):
                return
            point, _ = self._proposer.next(len(trials), trials)
            if self._groups.kind(point) != kind:
                return
            count += 1
            yield self._begin(claims).number

    def _finish(self, numbers: Sequence[int], claims: Claims) -> None:
        """Run trials, unless they were refused; a signal or the deadline leave them to be continued, and are no death.

        Where they are not trained together after all, all but the first are left to whoever is free.
        """
        trials = [trial for number in numbers if not (trial := self._store.trial(number)).is_done]
        try:
            if self._groups is not None and len(trials) > 1 and not self._groups.train(trials):
                for trial in trials[1:]:
                    self._store.set_attempts(trial.number, trial.attempts - 1)
                    self._store.stop(trial.number, "it waits for its turn")
                    claims.release(trial.number)
                numbers = [number for number in numbers if number not in [trial.number for trial in trials[1:]]]
                trials = trials[:1]
            for trial in trials:
                self._run(trial)
        except (KeyboardInterrupt, VectorizeError) as interruption:
            is_deadline = isinstance(interruption, Interrupted) and interruption.name == TIME_IS_UP
            for trial in trials:
                if not self._store.trial(trial.number).is_done:
                    self._store.set_attempts(trial.number, trial.attempts - 1)
                    if is_deadline:
                        self._store.stop(trial.number, _TIME_WAS_UP)
            if not is_deadline:
                raise
        for number in numbers:
            claims.release(number)

    def _take_over(self, trial: Trial) -> None:
        """Record another attempt, and find a point if its process died before it had one; others wait."""
        if self._store.trial(trial.number).is_done:  # it was finished before its claim was given up
            return
        if trial.state == "stopped":
            self._store.resume(trial.number)
        self._store.set_attempts(trial.number, trial.attempts + 1)
        if trial.attempts >= MOST_ATTEMPTS:
            self._store.fail(trial.number, f"its process died {MOST_ATTEMPTS} times; often memory runs out")
        else:
            self._propose(trial)

    def _propose(self, trial: Trial) -> None:
        """Find a point for a trial; one that cannot be built is recorded as refused, and is never run."""
        before = [item for item in self._store.trials() if item.number < trial.number]
        # A process may have died after it had recorded the point, or in the middle of its parameters.
        point, origin = trial.settings, trial.origin
        if not point:
            point, origin = self._proposer.next(trial.number, before)
        self._store.record_point(trial.number, point, origin)
        try:
            self._check(point)
        except InputError as error:
            self._store.fail(trial.number, str(error), state="refused")
            latest = before[1 - _MOST_REFUSED :]
            if len(before) >= _MOST_REFUSED - 1 and all(item.state == "refused" for item in latest):
                raise ConfigError(
                    f"space: {_MOST_REFUSED} points in a row cannot be built; the last: {error}"
                ) from error


def _require_success(trials: list[Trial]) -> None:
    failed = [item for item in trials if item.state == "failed"]
    if len(failed) >= _MOST_FAILED and not any(item.state in ("complete", "pruned") for item in trials):
        raise NeuroDivergentError(f"all {len(failed)} trials failed; the last: {failed[-1].reason}")
