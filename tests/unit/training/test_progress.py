"""Progress of a training, and that it changes nothing."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from torch import nn

import neuro_divergent as nd
from neuro_divergent.core import progress_display


def trainer(**config: object) -> nd.Trainer:
    torch.manual_seed(0)
    settings = {"max_steps": 20, "log_every": 5, "threads": 1, **config}
    return nd.Trainer(nn.Linear(3, 1), "mse", nd.TrainingConfig(**settings))


@pytest.fixture
def data() -> tuple[torch.Tensor, torch.Tensor]:
    inputs = torch.randn(64, 3, generator=torch.Generator().manual_seed(1))
    return inputs, inputs.sum(1, keepdim=True)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    monkeypatch.setattr(progress_display, "_PATIENCE", 0.0)
    return io.StringIO()


def test_training_writes_nothing_by_default(data, capfd) -> None:
    trainer().fit(data, data)
    assert capfd.readouterr() == ("", "")


def test_training_says_how_many_steps_are_done_and_the_losses_and_gets_the_same_weights(data, log) -> None:
    plain, shown = trainer(), trainer()
    plain.fit(data, data)
    with nd.show_progress(file=log):
        shown.fit(data, data)
    last = log.getvalue().splitlines()[-1]
    loss = shown.history.rows[-1]["train_loss"]
    assert last.startswith("Training: 20 steps in ")
    assert f"loss {loss:.3g}" in last or f"loss {loss:.4g}" in last
    assert "validation loss" in last
    assert all(map(torch.equal, plain.module.parameters(), shown.module.parameters()))


def test_a_state_saved_with_progress_is_resumed_without_it_bit_for_bit(data, log) -> None:
    whole, first, second = trainer(), trainer(), trainer()
    whole.fit(data)

    class Keep(nd.callbacks.Callback):
        state: dict[str, object] | None = None

        def checkpoint_safe(self, trainer: nd.Trainer) -> None:
            if trainer.state.step == 7:
                Keep.state = copy.deepcopy(trainer.state_dict())

    first.callbacks.append(Keep())
    with nd.show_progress(file=log):
        first.fit(data)
    second.fit(data, resume=Keep.state)
    assert all(map(torch.equal, whole.module.parameters(), second.module.parameters()))


def test_fit_shows_progress_if_it_is_told_to_and_not_afterwards(data, log, monkeypatch) -> None:
    monkeypatch.setattr("sys.stderr", log)
    trainer().fit(data, progress=True)
    assert "Training: 20 steps in " in log.getvalue()
    shown = log.getvalue()
    trainer().fit(data)
    assert log.getvalue() == shown


def test_a_training_that_fails_says_where(data, log) -> None:
    inputs, targets = data
    with pytest.raises(nd.errors.DivergedError), nd.show_progress(file=log):
        trainer().fit((inputs, targets * float("nan")))
    assert "Training: ended after 0 of 20 steps: DivergedError" in log.getvalue()
