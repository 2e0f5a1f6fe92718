"""A small training that the tests of callbacks share."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

import neuro_divergent as nd


def line(count: int = 64) -> tuple[torch.Tensor, torch.Tensor]:
    inputs = torch.randn(count, 3, generator=torch.Generator().manual_seed(0))
    return inputs, inputs @ torch.tensor([[1.0], [-2.0], [0.5]]) + 0.3


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Linear(3, 1)


def config(**changes: Any) -> nd.TrainingConfig:
    settings = {"max_steps": 30, "batch_size": 16, "threads": 1, "optimizer": nd.optimizers.Adam(lr=0.05), **changes}
    return nd.TrainingConfig(**settings)


def trainer(*callbacks: nd.callbacks.Callback, module: nn.Module | None = None, **changes: Any) -> nd.Trainer:
    return nd.Trainer(module or network(), nd.losses.MSE(), config(**changes), callbacks=callbacks)
