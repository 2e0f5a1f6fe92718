"""The second training on all rows: what it learns from, and what scores and intervals are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, Interrupted
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.forecasting.ensemble.ensemble import Ensemble
from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.engine import Trainer

HORIZON, HISTORY, STEPS = 4, 12, 40
TRAINING = nd.TrainingConfig(max_steps=STEPS, validate_every=10, batch_size=8, threads=1)
TABLE = Synthetic(num_series=3, length=120, noise=3.0, seed=5).frame()


def forecaster(**settings: Any) -> nd.Forecaster:
    training = settings.pop("training", TRAINING)
    return nd.Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, training=training, **settings)


def weights(model: nd.Forecaster) -> torch.Tensor:
    return torch.cat([item.flatten() for item in model.fitted.predictor.network.state_dict().values()])


@pytest.fixture(scope="module")
def fitted() -> nd.Forecaster:
    return forecaster().fit(TABLE)


def test_refitted_weights_are_those_of_a_training_without_validation(fitted: nd.Forecaster) -> None:
    chosen = fitted.validated.fitted.trained_on
    assert chosen is not None
    assert not chosen.all_rows
    best = fitted.history.drop_nulls("validation_loss").sort("validation_loss")["step"][0]
    assert chosen.steps == best
    alone = forecaster(validation=0, training=TRAINING.replace(max_steps=chosen.steps)).fit(TABLE)
    assert torch.equal(weights(fitted), weights(alone))
    trained_on = fitted.fitted.trained_on
    assert trained_on is not None
    assert trained_on.all_rows
    assert trained_on.steps == chosen.steps
    assert trained_on.windows == 3 * (120 - HISTORY - HORIZON + 1)


def test_the_first_training_is_that_of_a_forecaster_without_refit(fitted: nd.Forecaster) -> None:
    plain = forecaster(refit=False).fit(TABLE)
    assert plain.validated is plain
    assert torch.equal(weights(fitted.validated), weights(plain))
    assert not torch.equal(weights(fitted), weights(plain))
    assert fitted.history.select("step", "train_loss").equals(plain.history.select("step", "train_loss"))


def test_scores_of_the_validation_part_are_those_before_the_refit(fitted: nd.Forecaster) -> None:
    plain = forecaster(refit=False).fit(TABLE)
    before, after = nd.evaluate(plain), nd.evaluate(fitted)
    assert before.table.equals(after.table)
    assert after.note.endswith("The model was then trained again on all rows; these scores are from before.")
    assert nd.backtest(fitted).scores.equals(nd.backtest(plain).scores)


def test_intervals_have_the_width_of_errors_before_the_refit(fitted: nd.Forecaster) -> None:
    first, second = fitted.validated.fitted.predictor.intervals, fitted.fitted.predictor.intervals
    assert first is not None
    assert second is first


def test_the_test_part_is_not_learned_from() -> None:
    place = pl.int_range(pl.len()).over("unique_id")
    changed = TABLE.with_columns(pl.when(place >= 108).then(pl.col("y") * 7 + 50).otherwise(pl.col("y")).alias("y"))
    first, second = (forecaster(test=12).fit(table) for table in (TABLE, changed))
    assert torch.equal(weights(first), weights(second))
    assert first.split is not None
    assert nd.evaluate(first).table["mae"][0] == pytest.approx(
        np.abs((found := first.forecast_windows(first.split.test)).point - found.actual).mean(), rel=1e-5
    )


def test_nothing_is_held_out_so_nothing_is_trained_twice() -> None:
    model = forecaster(validation=0).fit(TABLE)
    assert model.validated is model
    trained_on = model.fitted.trained_on
    assert trained_on is not None
    assert trained_on.steps == STEPS


def test_a_saved_model_says_what_it_was_trained_on(fitted: nd.Forecaster, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    loaded = nd.Forecaster.load(tmp_path / "model")
    assert loaded.fitted.trained_on == fitted.fitted.trained_on
    assert loaded.predict(levels=[80]).equals(fitted.predict(levels=[80]))


def test_a_training_that_stopped_early_is_followed_by_another() -> None:
    impatient = TRAINING.replace(early_stopping=nd.EarlyStopping(patience=1, min_delta=10.0))
    model = forecaster(training=impatient).fit(TABLE)
    assert model.history["step"].max() < STEPS
    trained_on = model.fitted.trained_on
    assert trained_on is not None
    assert trained_on.all_rows


class StopAt(Callback):
    """Asks for the end of training after a step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def step_end(self, trainer: Trainer) -> None:
        if trainer.state.step == self.step:
            trainer.stop("enough", requested=True)


def test_a_training_that_somebody_stopped_is_not_followed_by_another() -> None:
    model = forecaster().fit(TABLE, callbacks=[StopAt(15)])
    assert model.validated is model
    assert not model.fitted.trained_on.all_rows


class StopRefit(StopAt):
    """Asks for the end of the second training after a step."""

    in_refit: ClassVar[bool] = True

    def step_end(self, trainer: Trainer) -> None:
        if trainer.label:
            super().step_end(trainer)


def test_a_second_training_that_is_stopped_leaves_the_first_model(fitted: nd.Forecaster) -> None:
    model = forecaster().fit(TABLE, callbacks=[StopRefit(2)])
    assert model.validated is model
    assert torch.equal(weights(model), weights(fitted.validated))


class Interrupt(Callback):
    """Interrupts the second training after a step."""

    in_refit: ClassVar[bool] = True

    def __init__(self, step: int) -> None:
        self.step = step
        self.steps: list[int] = []

    def step_end(self, trainer: Trainer) -> None:
        if trainer.label:
            self.steps.append(trainer.state.step)
            if trainer.state.step == self.step:
                trainer.interrupt("SIGTERM")


@pytest.mark.parametrize("step", [1, 7])
def test_a_run_interrupted_in_its_second_training_goes_on_to_the_same_model(
    fitted: nd.Forecaster, tmp_path: Path, step: int
) -> None:
    with pytest.raises(Interrupted):
        forecaster().fit(TABLE, run=tmp_path / "run", callbacks=[Interrupt(step)])
    assert (tmp_path / "run" / "validated").is_dir()
    seen = Interrupt(-1)
    resumed = nd.Forecaster.resume(tmp_path / "run", TABLE, callbacks=[seen])
    assert seen.steps[0] == step + 1
    assert torch.equal(weights(resumed), weights(fitted))
    assert torch.equal(weights(resumed.validated), weights(fitted.validated))
    assert resumed.predict(levels=[80]).equals(fitted.predict(levels=[80]))


def test_a_finished_run_with_more_steps_is_trained_on_from_its_first_training(tmp_path: Path) -> None:
    short = forecaster(training=TRAINING.replace(max_steps=20, early_stopping=None, schedule="constant"))
    short.fit(TABLE, run=tmp_path / "run")
    longer = nd.Forecaster.resume(tmp_path / "run", TABLE, max_steps=STEPS)
    whole = forecaster(training=TRAINING.replace(early_stopping=None, schedule="constant")).fit(TABLE)
    assert torch.equal(weights(longer), weights(whole))
    assert torch.equal(weights(longer.validated), weights(whole.validated))


def test_loaded_members_that_saw_all_rows_cannot_be_calibrated(fitted: nd.Forecaster, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    with pytest.raises(ConfigError, match=r"member 1 was trained on all rows.*refit=False"):
        Ensemble([nd.Forecaster.load(tmp_path / "model")]).calibrate(TABLE)
