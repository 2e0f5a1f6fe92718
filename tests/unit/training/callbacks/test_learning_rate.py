"""The rates that steps were made with, against the formula of the schedule."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.training.callbacks.learning_rate import LearningRateLog
from tests.unit.training.callbacks.example import line, trainer


def cosine(step: int, total: int) -> float:
    return 0.05 * (1 + math.cos(math.pi * step / total)) / 2


def test_every_step_has_the_rate_of_its_schedule() -> None:
    log = LearningRateLog()
    trainer(log, schedule=nd.schedules.Cosine()).fit(line())
    frame = log.frame()
    assert frame["step"].to_list() == list(range(1, 31))
    assert frame["epoch"].to_list() == [step // 4 for step in range(30)]
    assert frame["learning_rate"].to_list() == pytest.approx([cosine(step, 30) for step in range(30)], abs=1e-12)


def test_every_epoch_has_the_rate_of_its_first_step() -> None:
    log = LearningRateLog(every="epoch")
    trainer(log, schedule=nd.schedules.Cosine()).fit(line())
    assert log.frame()["step"].to_list() == list(range(1, 31, 4))
    assert log.frame()["learning_rate"].to_list() == pytest.approx([cosine(step, 30) for step in range(0, 30, 4)])


def test_every_group_has_its_own_rate() -> None:
    class Slow(nd.callbacks.Callback):
        def fit_start(self, trainer: nd.Trainer) -> None:
            first = trainer.optimizer.param_groups[0]
            bias = first["params"].pop()
            trainer.optimizer.add_param_group({"params": [bias], "lr": 0.001})

    log = LearningRateLog()
    trainer(Slow(), log, schedule="constant", max_steps=3).fit(line())
    frame = log.frame()
    groups = int(frame["group"].max()) + 1  # type: ignore[arg-type]
    assert frame.filter(pl.col("group") == groups - 1)["learning_rate"].to_list() == [0.001] * 3
    assert frame.filter(pl.col("group") == 0)["learning_rate"].to_list() == [0.05] * 3


def test_rows_survive() -> None:
    log, again = LearningRateLog(), LearningRateLog()
    trainer(log, max_steps=3).fit(line())
    again.load_state_dict(log.state_dict())
    assert again.frame().equals(log.frame())
    assert LearningRateLog().frame().columns == log.frame().columns


def test_settings_are_checked() -> None:
    wrong: Any = "batch"
    with pytest.raises(nd.errors.ConfigError, match="'step' or 'epoch'; got 'batch'"):
        LearningRateLog(wrong)
