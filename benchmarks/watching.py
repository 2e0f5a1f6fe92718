"""What it costs to be watched: training with a run directory and an open dashboard beside training without either.

Watched training writes its directory as ``nd train`` does (events, norms by layer, heartbeat, checkpoints), while a
dashboard in a process of its own serves it and a client in another reads the stream of the run and asks for its curves
twice a second, as an open page does. Both are stopped (SIGSTOP) while the other side trains. Both sides train the same
network on the same windows in this process, in many short turns, and what counts is the median of the ratios of
neighbours: the speed of a shared machine changes by more than is to be measured, but rarely from one second to the
next. The time of a step is taken after the warm-up; that of the whole ``fit`` also has the last checkpoint and the
saved model, which training without a directory does not write. Results go to benchmarks/results/watching.json.

    python benchmarks/watching.py
    python benchmarks/watching.py --quick    # few steps and rounds: shows that it runs, measures little
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from timing import mean_step

RESULTS = Path(__file__).resolve().parent / "results" / "watching.json"
LIMIT = 1.03
MODELS = {"nlinear": 1500, "nhits": 60, "patchtst": 30}
SIDES = ("alone", "watched")


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few steps and rounds")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--follow", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.follow:
        _follow(arguments.follow)
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    cells = []
    for model, steps in MODELS.items():
        rounds, steps = (2, 60) if arguments.quick else (arguments.rounds, steps)
        cells.append(_compare(model, steps, rounds))
        cell = cells[-1]
        print(
            f"{model:10} step alone {cell['alone'] * 1e3:.3f} ms, watched {cell['watched'] * 1e3:.3f} ms, "
            f"ratio {cell['ratio']:.4f} ({cell['low']:.3f} to {cell['high']:.3f}); whole fit {cell['fit_ratio']:.3f}"
        )
    over = [cell["model"] for cell in cells if cell["ratio"] > LIMIT]
    print(f"{len(over)} of {len(cells)} cost more than {LIMIT - 1:.0%}", *over, sep="\n  ")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(cells, indent=1) + "\n")


def _compare(model: str, steps: int, rounds: int) -> dict[str, Any]:
    """Train in turns; every second round goes backwards."""
    spent: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
    root = Path(tempfile.mkdtemp())
    try:
        with _dashboard(root) as (address, server), _reader(address) as client:
            watchers = (server, client)
            _train(model, steps, root / "warm-up")
            for number in range(rounds):
                for side in SIDES if number % 2 == 0 else SIDES[::-1]:
                    for watcher in watchers:
                        watcher.send_signal(signal.SIGCONT if side == "watched" else signal.SIGSTOP)
                    spent[side].append(_train(model, steps, root / f"run-{number}" if side == "watched" else None))
            for watcher in watchers:
                watcher.send_signal(signal.SIGCONT)
    finally:
        shutil.rmtree(root)
    alone, watched = ([step for step, _ in spent[side]] for side in SIDES)
    ratios = sorted(other / own for own, other in zip(alone, watched, strict=True))
    fits = [other / own for (_, own), (_, other) in zip(spent["alone"], spent["watched"], strict=True)]
    return {
        "model": model,
        "steps": steps,
        "rounds": rounds,
        "alone": median(alone),
        "watched": median(watched),
        "ratio": median(ratios),
        "low": ratios[len(ratios) // 4],
        "high": ratios[-1 - len(ratios) // 4],
        "fit_ratio": median(fits),
    }


def _train(model: str, steps: int, run: Path | None) -> tuple[float, float]:
    """Train and return the seconds of a step and of all."""
    import neuro_divergent as nd

    class Clock(nd.callbacks.Callback):
        def __init__(self) -> None:
            self.times: list[float] = []

        def step_end(self, trainer: nd.Trainer) -> None:
            self.times.append(time.perf_counter())

    clock = Clock()
    training = nd.TrainingConfig(max_steps=steps, max_epochs=None, early_stopping=None, threads=1)
    forecaster = nd.Forecaster(model, training=training, horizon=24, input_size=96, validation=0.05)
    began = time.perf_counter()
    forecaster.fit(_table(), run=run, callbacks=[clock])
    return mean_step(clock.times), time.perf_counter() - began


def _table() -> Any:
    import numpy as np
    import polars as pl

    steps = np.arange(2000)
    random = np.random.default_rng(0)
    parts = [
        pl.DataFrame(
            {"unique_id": f"series {k}", "ds": steps, "y": np.sin(steps / 24 * 6.28) + random.normal(0, 0.3, 2000)}
        )
        for k in range(20)
    ]
    return pl.concat(parts)


@contextmanager
def _dashboard(root: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve a directory of runs from a process of its own; give its address."""
    command = [sys.executable, "-m", "neuro_divergent.interfaces.cli.main", "dashboard", str(root), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        seen = ""
        for line in process.stdout:
            seen += line
            if found := re.search(r"http://[^\s/#]+", line):
                yield found[0], process
                break
        else:
            raise RuntimeError(f"the dashboard did not start: {seen}")
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def _reader(address: str) -> Iterator[subprocess.Popen[bytes]]:
    """Read from a process of its own, so that it takes nothing from the interpreter that trains."""
    process = subprocess.Popen([sys.executable, __file__, "--follow", address])
    try:
        yield process
    finally:
        process.kill()
        process.wait(20)


def _follow(address: str) -> None:
    """Do what an open page does: read the stream of the run that trains, and its curves twice a second."""

    def get(path: str) -> Any:
        with urllib.request.urlopen(address + path, timeout=60) as answer:
            return json.load(answer)

    def stream(run: str) -> None:
        with urllib.request.urlopen(f"{address}/api/runs/{run}/stream?offset=0", timeout=600) as lines:
            for _ in lines:
                pass

    followed = set()
    while True:
        time.sleep(0.5)
        for run in get("/api/runs?state=running")["runs"]:
            if run["id"] not in followed:
                followed.add(run["id"])
                threading.Thread(target=stream, args=(run["id"],), daemon=True).start()
            get(f"/api/runs/{run['id']}/history")


if __name__ == "__main__":
    main()
