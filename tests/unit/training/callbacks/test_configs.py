"""Configs that build callbacks are accepted wherever a callback is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import neuro_divergent as nd
from neuro_divergent.training.average import Averager
from neuro_divergent.training.callbacks.checkpointing import Checkpoints
from neuro_divergent.training.callbacks.early_stopping import EarlyStopper
from tests.unit.training.callbacks.example import config, line, network, trainer

STRICT = nd.EarlyStopping(patience=1, min_delta=10.0)


def stoppers(training: nd.Trainer) -> list[EarlyStopper]:
    return [item for item in training._callback_list.callbacks if isinstance(item, EarlyStopper)]


@pytest.mark.parametrize("callback", [STRICT, STRICT.build()], ids=["config", "callback"])
def test_early_stopping_as_a_callback_of_a_trainer_replaces_that_of_the_config(callback: Any) -> None:
    training = trainer(callback, max_steps=200, validate_every=5)
    training.fit(line(), line())
    assert [item.config for item in stoppers(training)] == [STRICT]
    assert training.state.step == 10
    assert training.state.stop_reason == "validation_loss has not improved in 1 validations"


def test_early_stopping_as_a_callback_of_the_config_is_its_early_stopping() -> None:
    settings = nd.TrainingConfig(callbacks=[STRICT, "csv"])
    assert settings.early_stopping == STRICT
    assert [item.name for item in settings.callbacks] == ["csv"]
    assert nd.TrainingConfig.from_toml(settings.to_toml()) == settings
    assert nd.TrainingConfig(early_stopping=None, callbacks=STRICT).early_stopping == STRICT


def test_early_stopping_as_a_callback_of_fit_stops_a_forecaster() -> None:
    frame = pl.DataFrame({"ds": range(100), "y": [float(value % 7) for value in range(100)]})
    training = nd.TrainingConfig(max_steps=200, threads=1, validate_every=5)
    forecaster = nd.Forecaster("nlinear", horizon=2, input_size=8, training=training)
    forecaster.fit(frame, callbacks=[STRICT])
    assert forecaster.history["step"].max() == 10


@pytest.mark.parametrize("average", [nd.callbacks.EMA(decay=0.5), nd.callbacks.SWA()])
def test_an_average_as_a_callback_is_the_average_of_the_config(average: Any) -> None:
    training = trainer(average)
    training.fit(line(), line())
    assert training.config.average == average
    assert sum(isinstance(item, Averager) for item in training._callback_list.callbacks) == 1
    assert nd.TrainingConfig(callbacks=average).average == average
    with pytest.raises(nd.errors.ConfigError, match="averages weights itself"):
        trainer(average, optimizer="schedule_free_adamw")


def test_checkpointing_and_csv_as_configs_write_their_files(tmp_path: Path) -> None:
    listed = [
        nd.callbacks.Checkpointing(directory=tmp_path / "a"),
        nd.callbacks.CSVLog(tmp_path / "a.csv"),
        nd.callbacks.Log(),
    ]
    trainer(*listed).fit(line())
    settings = config(
        callbacks=[nd.callbacks.Checkpointing(directory=tmp_path / "b"), nd.callbacks.CSVLog(tmp_path / "b.csv")]
    )
    nd.Trainer(network(), nd.losses.MSE(), settings).fit(line())
    for name in "ab":
        assert (tmp_path / name / "step-000000030").is_dir()
        assert pl.read_csv(tmp_path / f"{name}.csv")["step"].to_list() == [10, 20, 30]
    assert nd.TrainingConfig.from_toml(settings.to_toml()).to_dict() == settings.to_dict()
    assert nd.TrainingConfig(callbacks=nd.callbacks.Checkpointing()).callbacks == (
        Checkpoints(directory="checkpoints"),
    )


def test_checkpointing_without_a_directory_is_refused_before_training() -> None:
    with pytest.raises(nd.errors.ConfigError, match="directory is missing"):
        trainer(nd.callbacks.Checkpointing())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (3, r"callbacks: 3 is neither a callback nor a config that builds one, such as EarlyStopping\(\)"),
        (nd.AdamW(), "is neither a callback nor a config that builds one"),
        (nd.EarlyStopping, r"Call it: EarlyStopping\(\)"),
        (nd.callbacks.CSVLog, r"Call it: CSVLog\(\)"),
        (lambda trainer: None, "is neither a callback"),
    ],
    ids=["number", "optimizer", "class", "named class", "function"],
)
def test_anything_else_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(nd.errors.ConfigError, match=message):
        nd.Trainer(network(), nd.losses.MSE(), callbacks=[wrong])


def test_two_early_stoppings_are_refused() -> None:
    for make in (lambda both: trainer(*both), lambda both: nd.TrainingConfig(callbacks=both)):
        with pytest.raises(nd.errors.ConfigError, match="EarlyStopping and EarlyStopping: choose one early_stopping"):
            make([STRICT, nd.EarlyStopping()])
    with pytest.raises(nd.errors.ConfigError, match="EMA and SWA: choose one average"):
        trainer(nd.callbacks.EMA(), nd.callbacks.SWA())


def test_a_callback_object_among_the_callbacks_of_the_config_is_refused_with_what_to_do() -> None:
    with pytest.raises(
        nd.errors.ConfigError, match="GoodEnough cannot be written to a file; pass it to fit or to the Trainer"
    ):
        nd.TrainingConfig(callbacks=[type("GoodEnough", (nd.callbacks.Callback,), {})()])


def test_a_callback_that_is_no_list_is_taken_as_one() -> None:
    assert nd.Trainer(network(), nd.losses.MSE(), callbacks=STRICT).config.early_stopping == STRICT
