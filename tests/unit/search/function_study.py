"""Studies of functions: everything but training is what a search of networks uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from neuro_divergent import search
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.search.config import StudyConfig
from neuro_divergent.search.limits import Limits
from neuro_divergent.search.proposer import Proposer
from neuro_divergent.search.space import Space
from neuro_divergent.search.storage.trial_store import TrialStore
from neuro_divergent.search.trial import Trial
from neuro_divergent.search.worker import Worker

BASE = RunConfig.from_dict({"data": {}, "task": {"horizon": 3}})
RATE, PENALTY, DECAY = "training.optimizer.lr", "training.l1", "training.optimizer.weight_decay"
NUMBERS: dict[str, Any] = {RATE: search.log(1e-5, 1e-1), PENALTY: (0.0, 1.0)}
START = {RATE: 1e-5, PENALTY: 1.0}

Values = Mapping[str, float]


def bowl(point: Mapping[str, Any]) -> dict[str, float]:
    """Return a value that is least, 0, at a rate of 0.01 and a penalty of 0.3; both count alike over their ranges."""
    rate = (math.log10(point[RATE]) + 2) / 4
    return {"mae": rate**2 + (point[PENALTY] - 0.3) ** 2}


class FunctionStudy:
    """A study whose trials are evaluations of a function of the point."""

    def __init__(
        self,
        directory: Path,
        function: Callable[[Mapping[str, Any]], Values] = bowl,
        space: Mapping[str, Any] | Space = NUMBERS,
        start: Mapping[str, Any] = START,
        **config: Any,
    ) -> None:
        given = space if isinstance(space, Space) else Space(space)
        self.function, self.start, self.directory = function, dict(start), directory
        self.config = StudyConfig(run=BASE, space=given.to_dict(), **{"objectives": "mae", **config})
        self.store = TrialStore(self.config, "function", directory, given.around(BASE))
        self.proposer = Proposer(self.config, self.store, self.start)

    def begin(self) -> tuple[int, dict[str, Any]]:
        """Begin a trial and return its number and point."""
        number = self.store.begin()
        return number, self.propose(number)

    def propose(self, number: int) -> dict[str, Any]:
        """Find the point of a trial that was begun."""
        point, origin = self.proposer.next(number, self.store.trials()[:number])
        self.store.record_point(number, point, origin)
        return point

    def run(self, trials: int) -> FunctionStudy:
        """Run trials in this process until there are as many, or no more points."""
        self.worker().work(Limits(trials=trials))
        return self

    def worker(self) -> Worker:
        """Return a worker that evaluates the function."""
        return Worker(self.config, self.store, self.start, run=self.evaluate, check=lambda point: point)

    def evaluate(self, trial: Trial) -> None:
        """Evaluate the function at the point of a trial."""
        self.store.complete(trial.number, self.function(trial.settings))

    @property
    def points(self) -> list[dict[str, Any]]:
        """The points of all trials."""
        return [trial.settings for trial in self.store.trials()]

    def best(self, name: str = "mae") -> float:
        """Return the least value."""
        return min(trial.values[name] for trial in self.store.trials() if trial.is_candidate)
