"""When a search ends."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from neuro_divergent.core.config import Config

if TYPE_CHECKING:
    from neuro_divergent.search.objective import Objective
    from neuro_divergent.search.trial import Trial


class Limits(Config):
    """When a search ends; the first one that is reached counts.

    Trials that run when a limit is reached are finished, except for the time: then they are stopped.

    Attributes:
        trials: Number of trials, those that failed or were pruned included; those that were refused because their
            network cannot be built do not count.
        seconds: Time from the call on. A trial that runs then is stopped after its next step, and goes on from there
            when the study is resumed.
        target_value: Value of the first objective that is good enough.
        patience: Finished trials since the best one.
    """

    trials: int | None = Field(default=None, ge=1)
    seconds: float | None = Field(default=None, gt=0)
    target_value: float | None = None
    patience: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _has_end(self) -> Limits:
        if self.trials is None and self.seconds is None and self.target_value is None and self.patience is None:
            raise ValueError("a search needs an end: trials, seconds, target_value or patience")
        return self

    def deadline(self) -> float:
        """Return the end in terms of ``time.monotonic``, counted from now."""
        return time.monotonic() + self.seconds if self.seconds is not None else float("inf")

    def left(self, trials: Sequence[Trial]) -> int | None:
        """Return how many trials may still be begun by their number; ``None`` for no end."""
        return None if self.trials is None else max(self.trials - sum(trial.counts for trial in trials), 0)

    def reason(self, trials: Sequence[Trial], objectives: Sequence[Objective]) -> str | None:
        """Return why no more trials are begun after some, or ``None``; time is not looked at."""
        counted = [trial for trial in trials if trial.counts]
        if self.left(counted) == 0:
            return f"{self.trials} trials"
        goal, best, since = objectives[0], float("inf"), 0
        for trial in sorted((item for item in counted if item.is_done), key=lambda item: item.finished or 0.0):
            since += 1
            value = goal.sign * trial.values[goal.name] if trial.is_candidate else float("inf")
            if value < best:
                best, since = value, 0
        if self.target_value is not None and best <= goal.sign * self.target_value:
            return f"the target of {self.target_value:g} is reached"
        if self.patience is not None and len(objectives) == 1 and best < float("inf") and since >= self.patience:
            return f"no better trial in {since}"
        return None
