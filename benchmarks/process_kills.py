"""Seconds from the kill of one of several processes that train together to the next step of the training.

Starts ``nd train --processes 2 --retries ...``, kills one process after another with SIGKILL, each rank in turn, and
prints how long it took until all processes had ended, until new ones had been started, and until training went on.
``--busy`` measures it beside one busy process per core. Linux only.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from neuro_divergent.core.threads import available_cores
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.runs.status import describe_run
from timing import SOURCE

SETTINGS = [
    *("--horizon", "4", "--model", "mlp", "--input-size", "12", "--quiet", "--retries", "1000000"),
    *("--max-steps", "1000000000", "--max-epochs", "1000000000", "-s", "training.early_stopping=none"),
    *("-s", "model.hidden_size=16", "-s", "checkpoints.every_steps=20", "-s", "checkpoints.every_epochs=none"),
]
GOAL = 10.0
PATIENCE = 300.0


def main() -> None:
    """Kill, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--busy", action="store_true", help="with one busy process per core beside it")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends the training, too
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        for _ in range(available_cores() if options.busy else 0):
            busy = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(busy.kill)
        waits = measure(Path(place), options.kills, options.processes)
    for name, column in zip(("ended", "started", "training"), zip(*waits, strict=True), strict=True):
        print(f"{name:>8}: median {median(column):.2f} s, longest {max(column):.2f} s")
    within = sum(wait[-1] <= GOAL for wait in waits)
    print(f"training went on within {GOAL:g} s after {within} of {len(waits)} kills")


def measure(place: Path, kills: int, processes: int) -> list[tuple[float, float, float]]:
    """Return the seconds until all processes had ended, were started again, and trained, for each kill."""
    table, run = place / "series.csv", place / "run"
    Synthetic(num_series=3, length=120, noise=0.3).frame().write_csv(table)
    command = [sys.executable, "-m", "neuro_divergent", "train", str(table), *SETTINGS, "-o", str(run)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    found = []
    with (place / "said").open("w") as said:
        training = subprocess.Popen([*command, "--processes", str(processes)], env=environment, stderr=said)
        try:
            for kill in range(kills):
                found.append(time_kill(training, run, kill % processes, processes))
                print(f"kill {kill + 1}:", *(f"{seconds:.2f}" for seconds in found[-1]), "s", flush=True)
        finally:
            training.terminate()
            training.wait()
    return found


def time_kill(training: subprocess.Popen[bytes], run: Path, rank: int, processes: int) -> tuple[float, float, float]:
    """Kill a process once there is a new checkpoint, and return the seconds until the three stages after it."""
    saved = last_step(run)
    wait_for(training, lambda: last_step(run) > saved)
    begun, killed = starts(run), ranks_of(run)
    began = time.monotonic()
    os.kill(killed[rank], signal.SIGKILL)
    stages: list[Callable[[], bool]] = [
        lambda: not set(killed.values()) & set(ranks_of(run).values()),
        lambda: len(ranks_of(run)) == processes,
        lambda: starts(run) > begun,
    ]
    seconds = []
    for stage in stages:
        wait_for(training, stage)
        seconds.append(time.monotonic() - began)
    return seconds[0], seconds[1], seconds[2]


def wait_for(training: subprocess.Popen[bytes], condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    until = time.monotonic() + PATIENCE
    while not condition():
        if training.poll() is not None or time.monotonic() > until:
            raise SystemExit(f"training did not go on; exit code {training.poll()}")
        time.sleep(0.02)


def starts(run: Path) -> int:
    """Return how often training has begun."""
    try:
        return (run / "events.jsonl").read_text("utf-8").count('"event":"start"')
    except OSError:
        return 0


def last_step(run: Path) -> int:
    """Return the step of the last complete checkpoint."""
    return max((item.step for item in describe_run(run).checkpoints if item.is_complete), default=0)


def ranks_of(run: Path) -> dict[int, int]:
    """Return the numbers of the processes that train, by rank."""
    found = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            try:
                name, _, rank = (path / "comm").read_text().rpartition(" ")
            except OSError:
                continue
            if name == "nd rank" and is_part_of(path, run):
                found[int(rank)] = int(path.name)
    return found


def is_part_of(process: Path, run: Path) -> bool:
    """Whether a process trains in a directory: its command names that, or the command of a process that started it."""
    try:
        if str(run).encode() in (process / "cmdline").read_bytes().split(b"\0"):
            return True
        parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
    except OSError:
        return False
    return parent != "0" and is_part_of(process.parent / parent, run)


if __name__ == "__main__":
    main()
