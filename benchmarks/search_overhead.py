"""Measure what a search takes besides training, and what a second worker brings.

Processor time per trial of TPE (the last 50 of 500) and of the Gaussian process (the last 20 of 100), in a space of six
settings (two real, two integer, two with choices) and with a formula instead of training: proposals, storage, locks and
limits. Goals, for the journal: 25 and 350 ms. SQLite is shown beside it; it takes a transaction for each parameter.
Then a study of small trainings in one process and in two: wall time, which needs a machine that has nothing else to do.
Goal: 1.8 times faster.

    python benchmarks/search_overhead.py
    python benchmarks/search_overhead.py --tpe 60 --gp 20 --trials 4 --steps 50    # shows that it runs
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results" / "search_overhead.json"
GOALS = {"tpe": 25.0, "gp": 350.0, "workers": 1.8}
LAST = {"tpe": 50, "gp": 20}
STORAGES = ("journal", "sqlite")


def main() -> None:
    """Measure, print and store."""
    options = _parse()
    found: dict[str, Any] = {}
    for name, trials in (("tpe", options.tpe), ("gp", options.gp)):
        for storage in STORAGES:
            found[f"{name} {storage}"] = measured = _per_trial(name, trials, storage)
            verdict = "reached" if measured["last"] <= GOALS[name] else "missed"
            goal = f" (goal {GOALS[name]:g}: {verdict})" if storage == "journal" else ""
            spent = f"{measured['mean']:7.1f} ms a trial, {measured['last']:7.1f} ms in the last ones"
            print(f"{name:4} {storage:8} {spent} of {trials}{goal}", flush=True)
    if options.trials:
        found["workers"] = _workers(options)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=2))


def _per_trial(name: str, trials: int, storage: str) -> dict[str, float]:
    """Return milliseconds of the processor per trial: of all of them, and of the last ones."""
    from neuro_divergent import search
    from neuro_divergent.forecasting.run_config import RunConfig
    from neuro_divergent.search.config import StudyConfig
    from neuro_divergent.search.limits import Limits
    from neuro_divergent.search.space import Space
    from neuro_divergent.search.storage.trial_store import TrialStore
    from neuro_divergent.search.worker import Worker

    space = Space(
        {
            "training.optimizer.lr": search.log(1e-5, 1e-1),
            "training.l1": (0.0, 1.0),
            "training.accumulate": (1, 8),
            "task.input_size": (3, 30),
            "task.scaler": ["standard", "robust", "revin"],
            "training.schedule": ["constant", "cosine"],
        }
    )
    base = RunConfig.from_dict({"data": {}, "task": {"horizon": 3}})
    config = StudyConfig(run=base, space=space.to_dict(), method=name, storage=storage, objectives="mae")
    ends: list[float] = []
    with tempfile.TemporaryDirectory() as directory:
        store = TrialStore(config, "overhead", Path(directory), space.around(base))

        def evaluate(trial: Any) -> None:
            store.complete(trial.number, {"mae": _formula(trial.settings)})
            ends.append(time.process_time())

        start = space.around(base).start(base.to_dict())
        began = time.process_time()
        Worker(config, store, start, run=evaluate, check=lambda point: point).work(Limits(trials=trials))
        store.close()
    last = min(LAST[name], trials // 2)
    return {"mean": 1000 * (ends[-1] - began) / trials, "last": 1000 * (ends[-1] - ends[-1 - last]) / last}


def _formula(point: Mapping[str, Any]) -> float:
    rate = (math.log10(point["training.optimizer.lr"]) + 2) / 4
    size = abs(point["task.input_size"] - 12) / 30 + (point["training.accumulate"] - 2) ** 2 / 50
    names = 0.1 * (point["task.scaler"] != "robust") + 0.1 * (point["training.schedule"] != "cosine")
    return rate**2 + (point["training.l1"] - 0.3) ** 2 + size + names


def _workers(options: argparse.Namespace) -> dict[str, float]:
    """Return the wall time of a study in one process and in two, with one thread each."""
    import neuro_divergent as nd
    from neuro_divergent.data.datasets.synthetic import Synthetic

    data = Synthetic(num_series=20, length=400, noise=1.0).frame()
    training = nd.TrainingConfig(max_steps=options.steps, early_stopping=None, threads=1)
    seconds = {}
    for jobs in (1, 2):
        with tempfile.TemporaryDirectory() as place:
            forecaster = nd.Forecaster("nhits", horizon=12, training=training)
            space = {"training.optimizer.lr": nd.search.log(1e-4, 1e-2)}
            study = nd.search.Study(forecaster, Path(place) / "study", space, method="random", pruner=None)
            began = time.perf_counter()
            study.run(data, trials=options.trials, jobs=jobs, threads=jobs)
            seconds[jobs] = time.perf_counter() - began
    ratio = seconds[1] / seconds[2]
    verdict = "reached" if ratio >= GOALS["workers"] else "missed"
    print(
        f"{options.trials} trials of {options.steps} steps: {seconds[1]:.1f} s in one process, {seconds[2]:.1f} s in "
        f"two with their start, {ratio:.2f} times faster (goal {GOALS['workers']:g}: {verdict})"
    )
    return {"one": seconds[1], "two": seconds[2], "ratio": ratio}


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tpe", type=int, default=500, help="trials of TPE")
    parser.add_argument("--gp", type=int, default=100, help="trials of the Gaussian process")
    parser.add_argument("--trials", type=int, default=24, help="trials of the study of trainings; 0 to leave it out")
    parser.add_argument("--steps", type=int, default=400, help="steps of each training")
    return parser.parse_args()


if __name__ == "__main__":
    main()
