"""Every architecture either can be vectorized, and then trains as it does alone, or is known not to."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
import torch

from neuro_divergent.forecasting.network_training import NetworkTraining
from neuro_divergent.models.base import Architecture
from neuro_divergent.training.precision import Precision
from neuro_divergent.training.vectorized.speed import speedup
from tests.contracts.test_architectures import small
from tests.unit.training.vectorized.together import (
    casting_once,
    distance,
    members_of,
    train_alone,
    train_together,
    trainings,
    waves,
)

NO_RULE = "torch has no batching rule for one of its operations, or only a slow one"
BATCH_NORM = "its default normalises over the batch, which changes buffers"
RANDOM = "it draws random numbers"
EXCEPTIONS = {
    NO_RULE: {
        "bitcn",
        "deepar",
        "dilated_rnn",
        "gru",
        "itransformer",
        "lstm",
        "rnn",
        "stemgnn",
        "tcn",
        "tft",
        "timellm",
    }
    | {"timesnet", "timexer", "vanilla_transformer", "xlstm"},
    BATCH_NORM: {"deepnpts", "patchtst", "rmok", "tsmixer"},
    RANDOM: {"informer", "softs"},
}
SLOW = (
    "autoformer",
    "fedformer",
    "kan",
    "mlpmultivariate",
    "nbeats",
    "nbeatsx",
    "timellm",
    "timemixer",
    "tsmixerx",
    "xlinear",
)
SENSITIVE = ("fedformer",)  # a change in the last digit of its weights grows ten-thousandfold in 50 steps


def without_dropout(name: str) -> Architecture:
    architecture = small(name)
    return architecture.replace(**{key: 0.0 for key in type(architecture).model_fields if "dropout" in key})


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in Architecture.registry.names()],
)
def test_an_architecture_is_trained_together_as_it_is_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: list[dict[str, Any]] = [{"seed": seed} for seed in range(2)]
    data = waves(missing=True)
    found = speedup(members_of(trainings(without_dropout(name), settings, data=data)))
    assert (found == 0) == any(name in names for names in EXCEPTIONS.values())
    if found == 0:
        return
    monkeypatch.setattr(Precision, "casting", casting_once)
    alone, together = (trainings(without_dropout(name), settings, data=data) for _ in range(2))
    train_alone(alone)
    train_together(together)
    limit = 100 * growth_of_rounding(name, alone[0], data) if name in SENSITIVE else 1e-12
    for mine, other in zip(alone, together, strict=True):
        assert distance(mine, other) < limit
        assert mine.trainer.state.selected_step == other.trainer.state.selected_step


def growth_of_rounding(name: str, trained: NetworkTraining, data: pl.DataFrame) -> float:
    """Return how far apart two trainings end whose first weights differ by rounding."""
    (other,) = trainings(without_dropout(name), [{"seed": 0}], data=data)
    with torch.no_grad():
        for parameter in other.network.double().parameters():
            parameter.mul_(1 + 4e-16)
    train_alone([other])
    return distance(trained, other)
