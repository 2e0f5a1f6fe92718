"""Trainings that make rules speak, and one that does not: real ones wherever they take no more than a second."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.errors import DataWarning, DivergedError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.models.base import Architecture
from neuro_divergent.runs.processes import processes_of
from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.engine import Trainer

SEASONAL = Synthetic(num_series=8, length=300, seasonalities=(7,), noise=3.0).frame()


def train(
    frame: pl.DataFrame,
    *,
    model: dict[str, Any] | str = "nlinear",
    lr: float = 1e-3,
    steps: int = 200,
    optimizer: Any = None,
    task: dict[str, Any] | None = None,
    columns: dict[str, Any] | None = None,
    callbacks: tuple[Callback, ...] = (),
    **training: Any,
) -> Evidence:
    """Train in a directory, and return all that is known of it: from its files, and from the forecaster."""
    settings = nd.TrainingConfig(
        max_steps=steps, optimizer=nd.AdamW(lr=lr) if optimizer is None else optimizer, batch_size=32, threads=1,
        **{"validate_every": 20, "early_stopping": None, **training},
    )  # fmt: skip
    forecaster = nd.Forecaster(
        Architecture.from_dict(model),
        training=settings,
        **{"horizon": 7, "input_size": 28, "test": 0.2, "refit": False, **(task or {})},
    )
    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / "run"
        try:
            forecaster.fit(frame, run=run, callbacks=callbacks, **(columns or {}))
        except DivergedError:
            return Evidence.of_run(run)
        from_files = Evidence.of_run(run)
    known = Evidence.of(forecaster)
    assert from_files.history is not None
    assert known.history is not None
    assert from_files.history.equals(known.history)
    return dataclasses.replace(known, layers=from_files.layers, state=from_files.state)


class DeadStart(Callback):
    """Gives every hidden unit a bias that no input overcomes."""

    def fit_start(self, trainer: Trainer) -> None:
        """Change the biases of all layers but the last."""
        biases = [item for name, item in trainer.module.named_parameters() if name.endswith("bias")]
        with torch.no_grad():
            for bias in biases[:-1]:
                bias.fill_(-1e4)


@cache
def healthy() -> Evidence:
    """A sensible training with covariates, enough validations and a test part."""
    return train(
        Synthetic(num_series=8, length=400, seasonalities=(7,), noise=3.0, covariates=True, seed=5).frame(),
        model={"name": "nhits", "hidden_size": 32},
        steps=420,
        columns={"future": ("price",), "past": ("visitors",)},
        log_every=5,
    )


def noise(rows: int, seed: int = 0, **columns: Any) -> pl.DataFrame:
    """One series of independent values around 10."""
    values = 10 + np.random.default_rng(seed).standard_normal(rows)
    return pl.DataFrame({"ds": np.arange(rows), "y": values, **columns})


def with_column(name: str, values: pl.Expr) -> pl.DataFrame:
    """The seasonal series with a covariate."""
    return SEASONAL.with_columns(values.alias(name))


def wilder_end() -> pl.DataFrame:
    """The seasonal series, whose noise is five times as large in the test part."""
    place = pl.int_range(pl.len()).over("unique_id") / pl.len().over("unique_id")
    extra = pl.Series(np.random.default_rng(3).standard_normal(len(SEASONAL)) * 15.0)
    return SEASONAL.with_columns(pl.when(place >= 0.8).then(pl.col("y") + extra).otherwise(pl.col("y")).alias("y"))


def with_spikes() -> pl.DataFrame:
    """The seasonal series with a few absurd values."""
    place = pl.int_range(pl.len()).over("unique_id")
    return SEASONAL.with_columns(pl.when(place % 97 == 50).then(1e6).otherwise(pl.col("y")).alias("y"))


def with_constant_series() -> Evidence:
    """Eight series, five of which never change; reading them warns."""
    is_constant = pl.col("unique_id") < "series-5"
    with pytest.warns(DataWarning, match="5 series affected"):
        return train(SEASONAL.with_columns(pl.when(is_constant).then(3.0).otherwise("y").alias("y")), steps=50)


def together(busy: list[float], rows: int = 5) -> Evidence:
    """A training in several processes, as process 0 writes it down; ``busy`` is the own time of each in a step."""
    columns = {"samples_per_second": 10.0, "waiting": 0.5, "memory_bytes": 1e9, "device": "cpu", "host": "node"}
    same = {name: [value] * len(busy) for name, value in columns.items()}
    events = [{"event": "start", "step": 0}]
    events += [{"event": "processes", "step": row, **same, "busy_seconds": busy} for row in range(1, rows + 1)]
    return dataclasses.replace(speeds([10.0] * rows, 1.0), processes=processes_of(events))


def speeds(samples: list[float], seconds: float, **columns: Any) -> Evidence:
    """A long training, as its history tells; too long to be repeated here."""
    rows = len(samples)
    history = pl.DataFrame(
        {
            "step": np.arange(1, rows + 1) * 10,
            "seconds": np.linspace(seconds / rows, seconds, rows),
            "train_loss": np.linspace(1.0, 0.5, rows),
            "samples_per_second": samples,
            **columns,
        }
    )
    return Evidence(history=history, config={"training": {"threads": "auto", "prefetch": 0}})


@cache
def triggering(name: str) -> Evidence:
    """What makes a rule speak."""
    return TRIGGERS[name]()


HUGE = SEASONAL.with_columns(pl.col("y") * 1e9)
RAW = {"scaler": "identity"}
SMALL_MLP = {"name": "mlp", "hidden_size": 32}
NHITS = {"name": "nhits", "hidden_size": 16}

TRIGGERS: dict[str, Callable[[], Evidence]] = {
    "not_finite": lambda: train(
        SEASONAL, optimizer=nd.optimizers.SGD(lr=1e30), clip=None, task={"loss": "mse"}, steps=30
    ),
    "diverging": lambda: train(SEASONAL, optimizer=nd.optimizers.SGD(lr=30.0), clip=None, schedule="inverse_sqrt"),
    "rate_too_high": lambda: train(SEASONAL, lr=0.3),
    "rate_too_low": lambda: train(SEASONAL, model=SMALL_MLP, lr=1e-7),
    "oscillation": lambda: train(
        SEASONAL, optimizer=nd.optimizers.SGD(lr=3.0), schedule="constant", clip=None, steps=300
    ),
    "plateau": lambda: train(SEASONAL, lr=3e-2, schedule="constant", steps=600),
    "overfitting": lambda: train(
        noise(150), model={"name": "mlp", "hidden_size": 256}, steps=300, task={"test": 0, "validation": 0.3}
    ),
    "underfitting": lambda: train(SEASONAL, model=SMALL_MLP, lr=1e-6, steps=100),
    "stopped_early": lambda: train(
        SEASONAL, model=SMALL_MLP, lr=1e-3, steps=60, validate_every=5, log_every=5, schedule="constant"
    ),
    "vanishing_gradients": lambda: train(SEASONAL, model=SMALL_MLP, callbacks=(DeadStart(),)),
    "exploding_gradients": lambda: train(SEASONAL, task={**RAW, "loss": "mse"}, lr=1e-4),
    "dead_units": lambda: train(SEASONAL, model=SMALL_MLP, callbacks=(DeadStart(),)),
    "unscaled_data": lambda: train(HUGE, task=RAW, steps=50),
    "outliers": lambda: train(with_spikes(), steps=50),
    "constant_series": with_constant_series,
    "constant_covariate": lambda: train(
        with_column("price", pl.lit(2.5)), model=NHITS, steps=50, columns={"future": ("price",)}
    ),
    "leakage": lambda: train(
        with_column("sold", pl.col("y") * 2 + 1), model=NHITS, steps=50, columns={"future": ("sold",)}
    ),
    "residual_autocorrelation": lambda: train(SEASONAL, task=RAW, lr=1e-6, steps=30),
    "missed_season": lambda: train(SEASONAL, task={"input_size": 3}),
    "bias": lambda: train(SEASONAL, model=SMALL_MLP, task=RAW, lr=1e-6, steps=30),
    "calibration": lambda: train(wilder_end()),
    "worse_than_naive": lambda: train(SEASONAL, model=SMALL_MLP, lr=1e-6, steps=100),
    "slow_input": lambda: speeds([1000.0] * 30, 100.0, waiting_share=[0.6] * 30),
    "slow_disk": lambda: dataclasses.replace(speeds([1000.0] * 30, 100.0, waiting_share=[0.5] * 30), on_disk=True),
    "unstable_speed": lambda: speeds([1000.0] * 15 + [100.0] * 15, 100.0),
    "straggler": lambda: together([0.02, 0.05, 0.021]),
    "small_validation": lambda: train(noise(60), task={"test": 0, "input_size": 14}, steps=40),
}
