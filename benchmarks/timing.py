"""Measuring things in turns, so that a busy moment of the machine falls on all of them."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

SOURCE = Path(__file__).resolve().parents[1] / "src"
WARM_UP = 5  # steps before the clock starts
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
CLOCK_VARIABLE = "BENCHMARK_CLOCK"  # which of them is read; a variable, so that other processes know it


def now() -> float:
    """Return the time of the chosen clock: the wall clock, or the time this process spent on processors."""
    return CLOCKS[_clock()]()


def _clock() -> str:
    return os.environ.get(CLOCK_VARIABLE, "wall")


def in_turns(rounds: int, *measures: Callable[[], float]) -> list[float]:
    """Call each measure once per round and return the median of each, or the minimum of processor times.

    Every second round goes backwards, so that none is always the first.
    """
    results: list[list[float]] = [[] for _ in measures]
    for number in range(rounds):
        order = range(len(measures)) if number % 2 == 0 else reversed(range(len(measures)))
        for place in order:
            results[place].append(measures[place]())
    return [(median if _clock() == "wall" else min)(values) for values in results]


def mean_step(times: list[float]) -> float:
    """Return the mean time of a step after the warm-up, from the times at which steps ended."""
    return (times[-1] - times[WARM_UP]) / (len(times) - 1 - WARM_UP)


def call_seconds(function: Callable[[], object], calls: int) -> float:
    """Return the median time of a call, after one call that is not counted."""
    function()
    spent = []
    for _ in range(calls):
        began = now()
        function()
        spent.append(now() - began)
    return median(spent)


def process_seconds(command: Sequence[str], threads: int) -> float:
    """Return the time of a command from start to exit."""
    if _clock() == "processor":
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(command, threads)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    began = time.perf_counter()
    run(command, threads)
    return time.perf_counter() - began


def run_python(code: str, threads: int) -> float:
    """Return the time of a fresh Python that runs some code."""
    return process_seconds([sys.executable, "-c", code], threads)


def process_bytes(field: str) -> int:
    """Return a size of this process from the kernel: ``VmRSS`` for its memory now, ``VmHWM`` for the most it had."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def run(command: Sequence[str], threads: int) -> str:
    """Run a command with the package of this checkout importable, and return what it printed.

    Raises:
        RuntimeError: If the command failed, with the end of what it wrote to the error stream.
    """
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)[:200]} failed:\n{done.stderr[-2000:]}")
    return done.stdout
