"""Whether batches made ahead by a background thread pay, for a panel in memory and for one mapped from disk.

A panel of 400 MB is saved, its pages are dropped from the page cache before each run where the system permits, and a
few hundred steps are trained with and without prefetching. Prints milliseconds per step and the ratio.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import neuro_divergent as nd
from neuro_divergent.data.cleaning.frequency import Frequency
from timing import in_turns

SERIES, LENGTH, STEPS, ROUNDS = 1000, 100_000, 150, 3


def make_panel(directory: Path) -> None:
    """Write random walks to disk."""
    random = np.random.default_rng(0)
    nd.Panel(
        schema=nd.Schema(id="unique_id"),
        ids=pl.Series("unique_id", range(SERIES)),
        starts=pl.Series("ds", [0] * SERIES),
        frequency=Frequency.parse(1),
        offsets=np.arange(SERIES + 1) * LENGTH,
        y=random.standard_normal(SERIES * LENGTH, dtype=np.float32),
    ).save(directory)


def forget(directory: Path) -> None:
    """Drop the files of a directory from the page cache."""
    for path in directory.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def milliseconds_per_step(directory: Path, *, mmap: bool, prefetch: int) -> float:
    """Train a small NHITS for a few steps."""
    forget(directory)
    panel = nd.Panel.open(directory, mmap=mmap)
    config = nd.TrainingConfig(max_steps=STEPS, batch_size=256, threads=1, prefetch=prefetch, log_every=STEPS)
    forecaster = nd.Forecaster(nd.NHITS(hidden_size=128), horizon=24, input_size=96, validation=0, training=config)
    history = forecaster.fit(panel).history
    return 1000 * 256 / history["samples_per_second"][-1]


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place) / "panel"
        make_panel(directory)
        print(f"{'panel':>10} {'prefetch 0':>11} {'prefetch 2':>11} {'gain':>6}")
        for mmap in (False, True):
            without, with_two = in_turns(
                ROUNDS,
                lambda mmap=mmap: milliseconds_per_step(directory, mmap=mmap, prefetch=0),
                lambda mmap=mmap: milliseconds_per_step(directory, mmap=mmap, prefetch=2),
            )
            kind = "on disk" if mmap else "in memory"
            print(f"{kind:>10} {without:>9.2f}ms {with_two:>9.2f}ms {without / with_two:>5.2f}x")


if __name__ == "__main__":
    main()
