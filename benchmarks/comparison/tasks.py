"""What is learned: a network, public data and a number of steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

import neuro_divergent as nd
from neuro_divergent.data.panel_builder import build_panel
from reproduction.published import DATA_SETS

VALIDATIONS = 20  # in a run: the plateau schedule acts on them


@dataclass(frozen=True, kw_only=True)
class Task:
    """One task.

    Attributes:
        title: What it is, for the page.
        architecture: The network.
        read: Returns the data, given the directory of the data sets.
        horizon: Steps to forecast.
        input_size: Steps of history.
        validation: Rows at the end of each series that are held out.
        stride: Rows between two training windows.
        batch_size: Windows a step.
        steps: Steps that every run gets.
    """

    title: str
    architecture: nd.Architecture
    read: Callable[[Path], nd.Panel]
    horizon: int
    input_size: int
    validation: int
    steps: int
    stride: int = 1
    batch_size: int = 32

    def forecaster(self, training: nd.TrainingConfig) -> nd.Forecaster:
        """Return an untrained forecaster for this task."""
        return nd.Forecaster(
            self.architecture,
            horizon=self.horizon,
            input_size=self.input_size,
            validation=self.validation,
            step=self.stride,
            loss=nd.losses.MAE(),
            training=training,
        )

    def training(self, steps: int, **settings: Any) -> nd.TrainingConfig:
        """Return settings that leave everything at its default but what a run varies."""
        return nd.TrainingConfig(
            max_steps=steps,
            batch_size=self.batch_size,
            early_stopping=None,
            validate_every=max(steps // VALIDATIONS, 1),
            threads=1,
            device="cpu",
            **settings,
        )


@lru_cache(maxsize=1)
def _hourly(directory: Path) -> nd.Panel:
    """Return the training part of the hourly series of the M4 competition."""
    table = pl.read_parquet(directory / "m4_hourly_train.parquet")
    return build_panel(table.select("unique_id", pl.col("ds").cast(pl.Int64), "y"))


@lru_cache(maxsize=1)
def _etth1(directory: Path) -> nd.Panel:
    """Return ETTh1 without its test part."""
    data = DATA_SETS["etth1"]
    return build_panel(data.read(directory).filter(pl.col("ds") < data.train + data.validation))


TASKS = {
    "nhits": Task(
        title="NHITS on M4 hourly, 414 series, 240 -> 48",
        architecture=nd.NHITS(),
        read=_hourly,
        horizon=48,
        input_size=240,
        validation=48,
        stride=24,
        steps=200,
    ),
    "lstm": Task(
        title="LSTM on ETTh1, 7 series, 96 -> 24",
        architecture=nd.LSTM(hidden_size=64),
        read=_etth1,
        horizon=24,
        input_size=96,
        validation=720,
        stride=24,
        steps=120,
    ),
    # PatchTST/42 with its usual width of 128 has 0.92 million weights for this task.
    "transformer": Task(
        title="iTransformer of the size of PatchTST/42 on ETTh1, 7 channels at once, 336 -> 96",
        architecture=nd.ITransformer(hidden_size=192, num_heads=8, num_layers=3, feedforward_size=384),
        read=_etth1,
        horizon=96,
        input_size=336,
        validation=DATA_SETS["etth1"].validation,
        stride=8,
        steps=120,
    ),
}
