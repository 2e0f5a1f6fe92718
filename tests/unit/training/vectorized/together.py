"""Trainings of several networks, one after the other and vectorized, on a few waves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
import torch
from torch import nn

import neuro_divergent as nd
from neuro_divergent.forecasting.network_training import NetworkTraining
from neuro_divergent.training.precision import Precision
from neuro_divergent.training.vectorized.trainer import Member, VectorizedTrainer


def waves(num_series: int = 3, length: int = 60, *, missing: bool = False) -> pl.DataFrame:
    """Return waves with noise, an importance for each row and, where asked for, missing values."""
    random = np.random.default_rng(0)
    time = np.tile(np.arange(length), num_series)
    values = np.sin(time / 2) + random.normal(0, 0.3, time.size) + np.repeat(np.arange(num_series), length)
    table = pl.DataFrame(
        {
            "unique_id": np.repeat([f"s{number}" for number in range(num_series)], length),
            "ds": time,
            "y": values,
            "importance": random.random(time.size) + 0.1,
        }
    )
    return table.with_columns(y=pl.when(pl.col("ds") % 17 == 5).then(None).otherwise("y")) if missing else table


def trainings(
    model: Any, settings: Sequence[dict[str, Any]], *, data: Any = None, **task: Any
) -> list[NetworkTraining]:
    """Return trainings in float64, one for each of some settings."""
    configs = [nd.TrainingConfig(**_SETTINGS | own) for own in settings]
    forecaster = nd.Forecaster(model, **{"horizon": 4, "input_size": 12, "training": configs[0], **task})
    if data is None:
        prepared = forecaster._prepare(waves().drop("importance"), {})
    else:
        prepared = forecaster._prepare(data, {"missing": "mask", "weight": "importance"})
    return [NetworkTraining(forecaster.architecture, config, prepared) for config in configs]


_SETTINGS: dict[str, Any] = {
    "max_steps": 50,
    "batch_size": 16,
    "validate_every": 10,
    "precision": "float64",
    "threads": 1,
}


def members_of(made: Sequence[NetworkTraining]) -> list[Member]:
    return [Member(item.trainer, item.train, item.validation) for item in made]


def train_alone(made: Sequence[NetworkTraining]) -> None:
    for item in made:
        item.trainer.fit(item.train, item.validation)


def train_together(made: Sequence[NetworkTraining]) -> list[Member]:
    members = members_of(made)
    VectorizedTrainer(members).fit()
    return members


@contextmanager
def casting_once(self: Precision, module: nn.Module) -> Iterator[None]:
    """Bring the weights into float64 and leave them there, so that their last digits can be compared."""
    assert self.name == "float64"
    module.double()
    yield


def distance(one: NetworkTraining, other: NetworkTraining) -> float:
    """Return the largest difference of two weights, relative to the largest weight."""
    mine, theirs = (torch.cat([p.detach().flatten() for p in item.network.parameters()]) for item in (one, other))
    assert mine.dtype == torch.float64
    return float((mine - theirs).abs().max() / mine.abs().max())
