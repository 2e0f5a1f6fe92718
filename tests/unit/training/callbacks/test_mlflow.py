"""What an MLflow client reads back from a real store."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import neuro_divergent as nd
from neuro_divergent.runs.directory import RunDirectory
from neuro_divergent.runs.history_reader import read_history
from neuro_divergent.training.callbacks.mlflow import MLflow
from tests.unit.training.callbacks.example import line, trainer

# Not importorskip: MLflow decides when it is imported whether to report its use over the network.
pytestmark = pytest.mark.skipif(find_spec("mlflow") is None, reason="MLflow is not installed")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store in a file, which takes MLflow seconds to set up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DO_NOT_TRACK", "true")
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        from mlflow.telemetry.client import get_telemetry_client

        assert get_telemetry_client() is None
        logging.getLogger("mlflow").setLevel(logging.WARNING)
        yield f"sqlite:///{tmp_path_factory.mktemp('store')}/mlflow.db"


def client(store: str) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=store)


def test_settings_and_rows_can_be_read_back(store: str) -> None:
    callback = MLflow(
        "wine",
        run="first",
        tracking_uri=store,
        parameters={"architecture": {"name": "line", "sizes": [3, 1]}},
        tags={"who": "me"},
    ).build()
    training = trainer(callback, log_every=3, validate_every=15, early_stopping=None)
    history = training.fit(line(), line()).frame()
    found = client(store).get_run(callback.run_id)
    assert (found.info.status, found.info.run_name, found.data.tags["who"]) == ("FINISHED", "first", "me")
    assert client(store).get_experiment(found.info.experiment_id).name == "wine"
    assert found.data.params["optimizer.lr"] == "0.05"
    assert found.data.params["optimizer.name"] == "adam"
    assert found.data.params["max_steps"] == "30"
    assert found.data.params["architecture.sizes"] == "[3, 1]"
    for name in history.columns[1:]:
        column = history.select("step", name).drop_nulls()
        metrics = client(store).get_metric_history(callback.run_id, name)
        assert {metric.step: metric.value for metric in metrics} == dict(column.iter_rows())
    assert not list(Path.cwd().iterdir())


def test_the_metrics_are_the_rows_of_the_run_directory(store: str, tmp_path: Path) -> None:
    callback = MLflow(tracking_uri=store).build()
    settings = {"log_every": 4, "validate_every": 10, "metrics": ["mae"], "early_stopping": None}
    trainer(*RunDirectory(tmp_path).callbacks(nd.callbacks.Checkpointing()), callback, **settings).fit(line(), line(20))
    history = read_history(tmp_path)
    assert "validation_mae" in history.columns
    assert set(client(store).get_run(callback.run_id).data.metrics) == set(history.columns) - {"step"}
    for name in history.columns[1:]:
        column = history.select("step", name).drop_nulls()
        metrics = client(store).get_metric_history(callback.run_id, name)
        assert [(metric.step, metric.value) for metric in metrics] == list(column.iter_rows())


def test_a_reason_to_stop_and_an_error_are_recorded(store: str) -> None:
    class Act(nd.callbacks.Callback):
        def __init__(self, error: BaseException | None) -> None:
            self.error = error

        def logged(self, trainer: nd.Trainer) -> None:
            if self.error is not None:
                raise self.error
            trainer.stop("enough")

    cases = [(None, "FINISHED"), (RuntimeError("broken"), "FAILED"), (KeyboardInterrupt(), "KILLED")]
    for error, status in cases:
        callback = MLflow(tracking_uri=store).build()
        training = trainer(callback, Act(error))
        if error is None:
            training.fit(line())
        else:
            with pytest.raises(type(error)):
                training.fit(line())
        found = client(store).get_run(callback.run_id)
        assert found.info.status == status
        expected = "enough" if error is None else f"{type(error).__name__}: {error}"
        assert found.data.tags["stop_reason"] == expected
        assert len(client(store).get_metric_history(callback.run_id, "train_loss")) == 1


def test_a_resumed_training_goes_on_in_its_run(store: str) -> None:
    first = MLflow(tracking_uri=store).build()
    trainer(first, max_steps=20).fit(line())
    second = MLflow(tracking_uri=store).build()
    second.load_state_dict(first.state_dict())
    resumed = trainer(second, max_steps=30)
    resumed.state.step = 20
    resumed.fit(line())
    assert second.run_id == first.run_id
    steps = [metric.step for metric in client(store).get_metric_history(first.run_id, "train_loss")]
    assert steps == [10, 20, 30]
    assert client(store).get_run(first.run_id).info.status == "FINISHED"
