"""Tuning, training, evaluation and registration as stages of a pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from neuro_divergent.core.errors import ConfigError, Interrupted
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.lifecycle.pipeline.artifact import model_digest
from neuro_divergent.lifecycle.pipeline.function_stage import stage
from neuro_divergent.lifecycle.pipeline.pipeline import Pipeline
from neuro_divergent.lifecycle.pipeline.pipeline_result import PipelineResult
from neuro_divergent.lifecycle.pipeline.stage_error import StageFailedError
from neuro_divergent.lifecycle.pipeline.stages.data_validation import DataValidation
from neuro_divergent.lifecycle.pipeline.stages.evaluation import Evaluation
from neuro_divergent.lifecycle.pipeline.stages.feature_engineering import FeatureEngineering
from neuro_divergent.lifecycle.pipeline.stages.hyperparameter_tuning import HyperparameterTuning
from neuro_divergent.lifecycle.pipeline.stages.model_registration import ModelRegistration
from neuro_divergent.lifecycle.pipeline.stages.training import Training
from neuro_divergent.training.callbacks.base import Callback
from tests.unit.lifecycle.pipeline.tables import daily

pytest.importorskip("sqlalchemy")
TASK = {"horizon": 4, "input_size": 8, "test": 4}
TRAINING = {"max_steps": 8, "batch_size": 16, "seed": 3}


def noisy(rows: int = 60) -> pl.DataFrame:
    noise = np.random.default_rng(0).normal(0, 0.1, 2 * rows)
    return daily(rows).with_columns(y=pl.col("y") + pl.Series(noise))


def whole(place: Path, data: Any, *, steps: int = 8, **thresholds: Any) -> Pipeline:
    return Pipeline(
        [
            DataValidation(),
            FeatureEngineering(calendar=["day_of_week"]),
            Training(model="mlp", task=TASK, training={**TRAINING, "max_steps": steps}),
            Evaluation(**thresholds),
            ModelRegistration(
                location=str(place / "models"), model_name="sales", alias="challenger", tags={"team": "a"}
            ),
        ],
        data=data,
        directory=place / "pipeline",
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whole")


@pytest.fixture(scope="module")
def result(place: Path) -> PipelineResult:
    return whole(place, noisy()).run()


def test_model_of_the_pipeline_is_the_one_of_fit(result: PipelineResult, tmp_path: Path) -> None:
    table = result["feature_engineering.table"]
    schema = Schema.from_dict(result["feature_engineering.schema"])
    forecaster = Forecaster("mlp", training=None, **TASK)
    forecaster = Forecaster("mlp", training=forecaster.training.replace(**TRAINING), **TASK)
    forecaster.fit(table, **dict(schema)).save(tmp_path / "model")
    assert model_digest(tmp_path / "model") == result.digests["training.model"]
    forecasts = result["training.forecasts"]
    assert forecasts.height == 8
    assert {"forecast", "lo-80", "hi-95"} <= set(forecasts.columns)


def test_scores_are_those_of_the_held_out_part(result: PipelineResult) -> None:
    scores, forecasts = result["evaluation.scores"], result["evaluation.forecasts"]
    assert scores["part"] == "test"
    own = next(row for row in scores["scores"] if row["name"] == "mlp")
    error = (forecasts["forecast"] - forecasts["actual"]).abs().mean()
    assert own["mae"] == pytest.approx(error)
    assert scores["passed"]


def test_version_is_registered_with_run_scores_and_data(result: PipelineResult, place: Path) -> None:
    from neuro_divergent.lifecycle.registry.registry import Registry

    version = Registry(place / "models").get("sales@challenger")
    assert result["model_registration.version"]["number"] == version.number == 1
    assert version.data is not None
    assert version.data["rows"] == 120
    assert version.data["start"] == "2024-01-01"
    assert version.tags["team"] == "a"
    assert version.scores is not None
    assert version.load().predict().height == 8


def test_nothing_changed_runs_nothing_and_a_lost_registry_registers_again(result: PipelineResult, place: Path) -> None:
    assert set(whole(place, noisy()).run().states.values()) == {"cached"}
    (place / "models").rename(place / "elsewhere")
    states = whole(place, noisy()).run().states
    assert {name for name, state in states.items() if state == "done"} == {"model_registration"}


@pytest.mark.long
def test_changed_steps_train_again_and_changed_thresholds_only_evaluate_again(
    result: PipelineResult, place: Path
) -> None:
    states = whole(place, noisy(), minimum={"skill": -100.0}).run().states
    assert [name for name, state in states.items() if state == "done"] == ["evaluation", "model_registration"]
    states = whole(place, noisy(), steps=4).run().states
    assert [name for name, state in states.items() if state == "done"] == [
        "training",
        "evaluation",
        "model_registration",
    ]


def test_scores_that_are_not_good_enough_fail_the_stage_and_nothing_is_registered(
    result: PipelineResult, place: Path
) -> None:
    pipeline = whole(place, noisy(), maximum={"mae": 0.0}, minimum={"skill": 2.0})
    with pytest.raises(
        StageFailedError,
        match=r"the model is not good enough on the test part: mae is .*, at most 0 is demanded; skill",
    ) as caught:
        pipeline.run()
    assert caught.value.result.states["model_registration"] == "skipped"
    page = (place / "pipeline" / "report.html").read_text("utf-8")
    assert "seasonal naive" in page  # the scores are shown all the same
    scores = whole(place, noisy(), maximum={"mae": 0.0}, on_failure="warn").run()["evaluation.scores"]
    assert not scores["passed"]


def test_evaluation_on_another_table_forecasts_its_end(result: PipelineResult, place: Path, tmp_path: Path) -> None:
    later = noisy(80)

    def model() -> Path:
        return result.artifact("training.model").file

    pipeline = Pipeline(
        [stage(model, outputs="model", cache=False), Evaluation(on="table", last=8, coverage=100.0)],
        data=later.filter(pl.col("ds") >= pl.col("ds").max().dt.offset_by("-40d")),
        directory=tmp_path / "p",
    )
    scores = pipeline.run()["evaluation.scores"]
    assert (scores["part"], scores["windows"]) == ("new data", 4)


class _StopAt(Callback):
    """Interrupts training after a step, once."""

    def __init__(self, step: int) -> None:
        self._step = step

    def step_end(self, trainer: Any) -> None:
        if trainer.state.step == self._step:
            self._step = -1
            raise Interrupted("SIGTERM", "enough")


@pytest.mark.long
def test_interrupted_training_is_resumed_to_the_same_model(result: PipelineResult, place: Path, tmp_path: Path) -> None:
    task = {**TASK, "refit": False}

    def pipeline(name: str) -> Pipeline:
        training = Training(
            model="mlp", task=task, training=TRAINING, checkpoints={"every_steps": 2, "every_seconds": "none"}
        )
        return Pipeline([training], data=noisy(), directory=tmp_path / name)

    expected = pipeline("whole").run().digests["training.model"]
    with pytest.raises(Interrupted):
        pipeline("killed").run(callbacks=[_StopAt(5)])
    steps: list[int] = []

    class Count(Callback):
        def step_end(self, trainer: Any) -> None:
            steps.append(trainer.state.step)

    assert pipeline("killed").run(callbacks=[Count()]).digests["training.model"] == expected
    assert steps == [5, 6, 7, 8]


@pytest.mark.long
def test_tuned_settings_are_those_of_the_training_unless_it_says_otherwise(tmp_path: Path) -> None:
    def pipeline(**training: Any) -> Pipeline:
        tuning = HyperparameterTuning(
            model={"name": "mlp", "hidden_size": 8},
            task=TASK,
            training=TRAINING,
            trials=2,
            space={"training.optimizer.lr": [0.0123], "model.hidden_size": [16]},
            study={"method": "random"},
        )
        return Pipeline([tuning, Training(**training)], data=noisy(), directory=tmp_path / "p")

    found = pipeline().run()
    assert found["hyperparameter_tuning.trials"].height == 2
    model = found["training.model"]
    assert model.training.optimizer.lr == 0.0123
    assert model.architecture.hidden_size == 16
    assert model.training.max_steps == 8
    again = pipeline(training={"max_steps": 4}).run()
    assert again.states == {"hyperparameter_tuning": "cached", "training": "done"}
    model = again["training.model"]
    assert (model.training.optimizer.lr, model.training.max_steps) == (0.0123, 4)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": "mlp"}, "stage 'training': task: horizon is needed"),
        ({"model": "mpl", "task": TASK}, "Unknown .* 'mpl'. Did you mean 'mlp'"),
        (
            {"model": {"name": "mlp", "hidden_sise": 3}, "task": TASK},
            "unknown setting 'hidden_sise'. Did you mean 'hidden_size'",
        ),
        (
            {"model": "mlp", "task": TASK, "training": {"max_step": 3}},
            "unknown setting 'max_step'. Did you mean 'max_steps'",
        ),
    ],
)
def test_mistakes_in_settings_are_said_before_any_stage_is_run(
    settings: dict[str, Any], words: str, tmp_path: Path
) -> None:
    began = []
    pipeline = Pipeline([DataValidation(), Training(**settings)], data=noisy(), directory=tmp_path / "p")
    with pytest.raises(ConfigError, match=words):
        pipeline.run(observe=lambda event: began.append(event))
    assert not began


def test_unknown_metric_names_the_closest() -> None:
    with pytest.raises(ConfigError, match=r"Unknown metric 'maes'. Did you mean 'mae'"):
        Evaluation(maximum={"maes": 1.0})


def test_holidays_ahead_give_forecasts_without_a_table_of_the_future(tmp_path: Path) -> None:
    features = FeatureEngineering(holidays="DE", horizon=4)
    training = Training(model="mlp", task=TASK, training=TRAINING)
    found = Pipeline([features, training], data=noisy(), directory=tmp_path / "p").run()
    assert found["training.forecasts"].height == 8
