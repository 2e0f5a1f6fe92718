"""Small trainings that are done in one process and in several, and what is compared of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

import neuro_divergent as nd
from neuro_divergent.core.spec import Batch, TaskSpec

ROWS = 13  # an odd number, so that processes have different numbers of rows
STEPS = 10

NETWORKS: dict[str, Any] = {
    "mlp": nd.MLP(hidden_size=8, num_layers=2),
    "nhits": nd.NHITS(hidden_size=8),
    "patchtst": nd.PatchTST(hidden_size=8, num_heads=2, num_layers=2, patch_length=4, stride=4, dropout=0.0, norm="layer"),
    "lstm": nd.LSTM(hidden_size=6, num_layers=2, dropout=0.0),
}


def network(name: str) -> nn.Module:
    torch.manual_seed(0)
    return NETWORKS[name].build(TaskSpec(horizon=4, input_size=12)).double()


def batches(number: int = 5, seed: int = 1) -> list[Batch]:
    """Return batches of which some targets are missing and others count more."""
    random = torch.Generator().manual_seed(seed)
    options: Any = {"generator": random, "dtype": torch.float64}
    made = []
    for _ in range(number):
        past = torch.randn(ROWS, 12, 1, **options)
        future = past[:, :4].sin() + past[:, 4:8]
        mask = (torch.rand(ROWS, 4, 1, **options) > 0.2).double()
        weight = torch.rand(ROWS, 4, 1, **options)
        made.append(Batch(past, future_y=future * mask, future_mask=mask, weight=weight))
    return made


def settings(**changes: Any) -> nd.TrainingConfig:
    common = {"max_steps": STEPS, "threads": 1, "validate_every": 3, "log_every": 1}
    return nd.TrainingConfig.from_dict({**common, "schedule": "constant", "early_stopping": None, **changes})


def train(name: str, changes: dict[str, Any], place: str | None = None, resume: str | None = None) -> dict[str, Any]:
    """Train a network, and return its weights, its history and the bytes of the optimizer's state."""
    config = settings(**changes)
    callbacks = [nd.callbacks.Checkpointing(directory=place, every_epochs=None, every_steps=4, keep=9)] if place else []
    module = network(name)
    kinds = [type(part) for part in module.modules()]
    trainer = nd.Trainer(module, nd.losses.RMSE(), config, callbacks=callbacks)
    trainer.fit(batches(), batches(2, seed=2), resume=None if resume is None else Path(resume))
    assert [type(part) for part in module.modules()] == kinds
    weights = torch.cat([item.detach().double().flatten() for item in module.parameters()])
    columns = ("step", "train_loss", "gradient_norm", "validation_loss")
    state = trainer.optimizer.state_dict()
    return {
        "weights": weights.tolist(),
        "rows": [{name: row.get(name) for name in columns} for row in trainer.history.rows],
        "selected": trainer.state.selected_step,
        "bytes": sum(tensor.nbytes for _, tensor in _tensors(state)),
    }


def train_all(cases: dict[str, tuple[str, dict[str, Any]]], strategy: Any) -> dict[str, Any]:
    """Train several networks one after another."""
    return {case: train(name, {**changes, "strategy": strategy}) for case, (name, changes) in cases.items()}


def _tensors(value: Any) -> Any:
    from neuro_divergent.training.checkpointing.snapshot import tensors_of

    return tensors_of(value)
