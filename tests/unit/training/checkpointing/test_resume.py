"""Training that was interrupted, at any step and in any way, ends with the weights of training that was not."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, DataError, InputError, Interrupted, StorageWarning
from neuro_divergent.training.checkpointing.resume import load_latest
from neuro_divergent.training.checkpointing.snapshot import snapshot, tensors_of

STEPS = 26
TIMES = ("seconds", "samples_per_second", "waiting_share")
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "average": {"average": nd.callbacks.EMA()},
    "swa": {"average": nd.callbacks.SWA(start=0.5)},
    "accumulate": {"accumulate": 3},
    "plateau": {"schedule": nd.schedules.Plateau(patience=1)},
    "restarts": {"schedule": nd.schedules.CosineRestarts(first_cycle=5)},
    "noise": {"gradient_noise": nd.training.GradientNoise()},
    "schedule_free": {"optimizer": nd.optimizers.ScheduleFreeAdamW()},
    "frozen": {"freeze": nd.training.Freeze("0.*", until=2)},
    "fp16": {"precision": "fp16"},
    "float64": {"precision": "float64"},
    "patient": {"early_stopping": nd.EarlyStopping(patience=2, min_delta=0.05)},
}


def data() -> tuple[torch.Tensor, torch.Tensor]:
    inputs = torch.linspace(0, 40, 114).reshape(38, 3).sin()
    return inputs, inputs.sum(1, keepdim=True) ** 2


def config(**settings: Any) -> nd.TrainingConfig:
    fixed = {"max_steps": STEPS, "batch_size": 4, "log_every": 3, "validate_every": 4, "seed": 7, "threads": 1}
    return nd.TrainingConfig(**{**fixed, **settings})


def trainer(*callbacks: nd.callbacks.Callback, **settings: Any) -> nd.Trainer:
    torch.manual_seed(2)
    module = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.3), nn.Linear(5, 1))
    return nd.Trainer(module, nd.losses.MSE(), config(**settings), callbacks=callbacks)


def everything(subject: nd.Trainer) -> dict[str, torch.Tensor]:
    """All numbers that training leaves behind, without the times."""
    state = subject.state_dict()
    rows = [{k: v for k, v in row.items() if k not in TIMES} for row in state["history"]["rows"]]
    parts = {name: state[name] for name in ("module", "optimizer", "random", "callbacks")}
    return {"rows": torch.tensor([hash(str(rows))]), **dict(tensors_of(parts))}


def assert_same(one: nd.Trainer, other: nd.Trainer) -> None:
    first, second = everything(one), everything(other)
    assert first.keys() == second.keys()
    different = [name for name in first if not torch.equal(first[name], second[name])]
    assert not different, (different, one.history.frame(), other.history.frame())


class InterruptAt(nd.callbacks.Callback):
    """Interrupts at a step, in an event."""

    def __init__(self, step: int, event: str = "step_end") -> None:
        self.step = step
        self.state: dict[str, Any] | None = None
        setattr(self, event, self._maybe)

    def step_end(self, trainer: nd.Trainer) -> None: ...

    def validation_batch(self, trainer: nd.Trainer) -> None: ...

    def interrupted(self, trainer: nd.Trainer) -> None:
        self.state = snapshot(trainer.state_dict())

    def _maybe(self, trainer: nd.Trainer) -> None:
        if trainer.state.step == self.step:
            trainer.interrupt("SIGTERM")


def interrupted_at(step: int, event: str = "step_end", source: Any = None, **settings: Any) -> dict[str, Any]:
    keep = InterruptAt(step, event)
    source = data() if source is None else source
    with pytest.raises(Interrupted, match=f"interrupted at step {step}") as caught:
        trainer(keep, **settings).fit(source, data())
    assert caught.value.exit_code == 143
    assert keep.state is not None
    return keep.state


@pytest.mark.parametrize("name", SETTINGS)
def test_resumed_at_any_step(name: str) -> None:
    whole = trainer(**SETTINGS[name])
    whole.fit(data(), data())
    last = whole.state.step
    for step in (*range(1, last, 3), last - 1):
        again = trainer(**SETTINGS[name])
        again.fit(data(), data(), resume=interrupted_at(step, **SETTINGS[name]))
        assert_same(whole, again)


@pytest.mark.parametrize("name", ["plain", "average", "schedule_free", "plateau"])
def test_resumed_in_the_middle_of_a_validation(name: str) -> None:
    whole = trainer(**SETTINGS[name])
    whole.fit(data(), data())
    state = interrupted_at(8, "validation_batch", **SETTINGS[name])
    assert state["state"]["unsettled"]
    again = trainer(**SETTINGS[name])
    again.fit(data(), data(), resume=state)
    assert_same(whole, again)


def test_interrupted_again_and_again() -> None:
    whole = trainer(average=nd.callbacks.EMA())
    whole.fit(data(), data())
    state = None
    for step in (3, 4, 11, 25):
        keep = InterruptAt(step)
        with pytest.raises(Interrupted):
            trainer(keep, average=nd.callbacks.EMA()).fit(data(), data(), resume=state)
        state = keep.state
    again = trainer(average=nd.callbacks.EMA())
    again.fit(data(), data(), resume=state)
    assert_same(whole, again)


def test_one_state_can_be_resumed_from_twice() -> None:
    state = interrupted_at(9)
    before = {name: tensor.clone() for name, tensor in tensors_of(state)}
    runs = [trainer(), trainer()]
    for run in runs:
        run.fit(data(), data(), resume=state)
    assert_same(*runs)
    assert all(torch.equal(tensor, before[name]) for name, tensor in tensors_of(state))


def test_resuming_with_more_steps_than_planned_at_first(tmp_path: Path) -> None:
    constant = {"schedule": nd.schedules.Constant(), "early_stopping": None}
    whole = trainer(**constant)
    whole.fit(data(), data())
    first = trainer(nd.callbacks.Checkpointing(directory=tmp_path).build(), **constant, max_steps=10)
    first.fit(data(), data())
    second = trainer(nd.callbacks.Checkpointing(directory=tmp_path).build(), **constant)
    second.fit(data(), data(), resume=tmp_path)
    weights = [subject.module.state_dict() for subject in (whole, second)]
    assert all(torch.equal(tensor, weights[1][name]) for name, tensor in weights[0].items())
    rows = [[row["step"] for row in subject.history.rows] for subject in (whole, second)]
    assert rows[0] == rows[1]


def test_a_finished_training_is_continued_only_with_a_longer_plan(tmp_path: Path) -> None:
    patient = {"early_stopping": nd.EarlyStopping(patience=1, min_delta=10.0)}
    first = trainer(nd.callbacks.Checkpointing(directory=tmp_path).build(), **patient)
    first.fit(data(), data())
    assert first.state.step < STEPS
    again = trainer(nd.callbacks.Checkpointing(directory=tmp_path).build(), **patient)
    again.fit(data(), data(), resume=tmp_path)
    assert again.state.step == first.state.step
    longer = trainer(nd.callbacks.Checkpointing(directory=tmp_path).build(), **patient, max_steps=STEPS + 1)
    longer.fit(data(), data(), resume=tmp_path)
    assert longer.state.step > first.state.step


def test_a_shuffling_data_loader_and_the_generators_of_others() -> None:
    class Noisy(TensorDataset):
        def __getitem__(self, index: int) -> Any:
            inputs, target = super().__getitem__(index)
            return inputs + torch.rand(()) * 0.1 + np.random.rand() * 0.1 + random.random() * 0.1, target

    def loader() -> DataLoader[Any]:
        return DataLoader(Noisy(*data()), batch_size=4, shuffle=True)

    def seed() -> None:
        random.seed(1)
        np.random.seed(1)

    seed()
    whole = trainer()
    whole.fit(loader(), data())
    for step in (1, 10, 17):
        seed()
        state = interrupted_at(step, source=loader())
        random.seed(99)
        again = trainer()
        again.fit(loader(), data(), resume=state)
        assert_same(whole, again)


def test_changed_settings_are_refused_with_the_difference() -> None:
    state = interrupted_at(5)
    message = "optimizer.lr: 0.001 before, 0.01 now; clip: .* before, 'none' now. .*--allow-changes"
    with pytest.raises(ConfigError, match=message):
        trainer(optimizer=nd.AdamW(lr=0.01), clip=None).fit(data(), data(), resume=state)
    trainer(optimizer=nd.AdamW(lr=0.01)).fit(data(), data(), resume=state, allow_changes=True)
    trainer(max_seconds=60.0, log_every=1).fit(data(), data(), resume=state)


def test_another_network_is_refused() -> None:
    other = nd.Trainer(nn.Linear(3, 1), nd.losses.MSE(), config())
    with pytest.raises(ConfigError, match=r"that of another network: .*Missing key"):
        other.fit(data(), data(), resume=interrupted_at(5))


def test_a_damaged_checkpoint_is_set_aside_and_the_one_before_is_taken(tmp_path: Path) -> None:
    checkpoints = nd.callbacks.Checkpointing(directory=tmp_path, every_epochs=None, every_steps=5)
    whole = trainer(checkpoints.build())
    whole.fit(data(), data())
    assert [path.name for path in sorted(tmp_path.glob("step-*"))] == [f"step-{n:09d}" for n in (20, 25, 26)]
    for step, name in ((26, "module.safetensors"), (25, "state.json")):
        path = tmp_path / f"step-{step:09d}" / name
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(bytes(content))
    again = trainer(checkpoints.build())
    with pytest.warns(StorageWarning) as found:
        again.fit(data(), data(), resume=tmp_path)
    assert [re.sub(r"/\S*/", "", str(item.message)) for item in found] == [
        f"step-0000000{step}: damaged ({name}: SHA-256 differs from manifest; the file was altered or damaged); "
        f"set aside as step-0000000{step}; the one before is taken."
        for step, name in ((26, "module.safetensors"), (25, "state.json"))
    ]
    assert_same(whole, again)
    assert {path.name for path in (tmp_path / "set-aside").iterdir()} == {"step-000000025", "step-000000026"}


def test_a_place_without_checkpoints(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no checkpoint to go on from"):
        load_latest(tmp_path)


def test_a_file_of_weights_is_no_place_of_checkpoints(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    path.write_bytes(b"weights")
    with pytest.raises(InputError, match=r"is a file; .* module.load_state_dict"):
        load_latest(path)


def test_data_that_gives_fewer_batches_than_it_promises() -> None:
    class Short(list[Any]):
        def __len__(self) -> int:
            return 9

    inputs, targets = data()
    with pytest.raises(DataError, match="has 2 batches in this epoch; it promised 9"):
        trainer().fit(Short([(inputs[:4], targets[:4]), (inputs[4:8], targets[4:8])]))
