"""What the log of the program hears."""

from __future__ import annotations

import logging

import pytest

import neuro_divergent as nd
from neuro_divergent.training.callbacks.logging import Log
from tests.unit.training.callbacks.example import line, trainer


def test_rows_and_both_ends_are_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "neuro_divergent.training")
    training = trainer(Log(), early_stopping=None, validate_every=15)
    training.fit(line(), line())
    assert {record.name for record in caplog.records} == {"neuro_divergent.training"}
    start, *rows, end = caplog.messages
    assert start == "training for up to 30 steps, 4 per epoch, from step 0 on"
    assert [row.split(":")[0] for row in rows] == [
        "step 10/30 epoch 2",
        "step 15/30 epoch 3",
        "step 20/30 epoch 4",
        "step 30/30 epoch 7",
    ]
    last = training.history.rows[-1]
    assert f"train_loss={last['train_loss']:.6g} " in rows[-1]
    assert f"validation_loss={last['validation_loss']:.6g}" in rows[-1]
    assert "validation_loss" not in rows[0]
    assert end.startswith("training ended at step 30 after ")
    assert end.endswith(": all steps are done")


def test_rows_can_be_left_out_but_not_validations(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "neuro_divergent.training")
    trainer(Log(every=4), log_every=1, validate_every=9, early_stopping=None, max_steps=12).fit(line(), line())
    steps = [int(message.split("/")[0][5:]) for message in caplog.messages if message.startswith("step")]
    assert steps == [4, 8, 9, 12]


def test_errors_are_told_as_errors(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(nd.callbacks.Callback):
        def step_end(self, trainer: nd.Trainer) -> None:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError):
        trainer(Log(), Broken()).fit(line())
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert caplog.messages == ["training failed at step 1: RuntimeError: broken"]


def test_settings_are_checked() -> None:
    with pytest.raises(nd.errors.ConfigError, match="log: every: 0 must be greater than or equal to 1"):
        Log(every=0)
