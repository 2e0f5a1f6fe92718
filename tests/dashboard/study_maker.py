"""Makes study directories, as searches leave them, with a function in place of training."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import neuro_divergent as nd
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.data.load import load_panel
from neuro_divergent.search.limits import Limits
from neuro_divergent.search.study import Study
from neuro_divergent.search.trial import Trial
from neuro_divergent.search.worker import Worker
from tests.dashboard.run_maker import make_run

RATE, WIDTH, OPTIMIZER = "training.optimizer.lr", "model.hidden_size", "training.optimizer"
SPACE: dict[str, Any] = {
    WIDTH: [64, 128, 256],
    RATE: nd.search.log(1e-5, 1e-1),
    "model.dropout": (0.0, 0.5),
    OPTIMIZER: ["adamw", "sgd"],
    f"{OPTIMIZER}.momentum@sgd": (0.0, 0.95),
}
DATA = Synthetic(num_series=2, length=80).frame()


def error_of(point: Mapping[str, Any]) -> dict[str, float]:
    """Return an error that is least, 1, at a rate of 0.01 with a width of 128 and without dropout."""
    rate, width = math.log10(point[RATE]) + 2, math.log2(point[WIDTH] / 128)
    error = 1 + 0.3 * rate**2 + 0.2 * width**2 + point["model.dropout"] + (point[OPTIMIZER] == "sgd") * 0.1
    return {"mae": error, "parameters": 1000.0 * point[WIDTH], "seconds": 0.5, "latency": 0.1}


class StudyMaker:
    """A study that is run step by step.

    Args:
        directory: New directory.
        limit: Number of trials that were asked for.
        evaluate: What a trial comes to; raises for one that fails.
        with_runs: Whether trials have run directories.
        config: Fields of ``StudyConfig``.
    """

    def __init__(
        self,
        directory: Path,
        *,
        limit: int = 12,
        evaluate: Callable[[Mapping[str, Any]], dict[str, float]] = error_of,
        with_runs: bool = False,
        space: Mapping[str, Any] = SPACE,
        **config: Any,
    ) -> None:
        directory.mkdir(parents=True)
        settings = {"method": "random", "objectives": "mae", **config}
        self.study = Study(nd.Forecaster("mlp", horizon=7), directory, space, **settings)
        self.panel = load_panel(DATA, {})
        self.study._describe_data(Path("sales.csv"), {})
        self.study._open(self.panel, Limits(trials=limit))
        self._evaluate, self._with_runs = evaluate, with_runs

    @property
    def directory(self) -> Path:
        """Where it is."""
        return self.study.directory

    def run(self, trials: int) -> StudyMaker:
        """Run trials until there are as many."""
        start = self.study.start(self.panel)
        worker = Worker(self.study.config, self.study.store, start, run=self._run, check=lambda point: point)
        worker.work(Limits(trials=trials))
        return self

    def begin(self) -> int:
        """Begin a trial that nobody ends."""
        store = self.study.store
        number = store.begin()
        store.record_point(number, self.study.start(self.panel), "method")
        return number

    def _run(self, trial: Trial) -> None:
        if self._with_runs:
            make_run(self.directory / "trials" / trial.name, model="mlp", steps=20)
        try:
            self.study.store.complete(trial.number, self._evaluate(trial.settings))
        except ArithmeticError as error:
            self.study.store.fail(trial.number, f"diverged: {error}")
