"""What block shuffle changes: validation losses of the same trainings in exact order and in blocks.

The data here are small, so blocks and buffers are made small as well, down to sizes that no large panel has.
"""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev
from typing import Any

import polars as pl

import neuro_divergent as nd
from large.panels import show
from neuro_divergent.data.block_shuffle import BlockShuffle

# Blocks, visits of each and buffers. As of a panel of 4 GB are 512 visits in a buffer and 16 of each block.
DIVISIONS = {
    "512 visits a buffer": (512, 16, 16),
    "64 visits a buffer": (512, 16, 128),
    "16 visits a buffer": (256, 16, 256),
    "64 whole blocks a buffer": (1024, 1, 16),
    "4 whole blocks a buffer": (64, 1, 16),
}
STEPS, BATCH = 400, 128


def measure(data: Path, seeds: int) -> dict[str, Any]:
    """Return the change of the validation loss by data set, architecture and division, over some seeds."""
    found: dict[str, Any] = {}
    table = []
    for name, (frame, task) in _data_sets(data).items():
        for model in ("NLinear", "NHITS"):
            exact = [_error(frame, task, model, seed, None) for seed in range(seeds)]
            spread = 100 * stdev(exact) / mean(exact)
            for title, division in DIVISIONS.items():
                errors = [_error(frame, task, model, seed, division) for seed in range(seeds)]
                changes = [100 * (after / before - 1) for before, after in zip(exact, errors, strict=True)]
                key = f"{name}, {model}, {title}"
                found[key] = {"exact": exact, "blocks": errors, "change": mean(changes), "spread": stdev(changes)}
                table.append([name, model, title, mean(exact), spread, mean(changes), stdev(changes)])
    columns = ["data", "", "division", "loss", "of seeds %", "change %", "spread %"]
    show(
        f"(f) Validation loss, {seeds} seeds, {STEPS} steps of {BATCH}: exact, and change by blocks",
        columns,
        table,
    )
    return found


def _data_sets(data: Path) -> dict[str, tuple[pl.DataFrame, dict[str, Any]]]:
    etth = pl.read_parquet(data / "ettm1.parquet").unpivot(index="date", variable_name="unique_id", value_name="y")
    etth = etth.rename({"date": "ds"}).sort("unique_id", "ds")
    if etth["ds"].dtype == pl.String:
        etth = etth.with_columns(pl.col("ds").str.to_datetime())
    hourly = pl.read_parquet(data / "m4_hourly_train.parquet").sort("unique_id", "ds")
    return {
        "M4 hourly": (hourly, {"horizon": 24, "input_size": 96, "validation": 48}),
        "ETTm1": (etth, {"horizon": 24, "input_size": 96, "validation": 0.2}),
    }


def _error(frame: pl.DataFrame, task: dict[str, Any], model: str, seed: int, division: Any) -> float:
    """Train and return the loss of the last validation."""
    of = BlockShuffle.of
    if division is not None:
        BlockShuffle.of = staticmethod(lambda size, nbytes: _divided(size, *division))  # type: ignore[method-assign,assignment]
    try:
        shuffle = True if division is None else "blocks"
        config = nd.TrainingConfig(
            max_steps=STEPS, batch_size=BATCH, seed=seed, shuffle=shuffle, threads=1, early_stopping=None,
            validate_every=STEPS, log_every=STEPS,
        )  # fmt: skip
        network = nd.NHITS(hidden_size=64) if model == "NHITS" else nd.NLinear()
        forecaster = nd.Forecaster(network, refit=False, training=config, **task).fit(
            frame, id="unique_id", time="ds", target="y"
        )
        return float(forecaster.history["validation_loss"].drop_nulls()[-1])
    finally:
        BlockShuffle.of = of  # type: ignore[method-assign]


def _divided(size: int, blocks: int, visits: int, buffers: int) -> BlockShuffle:
    return BlockShuffle(size, blocks, visits, buffers)
