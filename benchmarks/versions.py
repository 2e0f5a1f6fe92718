"""Two versions of this package in turns: import, cold start, training steps and predict, as ratios.

    git worktree add ../before v0.1.0
    python benchmarks/versions.py ../before/src src

Every measurement is a process of its own; the versions alternate, and the best of each is compared. A ratio below 1
says that the second version is faster.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

_HEAD = """
import json, sys, time
"""
_FIT = """
import numpy as np, polars as pl
import neuro_divergent as nd
values = np.random.default_rng(0).normal(size=(100, 500)).cumsum(1).reshape(-1)
ids = np.repeat(np.arange(100), 500).astype(str)
frame = pl.DataFrame({"unique_id": ids, "ds": np.tile(np.arange(500), 100), "y": values})
def fit(model, steps):
    training = nd.TrainingConfig(max_steps=steps, batch_size=128, threads=1, early_stopping=None)
    return nd.Forecaster(model, horizon=24, input_size=96, training=training).fit(frame)
"""
_STEPS = """
fit(MODEL, 5)
began = time.perf_counter()
fit(MODEL, 5)
middle = time.perf_counter()
fit(MODEL, 5 + STEPS)
ended = time.perf_counter()
print((ended - middle - (middle - began)) / STEPS)
"""
_PREDICT = """
forecaster = fit("nhits", 5)
forecaster.predict(levels=[80])
best = 1e9
for _ in range(300):
    began = time.perf_counter()
    forecaster.predict(levels=[80])
    best = min(best, time.perf_counter() - began)
print(best)
"""
_NEW_DATA = _PREDICT.replace("predict(levels=[80])", "predict(frame, levels=[80])").replace("300", "30")
_IMPORT = """
began = time.process_time()
import neuro_divergent
neuro_divergent.Forecaster
print(time.process_time() - began)
"""
MEASUREMENTS = {
    "import of Forecaster": _HEAD + _IMPORT,
    "nhits step": _HEAD + _FIT + _STEPS.replace("MODEL", "'nhits'").replace("STEPS", "400"),
    "lstm step": _HEAD + _FIT + _STEPS.replace("MODEL", "'lstm'").replace("STEPS", "60"),
    "dlinear step": _HEAD + _FIT + _STEPS.replace("MODEL", "'dlinear'").replace("STEPS", "1500"),
    "predict, 100 series": _HEAD + _FIT + _PREDICT,
    "predict(data), 100 series": _HEAD + _FIT + _NEW_DATA,
}
COMMANDS = {
    "nd --help": ["--help"],
    "nd train --help": ["train", "--help"],
    "nd models": ["models"],
}


def environment(source: str) -> dict[str, str]:
    """Return the variables of a process that uses one version."""
    return {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}


def measure(source: str, script: str) -> float:
    """Run a script with one version and return the number that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(source), check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def command(source: str, arguments: list[str]) -> float:
    """Return the processor seconds that a command of one version takes."""
    before = os.times()
    subprocess.run(
        [sys.executable, "-m", "neuro_divergent.interfaces.cli.main", *arguments],
        env=environment(source),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Compare the two versions and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="directory that holds neuro_divergent in the first version")
    parser.add_argument("after", help="directory that holds it in the second version")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="part of the names of the measurements to make")
    options = parser.parse_args()
    print(f"{'':<28}{'before':>12}{'after':>12}{'ratio':>8}{'of medians':>12}")
    for name in (name for name in [*MEASUREMENTS, *COMMANDS] if options.only in name):
        found: dict[str, list[float]] = {options.before: [], options.after: []}
        for round_number in range(options.rounds):
            for source in sorted(found, reverse=bool(round_number % 2)):
                is_script = name in MEASUREMENTS
                found[source].append(
                    measure(source, MEASUREMENTS[name]) if is_script else command(source, COMMANDS[name])
                )
        before, after = found[options.before], found[options.after]
        ratios = min(after) / min(before), statistics.median(after) / statistics.median(before)
        print(f"{name:<28}{min(before):>12.6f}{min(after):>12.6f}{ratios[0]:>8.3f}{ratios[1]:>12.3f}", flush=True)


if __name__ == "__main__":
    main()
