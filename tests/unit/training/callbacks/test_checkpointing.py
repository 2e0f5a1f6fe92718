"""Which checkpoints are written, kept and marked."""

from __future__ import annotations

import errno
import json
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from torch import nn

import neuro_divergent as nd
from neuro_divergent.core.errors import Interrupted, StorageError, StorageWarning
from neuro_divergent.training.average import EMA, SWA, Average
from neuro_divergent.training.callbacks import checkpointing
from neuro_divergent.training.callbacks.checkpointing import Checkpointer, Checkpointing
from neuro_divergent.training.callbacks.csv import CSVLog
from neuro_divergent.training.checkpointing.checkpoint import in_order, read_checkpoint
from neuro_divergent.training.checkpointing.resume import load_latest
from neuro_divergent.training.checkpointing.snapshot import tensors_of
from tests.unit.training.callbacks.example import config, line, network, trainer


def list_checkpoints(directory: Path) -> list[Path]:
    return [directory / name for name in in_order(path.name for path in directory.iterdir())]


def steps(directory: Path) -> list[int]:
    return [int(path.name[5:]) for path in list_checkpoints(directory)]


def checkpointer(directory: Path | str, **changes: Any) -> Checkpointer:
    return Checkpointing(directory=directory, **changes).build()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"every_epochs": 2, "keep": 9}, [8, 16, 24, 30]),  # four steps an epoch, and the end
        ({"every_epochs": 3, "keep": 1}, [30]),
        ({"every_epochs": None, "every_steps": 7, "keep": 9}, [7, 14, 21, 28, 30]),
        ({"every_epochs": None, "every_steps": 7, "keep": 2}, [28, 30]),
        ({"every_epochs": 1, "at_most_every": 600}, [30]),
        ({"every_epochs": None}, [30]),
    ],
)
def test_checkpoints_come_in_time_and_the_last_are_kept(
    tmp_path: Path, settings: dict[str, Any], expected: list[int]
) -> None:
    trainer(checkpointer(tmp_path / "made", **settings), log_every=2).fit(line())
    assert steps(tmp_path / "made") == expected
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == [f"step-{step:09d}" for step in expected]


def test_the_best_is_kept_and_marked(tmp_path: Path) -> None:
    """With a rate that is far too high, validation is best in the beginning."""
    writer = checkpointer(tmp_path, every_epochs=None, on_improvement=True, keep=1)
    settings = config(
        max_steps=30,
        optimizer=nd.optimizers.SGD(lr=1.2),
        clip=None,
        validate_every=1,
        early_stopping=None,
        schedule="constant",
    )
    training = nd.Trainer(network(), nd.losses.MSE(), settings, callbacks=[writer])
    history = training.fit(line(), line()).frame()
    best = history.row(int(history["validation_loss"].arg_min()), named=True)
    assert 1 <= best["step"] < 30
    assert steps(tmp_path) == [best["step"], 30]
    assert json.loads((tmp_path / "best.json").read_text()) == {
        "checkpoint": f"step-{best['step']:09d}",
        "step": best["step"],
        "metric": "validation_loss",
        "value": best["validation_loss"],
    }
    module = network()
    module.load_state_dict(read_checkpoint(tmp_path / f"step-{best['step']:09d}")["module"])
    inputs, targets = line()
    assert float((module(inputs) - targets).square().mean().detach()) == pytest.approx(
        best["validation_loss"], rel=1e-5
    )


@pytest.mark.parametrize(("mode", "choose"), [("min", min), ("max", max)])
def test_without_more_writing_the_best_is_the_best_of_those_written(tmp_path: Path, mode: str, choose: Any) -> None:
    writer = checkpointer(tmp_path, every_epochs=2, keep=1, mode=mode)
    training = trainer(writer, validate_every=4, early_stopping=None, max_steps=24)
    history = training.fit(line(), line()).frame()
    written = history.filter(history["step"] % 8 == 0)
    value = choose(written["validation_loss"].to_list())
    assert writer.best is not None
    assert writer.best["value"] == value
    assert steps(tmp_path) == sorted({int(written.filter(written["validation_loss"] == value)["step"][0]), 24})


def test_a_checkpoint_has_everything_the_trainer_gave(tmp_path: Path) -> None:
    given: list[dict[str, Any]] = []

    class Keep(nd.callbacks.Callback):
        def finishing(self, trainer: nd.Trainer) -> None:
            given.append(trainer.state_dict())

    training = trainer(Keep(), checkpointer(tmp_path), EMA().build(), max_steps=10)
    training.fit(line(), line())
    loaded = read_checkpoint(list_checkpoints(tmp_path)[-1])
    assert set(loaded) == set(given[-1])
    assert loaded["state"] == given[-1]["state"]
    for name, tensor in given[-1]["module"].items():
        assert loaded["module"][name].dtype == tensor.dtype
    again = trainer(max_steps=10)
    again.module.load_state_dict(loaded["module"])


def test_a_request_to_stop_leaves_a_checkpoint(tmp_path: Path) -> None:
    trainer(StopAt(7), checkpointer(tmp_path)).fit(line())
    assert steps(tmp_path) == [7]


def test_a_directory_of_another_run_is_refused(tmp_path: Path) -> None:
    trainer(checkpointer(tmp_path)).fit(line())
    with pytest.raises(nd.errors.ConfigError, match="holds checkpoints of an earlier run"):
        trainer(checkpointer(tmp_path)).fit(line())
    assert steps(tmp_path) == [30]


def test_a_resumed_run_continues_the_recorded_rates(tmp_path: Path) -> None:
    trainer(checkpointer(tmp_path, every_epochs=2, keep=2), max_steps=24).fit(line())
    assert steps(tmp_path) == [16, 24]
    (tmp_path / ".step-000000028.partial-half").mkdir()  # what a killed process leaves behind

    trainer(checkpointer(tmp_path, every_epochs=2, keep=2), max_steps=40).fit(line(), resume=tmp_path)
    assert steps(tmp_path) == [32, 40]
    assert not list(tmp_path.glob(".step-*"))


class InterruptAt(nd.callbacks.Callback):
    def __init__(self, step: int) -> None:
        self.step = step

    def step_end(self, trainer: nd.Trainer) -> None:
        if trainer.state.step == self.step:
            trainer.interrupt("SIGINT")


class StopAt(nd.callbacks.Callback):
    def __init__(self, step: int) -> None:
        self.step = step

    def step_end(self, trainer: nd.Trainer) -> None:
        if trainer.state.step == self.step:
            trainer.stop("enough")


@pytest.mark.parametrize("average", [EMA(decay=0.9), SWA(start=0.2, every=3)])
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("cut", [7, 12, 20])
def test_resuming_from_a_checkpoint_gives_the_weights_of_an_uninterrupted_training(
    tmp_path: Path, average: Average, cut: int, background: bool
) -> None:
    """Weights, the average, early stopping, the learning rate, random numbers and the log: all of it."""

    def run(place: Path, stop: int, resume: Path | None = None) -> nd.Trainer:
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
        settings = config(average=average, validate_every=4, log_every=2, early_stopping=nd.EarlyStopping(patience=50))
        writer = checkpointer(place / "checkpoints", every_epochs=2, background=background)
        callbacks = [InterruptAt(stop), CSVLog(place / "history.csv"), writer]
        training = nd.Trainer(module, nd.losses.MSE(), settings, callbacks=callbacks)
        with pytest.raises(Interrupted) if stop else nullcontext():
            training.fit(line(), line(), resume=resume)
        return training

    whole = run(tmp_path / "whole", 0)
    half = run(tmp_path / "parts", cut)
    assert half.state.step == cut
    resumed = run(tmp_path / "parts", 0, list_checkpoints(tmp_path / "parts" / "checkpoints")[-1])
    for one, two in zip(whole.module.state_dict().values(), resumed.module.state_dict().values(), strict=True):
        assert torch.equal(one, two)
    columns = ["step", "epoch", "learning_rate"]
    rows = resumed.history.frame()[columns]
    assert rows.equals(whole.history.frame()[columns])
    assert pl.read_csv(tmp_path / "parts" / "history.csv")["step"].to_list() == rows["step"].to_list()
    assert steps(tmp_path / "parts" / "checkpoints")[-1] == 30


def test_a_metric_that_is_not_measured_is_refused(tmp_path: Path) -> None:
    with pytest.raises(nd.errors.ConfigError, match="Did you mean 'validation_loss'"):
        trainer(checkpointer(tmp_path, metric="validation_los")).fit(line(), line())


def test_a_place_that_cannot_be_written_to_is_found_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(nd.errors.StorageError):
        trainer(checkpointer(tmp_path / "file" / "made")).fit(line())


@pytest.mark.parametrize("background", [False, True])
def test_a_failed_save_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, background: bool) -> None:
    writer = checkpointer(tmp_path, every_epochs=None, every_steps=5, keep=9, background=background)
    monkeypatch.setattr(checkpointing, "_FIRST_PAUSE", 0.0)
    refusals = [OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EIO, "Input/output error")]
    real = writer.store.write

    def write(name: str, files: Any) -> None:
        if refusals:
            raise StorageError(f"{name}: cannot be written: {refusals.pop(0).strerror}.")
        real(name, files)

    writer.store.write = write  # type: ignore[method-assign]
    with pytest.warns(StorageWarning, match="step-0.*: (No space|Input/output).*Training goes on; the next attempt"):
        trainer(writer).fit(line(), line())
    assert not refusals
    assert steps(tmp_path)[-1] == 30
    assert len(steps(tmp_path)) >= 2


def test_a_disk_that_refuses_to_the_end_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpointing, "_FIRST_PAUSE", 0.01)
    writer = checkpointer(tmp_path, every_epochs=None, every_steps=5, keep=9)
    real = writer.store.write
    attempts = []

    def write(name: str, files: Any) -> None:
        attempts.append(name)
        if len(attempts) > 2:
            raise StorageError(f"{name}: cannot be written: No space left on device.")
        real(name, files)

    writer.store.write = write  # type: ignore[method-assign]
    with pytest.warns(StorageWarning), pytest.raises(nd.errors.StorageError, match="step-000000030: cannot be written"):
        trainer(writer).fit(line(), line())
    assert attempts[-4:] == ["step-000000030"] * 4
    assert steps(tmp_path) == [5, 10]
    assert [read_checkpoint(path)["state"]["step"] for path in list_checkpoints(tmp_path)] == [5, 10]


def test_too_little_room_for_two_checkpoints_is_refused_before_training(tmp_path: Path) -> None:
    writer = checkpointer(tmp_path)
    writer.store.free_bytes = lambda: 100  # type: ignore[method-assign]
    with pytest.raises(
        nd.errors.StorageError, match=r"two checkpoints need about 128 bytes, 100 bytes are free. Make room"
    ):
        trainer(writer).fit(line())


def test_time_can_decide(tmp_path: Path) -> None:
    class Slow(nd.callbacks.Callback):
        def step_end(self, trainer: nd.Trainer) -> None:
            time.sleep(0.01)

    trainer(Slow(), checkpointer(tmp_path, every_epochs=None, every_seconds=0.06, keep=99)).fit(line())
    assert 2 <= len(steps(tmp_path)) <= 16


def test_a_copy_in_the_background_and_compression_change_nothing(tmp_path: Path) -> None:
    pytest.importorskip("zstandard")
    states = []
    for name, settings in (("plain", {}), ("thread", {"background": True}), ("small", {"compress": True})):
        trainer(checkpointer(tmp_path / name, **settings)).fit(line(), line())
        state = read_checkpoint(list_checkpoints(tmp_path / name)[-1])
        states.append({path: tensor for path, tensor in tensors_of(state) if not path.startswith("meter")})
    for other in states[1:]:
        assert states[0].keys() == other.keys()
        assert all(torch.equal(tensor, other[path]) for path, tensor in states[0].items())
    assert list((tmp_path / "small").glob("*/*.zst"))


def test_settings_round_trip() -> None:
    made = Checkpointing(directory="runs/a", every_epochs=None, every_steps=5)
    assert Checkpointing.from_toml(made.to_toml()) == made


def test_the_average_does_not_end_up_in_the_weights(tmp_path: Path) -> None:
    """The weights in a checkpoint are those that training goes on with, also right after a validation."""
    seen: dict[int, torch.Tensor] = {}

    class SeriesLayout(nd.callbacks.Callback):
        def step_end(self, trainer: nd.Trainer) -> None:
            seen[trainer.state.step] = trainer.module.weight.detach().clone()

    writer = checkpointer(tmp_path, every_epochs=None, every_steps=5, on_improvement=True, keep=9)
    trainer(EMA().build(), SeriesLayout(), writer, validate_every=5, early_stopping=None).fit(line(), line())
    assert len(steps(tmp_path)) == 6
    for path in list_checkpoints(tmp_path):
        assert torch.equal(read_checkpoint(path)["module"]["weight"], seen[int(path.name[5:])])


def test_checkpoints_at_an_address(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    address = f"memory://{tmp_path.name}"

    def run(steps: int, resume: str | None = None) -> nd.Trainer:
        training = trainer(checkpointer(address, every_epochs=None, every_steps=5, keep=2), max_steps=steps)
        training.fit(line(), line(), resume=resume)
        return training

    run(12)
    again = run(20, address)
    assert again.state.step == 20
    assert again.history.rows[0]["step"] <= 10  # the history goes on
    assert load_latest(f"{address}/step-000000020")["state"]["step"] == 20
