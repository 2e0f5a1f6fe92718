"""The loop of a worker: take over a trial whose process died, or begin one, and run it."""

from __future__ import annotations

import time
from collections.abc import Callable

from neuro_divergent.core.errors import ConfigError, InputError, Interrupted, NeuroDivergentError
from neuro_divergent.search.config import StudyConfig
from neuro_divergent.search.deadline import TIME_IS_UP
from neuro_divergent.search.limits import Limits
from neuro_divergent.search.parameter import Point
from neuro_divergent.search.proposer import Proposer
from neuro_divergent.search.storage.trial_store import TrialStore
from neuro_divergent.search.trial import Trial

_PAUSE = 0.5  # seconds between two looks for something to do
_MOST_ATTEMPTS = 3
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
    """

    def __init__(
        self,
        config: StudyConfig,
        store: TrialStore,
        start: Point,
        *,
        run: Callable[[Trial], None],
        check: Callable[[Point], object],
    ) -> None:
        self._config, self._store, self._run, self._check = config, store, run, check
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
            while True:
                if time.monotonic() >= deadline:
                    return f"{limits.seconds or 0.0:g} seconds"
                with claims.exclusive():
                    trials = self._store.trials()
                    taken = next((item for item in trials if not item.is_done and claims.try_claim(item.number)), None)
                    reason = limits.reason(trials, self._config.objectives) or self._proposer.exhausted(trials)
                    if taken is None and reason is None:
                        _require_success(trials)
                        taken = self._store.trial(self._store.begin())
                        claims.try_claim(taken.number)
                        self._propose(taken)
                    elif taken is not None:
                        self._take_over(taken)
                if taken is not None:
                    self._finish(taken.number)
                    claims.release(taken.number)
                elif all(item.is_done for item in trials):
                    return str(reason)
                else:
                    time.sleep(_PAUSE)  # another worker runs the last trials, and may die
        finally:
            claims.close()

    def _finish(self, number: int) -> None:
        """Run a trial, unless it was refused; a signal or the deadline leave it to be continued, and are no death."""
        trial = self._store.trial(number)
        if trial.is_done:
            return
        try:
            self._run(trial)
        except KeyboardInterrupt as interruption:
            self._store.set_attempts(number, trial.attempts - 1)
            if not isinstance(interruption, Interrupted) or interruption.name != TIME_IS_UP:
                raise
            self._store.stop(number, "the time of the search was up; it goes on from here when the study is resumed")

    def _take_over(self, trial: Trial) -> None:
        """Record another attempt, and find a point if its process died before it had one; others wait."""
        if self._store.trial(trial.number).is_done:  # it was finished before its claim was given up
            return
        if trial.state == "stopped":
            self._store.resume(trial.number)
        self._store.set_attempts(trial.number, trial.attempts + 1)
        if trial.attempts >= _MOST_ATTEMPTS:
            self._store.fail(trial.number, f"its process died {_MOST_ATTEMPTS} times; often memory runs out")
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
