"""How a worker takes several trials at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.search.parameter import Point
from neuro_divergent.search.trial import Trial


class VectorizeError(ConfigError):
    """Trainings cannot be done in one step, and the user asked for nothing else."""


class VectorizeWarning(UserWarning):
    """Trainings failed in one step, and are done one by one."""


@dataclass(frozen=True)
class TrialGroups:
    """Trials that are alike and may be trained in one step.

    Attributes:
        most: Trials that are taken at once, at most.
        num_workers: Workers of the study that are known of; the trials that are left are shared among them.
        kind: Returns the same text for points that are alike; ``None`` for one that is run by itself.
        train: Trains trials together, and returns whether it did. Each is then run as usual.
    """

    most: int
    num_workers: int
    kind: Callable[[Point], str | None]
    train: Callable[[Sequence[Trial]], bool]

    def size(self, left: int | None) -> int:
        """Return how many trials to take when so many are still to be begun; ``None`` for no end."""
        return self.most if left is None else min(self.most, math.ceil(left / self.num_workers))
