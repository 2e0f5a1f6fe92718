"""How far a search has come: the best value after each trial, and the time left."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from neuro_divergent.core.formatting import format_number
from neuro_divergent.core.progress import Task, track

if TYPE_CHECKING:
    from neuro_divergent.search.config import StudyConfig
    from neuro_divergent.search.limits import Limits
    from neuro_divergent.search.study import Study
    from neuro_divergent.search.trial import Trial

_SECONDS_BETWEEN = 1.0  # two looks at the trials of other processes


def best_so_far(trials: Sequence[Trial], config: StudyConfig) -> list[float]:
    """Return the best value of the first objective after each complete trial."""
    goal = config.objectives[0]
    found: list[float] = []
    for trial in trials:
        if trial.is_candidate:
            value = trial.values[goal.name]
            found.append(value if not found else goal.sign * min(goal.sign * value, goal.sign * found[-1]))
    return found


def time_left(trials: Sequence[Trial], limits: Limits, jobs: int, deadline: float = float("inf")) -> float | None:
    """Return how many seconds are left at the pace of the trials so far; ``None`` if that cannot be said.

    ``deadline`` is in terms of ``time.monotonic``.
    """
    left = [] if deadline == float("inf") else [max(0.0, deadline - time.monotonic())]
    done = [trial.seconds for trial in trials if trial.counts and trial.is_done and trial.seconds is not None]
    if limits.trials is not None and done:
        missing = limits.trials - sum(trial.counts and trial.is_done for trial in trials)
        left.append(max(0, missing) * sum(done) / len(done) / max(jobs, 1))
    return min(left, default=None)


def show_trials(shown: Task, trials: Sequence[Trial], config: StudyConfig) -> None:
    """Say how many trials are done, and the best value so far."""
    best = best_so_far(trials, config)
    note = f"best {config.objectives[0].name} {format_number(best[-1])}" if best else ""
    shown.update(sum(trial.is_done and trial.counts for trial in trials), note)


@contextmanager
def watching(study: Study, limits: Limits) -> Iterator[None]:
    """Show the progress of a study that other processes work on inside the block, where progress was asked for."""
    from neuro_divergent.search.study import Study as Opened

    with track("Search", limits.trials, "trial") as shown:
        if not shown.is_shown:
            yield
            return
        ended = threading.Event()

        def watch() -> None:
            watched = Opened.load(study.directory)  # whose connections belong to this thread
            while not ended.wait(_SECONDS_BETWEEN):
                show_trials(shown, watched.trials, watched.config)
            show_trials(shown, watched.trials, watched.config)
            watched.close()

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()
