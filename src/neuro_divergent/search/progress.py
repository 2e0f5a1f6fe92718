"""How far a search has come: the best value after each trial, and the time left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuro_divergent.search.config import StudyConfig
    from neuro_divergent.search.limits import Limits
    from neuro_divergent.search.trial import Trial


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
