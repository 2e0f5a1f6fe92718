"""What TensorBoard itself reads back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neuro_divergent as nd
from neuro_divergent.runs.directory import RunDirectory
from neuro_divergent.runs.history_reader import read_history
from neuro_divergent.training.callbacks.tensorboard import TensorBoard
from tests.unit.training.callbacks.example import line, trainer

pytest.importorskip("tensorboard")


def read(directory: Path) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(directory), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    return events


def test_every_column_is_a_chart_of_the_history(tmp_path: Path) -> None:
    training = trainer(TensorBoard(tmp_path / "board"), validate_every=15, early_stopping=None)
    history = training.fit(line(), line()).frame()
    events = read(tmp_path / "board")
    assert set(events.Tags()["scalars"]) == set(history.columns) - {"step"}
    for name in history.columns[1:]:
        column = history.select("step", name).drop_nulls()
        found = events.Scalars(name)
        assert [event.step for event in found] == column["step"].to_list()
        assert [event.value for event in found] == pytest.approx(column[name].to_list(), rel=1e-6)
    text = events.Tensors("settings/text_summary")[0].tensor_proto.string_val[0].decode()
    assert "    max_steps = 30\n" in text


def test_the_charts_have_the_rows_of_the_run_directory(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    board = TensorBoard(tmp_path / "board")
    settings = {"log_every": 4, "validate_every": 10, "metrics": ["mae"], "early_stopping": None}
    trainer(*run.callbacks(nd.callbacks.Checkpointing()), board, **settings).fit(line(), line(20))
    history, events = read_history(run.path), read(tmp_path / "board")
    assert "validation_mae" in history.columns
    assert set(events.Tags()["scalars"]) == set(history.columns) - {"step"}
    for name in history.columns[1:]:
        column = history.select("step", name).drop_nulls()
        found = [(event.step, event.value) for event in events.Scalars(name)]
        assert found == [(step, float(np.float32(value))) for step, value in column.iter_rows()]


def test_what_comes_after_the_step_of_a_resumed_training_is_replaced(tmp_path: Path) -> None:
    trainer(TensorBoard(tmp_path), max_steps=30, log_every=5).fit(line())
    resumed = trainer(TensorBoard(tmp_path), max_steps=40, log_every=5)
    resumed.state.step = 20
    resumed.fit(line())
    assert [event.step for event in read(tmp_path).Scalars("train_loss")] == list(range(5, 45, 5))


def test_rows_are_kept_after_an_error(tmp_path: Path) -> None:
    class Broken(nd.callbacks.Callback):
        def logged(self, trainer: nd.Trainer) -> None:
            if trainer.state.step == 20:
                raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        trainer(TensorBoard(tmp_path), Broken()).fit(line())
    assert [event.step for event in read(tmp_path).Scalars("train_loss")] == [10, 20]


@pytest.mark.parametrize(("module", "name"), [("tensorboard", "TensorBoard"), ("mlflow", "MLflow")])
def test_a_missing_package_is_named_with_what_to_do(module: str, name: str) -> None:
    script = (
        f"import sys; sys.modules[{module!r}] = None\n"
        f"from neuro_divergent.training.callbacks.{module} import {name}\n"
        "from neuro_divergent.core.errors import MissingDependencyError\n"
        f"try:\n    {name}('place').build()\nexcept MissingDependencyError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert f'pip install "neuro-divergent[{module}]"' in done.stdout
