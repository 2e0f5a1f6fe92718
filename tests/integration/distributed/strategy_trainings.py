"""Small trainings that are done in one process and in several, and what is compared of them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import neuro_divergent as nd
from neuro_divergent.core.errors import DivergedError, DivergenceWarning
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.forecasting.ensemble.snapshots import Snapshots
from neuro_divergent.training.checkpointing.checkpoint import read_checkpoint
from neuro_divergent.training.checkpointing.snapshot import tensors_of
from neuro_divergent.training.parted import own_part
from neuro_divergent.training.schedules.chain import Chain
from neuro_divergent.training.schedules.cosine import Cosine

ROWS = 13  # an odd number, so that processes have different numbers of rows
STEPS = 10
SAVED = 4

NETWORKS: dict[str, Any] = {
    "mlp": nd.MLP(hidden_size=8, num_layers=2),
    "nhits": nd.NHITS(hidden_size=8),
    "patchtst": nd.PatchTST(
        hidden_size=8, num_heads=2, num_layers=2, patch_length=4, stride=4, dropout=0.0, norm="layer"
    ),
    "lstm": nd.LSTM(hidden_size=6, num_layers=2, dropout=0.0),
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "mlp": ("mlp", {"clip": {"name": "value", "limit": 0.01}}),
    "nhits": ("nhits", {"optimizer": {"name": "sgd", "lr": 0.05}, "clip": {"name": "norm", "limit": 0.1}}),
    "patchtst": ("patchtst", {"accumulate": 2, "l2": 0.01}),
    "lstm": ("lstm", {"average": "ema"}),
    "lion": ("mlp", {"optimizer": "lion", "clip": "none"}),
    "early stopping": ("mlp", {"optimizer": {"name": "adamw", "lr": 0.5}, "early_stopping": {"patience": 1}}),
    "groups": ("nhits", {"optimizer": {"name": "adamw", "groups": [{"pattern": "*.bias", "lr": 0.01}]}}),
    "frozen": ("mlp", {"freeze": [{"pattern": "*.bias"}]}),
    "skip": ("mlp", {"divergence": "skip"}),
    "rollback": ("mlp", {"divergence": "rollback"}),
    "recompute": ("patchtst", {"recompute": 1}),
}


def network(name: str) -> nn.Module:
    torch.manual_seed(0)
    built: nn.Module = NETWORKS[name].build(TaskSpec(horizon=4, input_size=12)).double()
    return built


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


class Watch(nd.callbacks.Callback):
    """Measures what a process holds, and spoils weights once if that is wanted."""

    def __init__(self, spoils: bool = False) -> None:
        self.bytes = 0
        self._spoils = spoils

    def step_end(self, trainer: nd.Trainer) -> None:
        self.bytes = sum(own_part(item.detach()).nbytes for item in trainer.module.parameters())
        if self._spoils and trainer.state.step == 5:
            self._spoils = False
            with torch.no_grad():
                next(iter(trainer.module.parameters())).mul_(float("nan"))


def train(name: str, changes: dict[str, Any], place: str | None = None, resume: str | None = None) -> dict[str, Any]:
    """Train a network, and return its weights, its history, and the bytes of weights and of the optimizer's state."""
    module, data, policy = network(name), batches(), changes.get("divergence")
    if policy == "skip":
        data[2].past_y[1, 0, 0] = float("nan")  # a row of the second process
    watch = Watch(spoils=policy == "rollback")
    callbacks: list[Any] = [watch]
    if place is not None:
        callbacks.append(nd.callbacks.Checkpointing(directory=place, every_epochs=None, every_steps=SAVED, keep=9))
    kinds, items = [type(part) for part in module.modules()], list(module.parameters())
    trainer = nd.Trainer(module, nd.losses.RMSE(), settings(**changes), callbacks=callbacks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        trainer.fit(data, batches(2, seed=2), resume=None if resume is None else Path(resume))
    assert [type(part) for part in module.modules()] == kinds
    assert all(now is before for now, before in zip(module.parameters(), items, strict=True))
    weights = torch.cat([item.detach().flatten() for item in module.parameters()])
    columns = ("step", "train_loss", "gradient_norm", "validation_loss", "learning_rate")
    return {
        "weights": weights.tolist(),
        "rows": [{name: row[name] for name in columns if row.get(name) is not None} for row in trainer.history.rows],
        "selected": trainer.state.selected_step,
        "skipped": trainer.state.skipped,
        "weight_bytes": watch.bytes,
        "state_bytes": sum(tensor.nbytes for _, tensor in tensors_of(trainer.optimizer.state_dict())),
    }


def train_again(changes: dict[str, Any]) -> list[float]:
    """Train a network that was trained before, and return its weights."""
    module = network("mlp")
    for _ in range(2):
        nd.Trainer(module, nd.losses.RMSE(), settings(**changes)).fit(batches(), batches(2, seed=2))
    return torch.cat([item.detach().flatten() for item in module.parameters()]).tolist()


def train_in_cycles(changes: dict[str, Any]) -> list[list[float]]:
    """Train with the weights of the end of a cycle kept, and return those."""
    schedule = Chain([Cosine()] * 2)
    kept = Snapshots(schedule)
    config = settings(**changes).replace(schedule=schedule)
    nd.Trainer(network("mlp"), nd.losses.RMSE(), config, callbacks=[kept]).fit(batches())
    return [torch.cat([item.flatten() for item in weights.values()]).tolist() for weights in kept.weights()]


def interrupt(changes: dict[str, Any]) -> list[float]:
    """Train until the last process is interrupted at a step, and return the weights."""

    class Interrupt(nd.callbacks.Callback):
        def step_end(self, trainer: nd.Trainer) -> None:
            if trainer.state.step == 4 and trainer.strategy.rank == trainer.strategy.world_size - 1:
                trainer.interrupt("SIGTERM")

    module = network("lstm")
    trainer = nd.Trainer(module, nd.losses.RMSE(), settings(**changes), callbacks=[Interrupt()])
    with pytest.raises(nd.errors.Interrupted):
        trainer.fit(batches())
    return torch.cat([item.detach().flatten() for item in module.parameters()]).tolist()


def spoil_moments(changes: dict[str, Any], place: str) -> str:
    """Train with a moment that becomes infinite in the last process only, and return the error of this process."""

    class Spoil(nd.callbacks.Callback):
        def step_end(self, trainer: nd.Trainer) -> None:
            if trainer.strategy.rank == trainer.strategy.world_size - 1:
                found = [item for path, item in tensors_of(trainer.optimizer.state_dict()) if path.endswith("avg_sq")]
                found[0].fill_(float("inf"))

    saving = nd.callbacks.Checkpointing(directory=place, every_epochs=None, every_steps=SAVED)
    trainer = nd.Trainer(network("mlp"), nd.losses.RMSE(), settings(**changes), callbacks=[Spoil(), saving])
    with pytest.raises(DivergedError) as error:
        trainer.fit(batches())
    return str(error.value)


def layout(place: str) -> dict[str, Any]:
    """Return the shape of every tensor of a checkpoint by its path, but for those of random generators."""
    state = read_checkpoint(place)
    return {path: list(item.shape) for path, item in tensors_of(state) if "random" not in path.split(".")[0]}


def step_path(place: str | Path, step: int = SAVED) -> str:
    return str(Path(place) / f"step-{step:09d}")


def assert_same_training(ours: dict[str, Any], theirs: dict[str, Any], tolerance: float = 1e-9) -> None:
    assert ours["weights"] == pytest.approx(theirs["weights"], rel=tolerance, abs=1e-12)
    assert (ours["selected"], ours["skipped"]) == (theirs["selected"], theirs["skipped"])
    for our, their in zip(ours["rows"], theirs["rows"], strict=True):
        assert our == pytest.approx(their, rel=tolerance, abs=1e-12)
