"""How many windows a step should have: time to a given quality for batches of several sizes.

NHITS at its defaults learns a small table (two series of AirPassengers' length) and a large one (M4 hourly). All sizes
are trained for the same time on the processor; what counts is the lowest validation error reached, and how long a size
takes to get within two percent of the best of all. ``TrainingConfig.batch_size_for`` is taken from this.

    python benchmarks/batch_size.py --data ../shared/data
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

import neuro_divergent as nd
from neuro_divergent.data.datasets.bundled import air_passengers
from neuro_divergent.data.panel_builder import build_panel

SIZES = (8, 32, 64, 128, 256, 512)
NEAR = 1.02


class Clock(nd.callbacks.Callback):
    """Notes validation errors by the time spent on the processor, and ends training when it is used up."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.curve: list[tuple[float, float]] = []

    def fit_start(self, trainer: nd.Trainer) -> None:
        """Start the clock."""
        self.began = time.process_time()

    def validation_end(self, trainer: nd.Trainer) -> None:
        """Note the error."""
        spent = time.process_time() - self.began
        self.curve.append((spent, trainer.state.metrics["validation_loss"]))
        if spent > self.seconds:
            trainer.stop("time is up")


def learn(panel: nd.Panel, size: int, seconds: float, seed: int, **task: Any) -> list[tuple[float, float]]:
    """Return the validation errors of a run by time."""
    clock = Clock(seconds)
    training = nd.TrainingConfig(
        max_steps=1_000_000,
        batch_size=size,
        schedule="constant",
        early_stopping=None,
        validate_every=max(1600 // size, 10),  # so that validations take about the same share of the time
        seed=seed,
        threads=1,
    )
    nd.Forecaster(nd.NHITS(), training=training, **task).fit(panel, callbacks=[clock])
    return clock.curve


def main() -> None:
    """Train and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seconds", type=float, default=12.0, help="time of each run")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    small = pl.concat([air_passengers().with_columns(unique_id=pl.lit(name)) for name in ("a", "b")])
    tables: dict[str, tuple[nd.Panel, dict[str, Any]]] = {
        "two short series": (build_panel(small, nd.Schema()), {"horizon": 12, "input_size": 24, "validation": 24}),
    }
    hourly = arguments.data / "m4_hourly_train.parquet"
    if hourly.exists():
        panel = build_panel(hourly, nd.Schema())
        tables["M4 hourly"] = (panel, {"horizon": 48, "input_size": 240, "validation": 48})
    else:
        print(f"{hourly}: not found, so only the small table is measured")
    for title, (panel, task) in tables.items():
        curves = {
            size: [learn(panel, size, arguments.seconds, seed, **task) for seed in range(1, arguments.seeds + 1)]
            for size in SIZES
        }
        show(title, curves)


def show(title: str, curves: dict[int, list[list[tuple[float, float]]]]) -> None:
    """Print the best error of each size, and the time to come near the best of all."""
    best = {size: median(min(error for _, error in curve) for curve in runs) for size, runs in curves.items()}
    goal = min(best.values()) * NEAR
    print(f"\n{title}: lowest validation error {min(best.values()):.4f}; time to {goal:.4f}")
    for size, runs in curves.items():
        times = [next((spent for spent, error in curve if error <= goal), float("inf")) for curve in runs]
        print(f"{size:>5} windows  lowest {best[size]:.4f}  reached after {median(times):6.1f} s")


if __name__ == "__main__":
    main()
