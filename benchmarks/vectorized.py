"""Several networks of one shape in one step: how much faster than one after the other.

Both sides train the same networks from the same seeds on the same windows, 96 rows to forecast 24, with one thread and
default settings; batches are gathered in both. Validation is left out of the steps, and part of the whole fit of an
ensemble, as are the preparation of the data, the second training on all rows and the measurement that decides. Times
are those on the processor, the least of several rounds in turns. A search is a grid of eight learning rates, with run
directories, scores and storage; its trainings are also measured by themselves. Goal for them: 2.5 times faster.

    python benchmarks/vectorized.py
    python benchmarks/vectorized.py --quick      # few steps and rounds: shows that it runs, measures little
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "BENCHMARK_CLOCK": "processor"}

import numpy as np
import polars as pl

import neuro_divergent as nd
from neuro_divergent.forecasting.network_training import NetworkTraining
from neuro_divergent.search.study import Study
from neuro_divergent.training.engine import Trainer
from neuro_divergent.training.vectorized.speed import speedup
from neuro_divergent.training.vectorized.trainer import Member, VectorizedTrainer
from timing import in_turns

MODELS: dict[str, Any] = {
    "NLinear": nd.NLinear(),
    "DLinear": nd.DLinear(),
    "MLP 64": nd.MLP(hidden_size=64),
    "MLP 512": nd.MLP(hidden_size=512),
    "NHITS 64": nd.NHITS(hidden_size=64),
    "NHITS 512": nd.NHITS(hidden_size=512),
    "TiDE 64": nd.TiDE(hidden_size=64, dropout=0.0),
    "PatchTST": nd.PatchTST(dropout=0.0, norm="layer"),
}
ENSEMBLES = ("NLinear", "DLinear", "MLP 64")
HORIZON, HISTORY = 24, 96
RATES = [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2]
GOAL = 2.5


def main() -> None:
    """Measure and print both tables."""
    arguments = _parse()
    table = _waves()
    print(
        f"Milliseconds of a step of all K networks, batch {arguments.batch_size}: one after the other, together, ratio"
    )
    print(f"{'':12}" + "".join(f"{f'K = {count}':>24}" for count in arguments.counts))
    for name in arguments.models:
        cells = (_cell(MODELS[name], count, table, arguments) for count in arguments.counts)
        print(f"{name:12}" + "".join(f"{cell:>24}" for cell in cells), flush=True)
    print("\nSeconds of Ensemble.seeds(..., 8).fit(...): one after the other, together, ratio")
    for name in [name for name in ENSEMBLES if name in arguments.models]:
        times = in_turns(arguments.rounds, *(_ensemble(MODELS[name], table, way, arguments) for way in (False, True)))
        print(f"{name:12}{times[0]:8.2f}{times[1]:8.2f}{times[0] / times[1]:8.2f}", flush=True)
    print(f"\nSeconds of a search of 8 learning rates: one by one, together, ratio; trainings only (goal {GOAL:g})")
    for name in [name for name in ENSEMBLES if name in arguments.models]:
        spent: dict[bool, list[float]] = {False: [], True: []}
        whole = in_turns(
            arguments.rounds, *(_search(MODELS[name], table, way, spent[way], arguments) for way in (False, True))
        )
        pairs = (whole, (min(spent[False]), min(spent[True])))
        cells = "".join(f"{one:8.2f}{other:8.2f}{one / other:8.2f}" for one, other in pairs)
        print(f"{name:12}{cells}", flush=True)


def _cell(model: Any, count: int, table: pl.DataFrame, arguments: argparse.Namespace) -> str:
    """Return the times of a step both ways, and their ratio."""
    config = nd.TrainingConfig(
        max_steps=arguments.steps,
        batch_size=arguments.batch_size,
        early_stopping=None,
        threads=1,
    )
    forecaster = nd.Forecaster(model, horizon=HORIZON, input_size=HISTORY, training=config)
    prepared = forecaster._prepare(table, {})

    def members() -> list[Member]:
        made = [NetworkTraining(model, config.replace(seed=seed), prepared) for seed in range(count)]
        return [Member(item.trainer, item.train) for item in made]

    def alone() -> float:
        trainers = members()
        began = time.process_time()
        for member in trainers:
            member.trainer.fit(member.train)
        return time.process_time() - began

    def together() -> float:
        trainer = VectorizedTrainer(members())
        began = time.process_time()
        trainer.fit()
        return time.process_time() - began

    if speedup(members()) == 0:
        return "no batching rule"
    first, second = (1e3 * seconds / arguments.steps for seconds in in_turns(arguments.rounds, alone, together))
    return f"{first:.2f} {second:.2f} {first / second:.2f}"


def _ensemble(model: Any, table: pl.DataFrame, vectorize: bool, arguments: argparse.Namespace) -> Callable[[], float]:
    config = nd.TrainingConfig(max_steps=5 * arguments.steps, threads=1)
    forecaster = nd.Forecaster(model, horizon=HORIZON, input_size=HISTORY, training=config)

    def fit() -> float:
        ensemble = nd.Ensemble.seeds(forecaster, 8)
        began = time.process_time()
        ensemble.fit(table, vectorize=vectorize)
        return time.process_time() - began

    return fit


def _search(
    model: Any, table: pl.DataFrame, vectorize: bool, spent: list[float], arguments: argparse.Namespace
) -> Callable[[], float]:
    """Return a search to be timed, which adds to ``spent`` what its trainings took."""
    config = nd.TrainingConfig(max_steps=5 * arguments.steps, early_stopping=None, threads=1)
    forecaster = nd.Forecaster(model, horizon=HORIZON, input_size=HISTORY, training=config)
    space = {"training.optimizer.lr": RATES}

    def run() -> float:
        with tempfile.TemporaryDirectory() as place:
            study = Study(forecaster, Path(place) / "study", space, method="grid", pruner=None)
            spent.append(0.0)
            own = [(kind, kind.fit) for kind in (Trainer, VectorizedTrainer)]
            try:
                for kind, fit in own:
                    kind.fit = _timed(fit, spent)  # type: ignore[method-assign]
                began = time.process_time()
                study.run(table, trials=len(RATES), vectorize=vectorize)
                return time.process_time() - began
            finally:
                for kind, fit in own:
                    kind.fit = fit  # type: ignore[method-assign]

    return run


def _timed(fit: Callable[..., Any], spent: list[float]) -> Callable[..., Any]:
    def timed(*arguments: Any, **options: Any) -> Any:
        began = time.process_time()
        try:
            return fit(*arguments, **options)
        finally:
            spent[-1] += time.process_time() - began

    return timed


def _waves(num_series: int = 30, length: int = 200) -> pl.DataFrame:
    time_ = np.tile(np.arange(length), num_series)
    noise = np.random.default_rng(0).normal(0, 0.3, time_.size)
    values = np.sin(time_ * (2 * np.pi / 24)) + noise + 5
    return pl.DataFrame({"unique_id": np.repeat(np.arange(num_series), length), "ds": time_, "y": values})


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few steps and rounds")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--counts", nargs="+", type=int, default=[2, 4, 8, 16])
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.steps, arguments.rounds = 10, 1
    return arguments


if __name__ == "__main__":
    main()
