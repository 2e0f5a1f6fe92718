"""Measure ``predict`` of a table that is passed in: one and 1,000 series of 96 rows, NLinear and NHITS, one thread.

NeuralForecast is measured in turns in the same run where it is installed, each library in a process of its own. A
number is the 10 % quantile of many calls, which a busy machine changes least. The goals are 0.7 ms for one series and
6 ms for 1,000 with NLinear.

    .venv-bench/bin/python benchmarks/predict_latency.py
    python benchmarks/predict_latency.py --calls 500
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

HORIZON, HISTORY = 24, 96
MODELS, COUNTS = ("NLinear", "NHITS"), (1, 1000)
GOALS = {("NLinear", 1): 0.7, ("NLinear", 1000): 6.0}
_FEWER = {1: 1, 1000: 20}  # of so many calls one is made
_THEIRS = 20  # their calls take much longer


def main() -> None:
    """Measure both sides in turns and print a line for each size."""
    arguments = _parse()
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    sides = ["ours"] + (["theirs"] if find_spec("neuralforecast") else [])
    context = multiprocessing.get_context("spawn")
    pools = {side: ProcessPoolExecutor(1, mp_context=context) for side in sides}
    try:
        for model in MODELS:
            for count in COUNTS:
                best = {side: float("inf") for side in sides}
                for _ in range(arguments.rounds):
                    for side in sides:
                        calls = max(5, arguments.calls // _FEWER[count] // (_THEIRS if side == "theirs" else 1))
                        found = pools[side].submit(measure, side, model, count, calls).result()
                        best[side] = min(best[side], found)
                _show(model, count, best)
    finally:
        for pool in pools.values():
            pool.shutdown()


def measure(side: str, model: str, count: int, calls: int) -> float:
    """Return the 10 % quantile of the milliseconds of a call."""
    import numpy as np

    forecaster, table = _prepared(side, model, count)
    for _ in range(3):
        forecaster.predict(table)
    spent = []
    for _ in range(calls):
        began = time.perf_counter()
        forecaster.predict(table)
        spent.append(time.perf_counter() - began)
    return float(np.quantile(spent, 0.1)) * 1e3


@lru_cache(maxsize=2)
def _prepared(side: str, model: str, count: int) -> tuple[Any, Any]:
    """Return a model that was trained for some steps, and a table of new rows."""
    import logging
    import warnings

    import torch

    torch.set_num_threads(1)
    if side == "ours":
        import neuro_divergent as nd

        training = nd.TrainingConfig(max_steps=5)
        forecaster = nd.Forecaster(model.lower(), horizon=HORIZON, input_size=HISTORY, training=training)
        return forecaster.fit(_table(count, 300)), _table(count, HISTORY)
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    import neuralforecast

    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    network = getattr(neuralforecast.models, model)(h=HORIZON, input_size=HISTORY, max_steps=5, **quiet)
    other = neuralforecast.NeuralForecast([network], freq="1h")
    other.fit(_table(count, 300))
    return other, _table(count, HISTORY)


def _table(count: int, rows: int) -> Any:
    from datetime import datetime, timedelta

    import numpy as np
    import polars as pl

    first = datetime(2024, 1, 1)
    hours = pl.datetime_range(first, first + timedelta(hours=rows - 1), "1h", eager=True)
    ids = pl.Series([f"series-{number:05d}" for number in range(count)])
    return pl.DataFrame(
        {
            "unique_id": ids.gather(np.repeat(np.arange(count), rows)),
            "ds": hours.gather(np.tile(np.arange(rows), count)),
            "y": 10 + np.random.default_rng(0).standard_normal(count * rows),
        }
    )


def _show(model: str, count: int, best: dict[str, float]) -> None:
    ours, goal = best["ours"], GOALS.get((model, count))
    text = f"{model:8} {count:5,} series: {ours:8.2f} ms"
    if "theirs" in best:
        text += f", NeuralForecast {best['theirs']:8.1f} ms, {best['theirs'] / ours:6.0f} times as long"
    if goal is not None:
        text += f"  (goal {goal:g} ms: {'reached' if ours <= goal else 'MISSED'})"
    print(text, flush=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=1000, help="of one series; fewer of more")
    return parser.parse_args()


if __name__ == "__main__":
    main()
