"""The order of a training whose settings leave it to the speed of the disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.data import block_shuffle, read_ahead
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.loader import Order, WindowLoader
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.window import IdentityScaler
from neuro_divergent.data.windows import Windows
from neuro_divergent.training import order_choice
from neuro_divergent.training.callbacks.events import EventLog
from neuro_divergent.training.checkpointing.snapshot import snapshot
from neuro_divergent.training.order_choice import OrderChoice
from neuro_divergent.training.strategy import SingleDevice
from neuro_divergent.training.vectorized.support import unsupported_setting

SETTINGS = {"max_steps": 12, "batch_size": 16, "threads": 1, "log_every": 4, "validate_every": 6}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_shuffle, "BLOCK_BYTES", 1024)
    monkeypatch.setattr(block_shuffle, "BUFFER_BYTES", 4096)


@pytest.fixture
def panels(tmp_path: Path) -> tuple[Panel, Panel]:
    """A panel in memory, and the same on disk."""
    random = np.random.default_rng(0)
    panel = Panel(
        schema=nd.Schema(id="id"),
        ids=pl.Series("id", range(5)),
        starts=pl.Series("ds", [0] * 5),
        frequency=Frequency.parse(1),
        offsets=np.arange(6) * 700,
        y=random.standard_normal(3500).cumsum().astype(np.float32),
    )
    panel.save(tmp_path / "panel")
    return panel, Panel.open(tmp_path / "panel")


def fit(panel: Panel, shuffle: Any, **changes: Any) -> nd.Forecaster:
    training = nd.TrainingConfig(**{**SETTINGS, "shuffle": shuffle, **changes})
    return nd.Forecaster(nd.NLinear(), horizon=4, input_size=16, training=training).fit(panel)


def losses(forecaster: nd.Forecaster) -> list[float]:
    return forecaster.history["train_loss"].to_list()


def measured(monkeypatch: pytest.MonkeyPatch, *, reading: float, step: float) -> None:
    """Have a panel that does not fit into the memory, and reading and steps that take some time."""
    monkeypatch.setattr(read_ahead, "_COMFORTABLE", 0.0)
    monkeypatch.setattr(WindowLoader, "seconds_to_read", lambda loader: reading)
    monkeypatch.setattr("neuro_divergent.training.engine.step_seconds", lambda trainer, batch: step)


def refuse(*_: Any) -> float:
    raise AssertionError("nothing is to be measured")


@pytest.mark.parametrize("shuffle", [True, False, "blocks"])
def test_training_on_a_panel_on_disk_is_that_in_memory(panels: tuple[Panel, Panel], shuffle: Any) -> None:
    memory, disk = (fit(panel, shuffle) for panel in panels)
    assert losses(memory) == losses(disk)
    for one, other in zip(
        memory.fitted.predictor.network.parameters(), disk.fitted.predictor.network.parameters(), strict=True
    ):
        assert torch.equal(one, other)


def test_orders_are_different_trainings(panels: tuple[Panel, Panel]) -> None:
    assert len({tuple(losses(fit(panels[0], shuffle))) for shuffle in (True, False, "blocks")}) == 3


@pytest.mark.parametrize(("reading", "step", "chosen"), [(2.0, 1.0, "blocks"), (1.0, 2.0, True)])
def test_automatic_order_is_exact_unless_reading_takes_longer_than_a_step(
    panels: tuple[Panel, Panel], monkeypatch: pytest.MonkeyPatch, reading: float, step: float, chosen: Any
) -> None:
    measured(monkeypatch, reading=reading, step=step)
    assert losses(fit(panels[1], "auto")) == losses(fit(panels[1], chosen))


def test_automatic_order_is_exact_in_memory_and_where_memory_has_room_without_measuring(
    panels: tuple[Panel, Panel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WindowLoader, "seconds_to_read", refuse)
    monkeypatch.setattr("neuro_divergent.training.engine.step_seconds", refuse)
    expected = losses(fit(panels[0], True))
    assert losses(fit(panels[0], "auto")) == expected
    monkeypatch.setattr(read_ahead, "available_memory", lambda *, for_files: 2**30)
    assert losses(fit(panels[1], "auto")) == expected


def test_measuring_changes_nothing(panels: tuple[Panel, Panel], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "_COMFORTABLE", 0.0)
    spent: list[float] = []

    def record(trainer: nd.Trainer, batch: Any) -> float:
        spent.append(order_choice.step_seconds(trainer, batch))
        return float("inf")

    monkeypatch.setattr("neuro_divergent.training.engine.step_seconds", record)
    expected = losses(fit(panels[1], True, average="ema"))
    before = torch.get_rng_state()
    assert losses(fit(panels[1], "auto", average="ema")) == expected
    assert torch.equal(torch.get_rng_state(), before)
    assert len(spent) == 2  # the training, and that on all rows
    assert all(0 < seconds < 5 for seconds in spent)


class Keep(nd.callbacks.Callback):
    """Keeps the state after some step, in the middle of an epoch."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.state: dict[str, Any] = {}

    def checkpoint_safe(self, trainer: nd.Trainer) -> None:
        if trainer.state.step == self.step and not self.state:
            self.state = snapshot(trainer.state_dict())


@pytest.mark.parametrize("shuffle", [True, False, "blocks", "auto"])
def test_training_resumed_in_the_middle_of_an_epoch_ends_with_the_same_weights(
    panels: tuple[Panel, Panel], monkeypatch: pytest.MonkeyPatch, shuffle: Any
) -> None:
    measured(monkeypatch, reading=2.0, step=1.0)
    training = nd.TrainingConfig(**SETTINGS, shuffle=shuffle)

    def fit(**options: Any) -> nd.Forecaster:
        model = nd.Forecaster(nd.NLinear(), horizon=4, input_size=16, training=training, refit=False)
        return model.fit(panels[1], **options)

    keep = Keep(7)
    whole = fit(callbacks=[keep])
    assert keep.state["state"]["batch"] == 7
    assert keep.state.get("order") == ({"order": "blocks"} if shuffle == "auto" else None)
    measured(monkeypatch, reading=0.5, step=1.0)  # which would choose the other one
    again = fit(resume=keep.state)
    assert losses(again) == losses(whole)
    for one, other in zip(
        whole.fitted.predictor.network.parameters(), again.fitted.predictor.network.parameters(), strict=True
    ):
        assert torch.equal(one, other)


def test_run_tells_the_order_of_a_panel_on_disk(
    panels: tuple[Panel, Panel], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    measured(monkeypatch, reading=2.0, step=1.0)
    for name, panel, expected in (("memory", panels[0], (None, None)), ("disk", panels[1], ("blocks", True))):
        log = EventLog(tmp_path / f"{name}.jsonl")
        training = nd.TrainingConfig(**SETTINGS, shuffle="auto")
        model = nd.Forecaster(nd.NLinear(), horizon=4, input_size=16, training=training, refit=False)
        model.fit(panel, callbacks=[log])
        start = json.loads((tmp_path / f"{name}.jsonl").read_text().splitlines()[0])
        assert (start["event"], start.get("order"), start.get("on_disk")) == ("start", *expected)


def test_state_with_an_unknown_order_is_refused(panels: tuple[Panel, Panel]) -> None:
    with pytest.raises(UntrustedFileError, match="backwards"):
        OrderChoice().started(loader_of(panels[1]), {"order": "backwards"}, refuse, SingleDevice())


def test_trainings_that_choose_their_order_are_not_vectorized() -> None:
    assert unsupported_setting(nd.TrainingConfig(shuffle="blocks")) is None
    assert "shuffle" in (unsupported_setting(nd.TrainingConfig(shuffle="auto")) or "")


@pytest.mark.parametrize("shuffle", ["blocks", "auto"])
def test_tensors_are_trained_on_in_the_exact_order(shuffle: Any) -> None:
    inputs = torch.linspace(0, 40, 114).reshape(38, 3).sin()

    def weights(shuffle: Any) -> torch.Tensor:
        torch.manual_seed(2)
        module = torch.nn.Linear(3, 1)
        config = nd.TrainingConfig(max_steps=12, batch_size=4, threads=1, shuffle=shuffle)
        nd.Trainer(module, nd.losses.MSE(), config).fit((inputs, inputs.sum(1, keepdim=True)))
        return module.weight

    assert torch.equal(weights(shuffle), weights(True))


@pytest.mark.parametrize("order", ["exact", "blocks"])
def test_resumed_training_keeps_its_order_without_measuring(
    panels: tuple[Panel, Panel], monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    loader = loader_of(panels[1])
    choice = OrderChoice()
    monkeypatch.setattr(read_ahead, "_COMFORTABLE", 0.0)
    monkeypatch.setattr(WindowLoader, "seconds_to_read", lambda loader: 2.0 if order == "blocks" else 0.5)
    made = choice.started(loader, None, lambda: 1.0, SingleDevice())
    state = choice.state_dict()
    assert state == {"order": {"order": order}}
    monkeypatch.setattr(WindowLoader, "seconds_to_read", refuse)
    again = OrderChoice().started(loader, state["order"], refuse, SingleDevice())
    assert isinstance(made, WindowLoader)
    assert isinstance(again, WindowLoader)
    expected = [rows.tolist() for _, rows in made.places(1)]
    assert [rows.tolist() for _, rows in again.places(1)] == expected
    assert [rows.tolist() for _, rows in again.places(1, 7)] == expected[7:]


def loader_of(panel: Panel) -> WindowLoader:
    windows = Windows(panel, 16, 4, panel.offsets[:-1], panel.offsets[1:])
    order = Order(batch_size=16, shuffle="auto", seed=1)
    return WindowLoader(windows, WindowBatcher(panel, 16, 4, IdentityScaler()), order)
