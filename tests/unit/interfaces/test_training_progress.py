"""Progress of training on a terminal and in a pipe."""

import io

import pytest
import torch
from rich.console import Console
from torch import nn

import neuro_divergent as nd
from neuro_divergent.interfaces.cli.training_progress import LiveProgress, PlainProgress, progress_for

DATA = (torch.randn(64, 3), torch.randn(64, 1))


def train(console: Console, **config: object) -> str:
    settings = nd.TrainingConfig(**{"max_steps": 200, "max_epochs": None, "threads": 1, "batch_size": 8, **config})
    nd.Trainer(nn.Linear(3, 1), nd.losses.MSE(), settings, callbacks=progress_for(console)).fit(DATA, DATA)
    return console.file.getvalue()


def test_a_pipe_gets_a_handful_of_plain_lines() -> None:
    lines = train(Console(file=io.StringIO())).splitlines()
    assert 5 < len(lines) <= 12
    assert "\x1b" not in "".join(lines)
    for word in ("step", "epoch", "loss", "validation", "lr", "samples/s", "s left"):
        assert word in lines[1]
    assert lines[-1].startswith("Trained 200 steps")


def test_a_terminal_gets_one_line_that_is_taken_away_again() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    text = train(console)
    assert "\x1b[2K" in text
    assert "Trained 200 steps" in text
    assert text.rstrip().endswith("s")


def test_early_stop_is_shown_with_its_reason() -> None:
    early = nd.EarlyStopping(patience=1, min_delta=10)
    assert "stopped early" in train(Console(file=io.StringIO()), early_stopping=early)


def test_quiet_console_shows_no_progress() -> None:
    assert progress_for(Console(quiet=True)) == []
    assert isinstance(progress_for(Console(file=io.StringIO()))[0], PlainProgress)
    assert isinstance(progress_for(Console(force_terminal=True))[0], LiveProgress)


def test_an_error_gives_the_terminal_back() -> None:
    class Stop(nd.callbacks.Callback):
        def step_end(self, trainer: nd.Trainer) -> None:
            raise KeyboardInterrupt

    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    config = nd.TrainingConfig(max_steps=5, threads=1)
    trainer = nd.Trainer(nn.Linear(3, 1), nd.losses.MSE(), config, callbacks=[*progress_for(console), Stop()])
    with pytest.raises(KeyboardInterrupt):
        trainer.fit(DATA)
    assert console.file.getvalue().count("\x1b[?25h") == 1  # the cursor is shown again
