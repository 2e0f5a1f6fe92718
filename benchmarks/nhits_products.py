"""How much of a training step of NHITS is matrix products, here and in NeuralForecast.

The sizes are those of benchmarks/cross_validation.py: windows 240 -> 48, 1,024 of them a step, one thread. The products
of a forward and a backward pass are recorded on both sides and replayed alone. All times are those of the processor,
the lowest of what was seen, in one process.

    python benchmarks/nhits_products.py
"""

from __future__ import annotations

import os

os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "BENCHMARK_CLOCK": "processor"}

import argparse
from itertools import pairwise
from typing import Any

from versus import series

series.HORIZON, series.INPUT_SIZE = 48, 240  # before both sides read them

from versus import ours, products, theirs  # noqa: E402

SERIES, LENGTH, STEPS = 414, 900, 8


def main() -> None:
    """Measure both sides and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="how often each side is measured")
    rounds = parser.parse_args().rounds
    sides: dict[str, Any] = {"ours": ours, "theirs": theirs}
    recorded = {name: side.matrix_products("NHITS") for name, side in sides.items()}
    steps: dict[str, list[float]] = {name: [] for name in sides}
    bare: dict[str, list[float]] = {name: [] for name in sides}
    table = series.daily_series(SERIES, LENGTH)
    for name, side in reversed(sides.items()):  # ours sets the allocator of the process, which would slow theirs down
        for _ in range(rounds):
            times = side.fit("NHITS", table, STEPS)[1].times
            steps[name].append(min(after - before for before, after in pairwise(times[2:])))
            bare[name].append(products.replay_seconds(recorded[name], calls=4))
    for name in sides:
        step, alone = 1e3 * min(steps[name]), 1e3 * min(bare[name])
        print(f"{name:7} step {step:6.1f} ms, its {len(recorded[name])} products {alone:6.1f} ms, {alone / step:.0%}")
    print(f"ratio {min(steps['theirs']) / min(steps['ours']):.2f}; without anything but our products", end=" ")
    print(f"{min(steps['theirs']) / min(bare['ours']):.2f}")


if __name__ == "__main__":
    main()
