"""A run in a directory: begun, interrupted, resumed, refused."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.errors import Interrupted
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.runs.directory import RunDirectory, fingerprint

SETTINGS = {"max_steps": 24, "threads": 1, "log_every": 5, "validate_every": 6}


def table(**changes: Any) -> pl.DataFrame:
    return Synthetic(**{"num_series": 3, "length": 60, "frequency": "1d", "noise": 1.0, **changes}).frame()


def forecaster(**training: Any) -> nd.Forecaster:
    settings = nd.TrainingConfig(**{**SETTINGS, **training})
    return nd.Forecaster(nd.NLinear(), horizon=3, input_size=12, training=settings)


class InterruptAt(nd.callbacks.Callback):
    def __init__(self, step: int, signal: str = "SIGTERM") -> None:
        self.step, self.signal = step, signal

    def step_end(self, trainer: nd.Trainer) -> None:
        if trainer.state.step == self.step:
            trainer.interrupt(self.signal)


def weights(model: nd.Forecaster) -> list[torch.Tensor]:
    return list(model.fitted.predictor.network.state_dict().values())


def assert_same(one: nd.Forecaster, other: nd.Forecaster) -> None:
    assert all(torch.equal(a, b) for a, b in zip(weights(one), weights(other), strict=True))
    assert one.predict(levels=[80]).equals(other.predict(levels=[80]))


def begin(run: Path, data: Any, step: int = 13, **training: Any) -> None:
    with pytest.raises(Interrupted, match=f"at step {step}"):
        forecaster(**training).fit(data, run=run, callbacks=[InterruptAt(step)])


def test_run_directory_holds_everything_needed_to_resume(tmp_path: Path) -> None:
    run = tmp_path / "deep" / "run"
    begin(run, table())
    assert {path.name for path in run.iterdir()} == {
        "checkpoints",
        "config.toml",
        "data.json",
        "environment.json",
        "events.jsonl",
        "heartbeat.json",
        "history.parquet",
        "lock",
        "run.json",
        "status.json",
    }
    summary = nd.runs.describe_run(run)
    assert (summary.state, summary.step, summary.total_steps) == ("interrupted", 13, 24)
    assert RunConfig.from_toml(run / "config.toml") == RunConfig.from_dict(RunDirectory(run).stored_config())


@pytest.mark.parametrize("way", ["table", "file"])
def test_a_resumed_run_ends_like_one_that_was_never_interrupted(tmp_path: Path, way: str) -> None:
    data: Any = table()
    if way == "file":
        data.write_csv(tmp_path / "data.csv")
        data = tmp_path / "data.csv"
    whole = forecaster().fit(data, run=tmp_path / "whole")
    begin(tmp_path / "run", data)
    again = nd.Forecaster.resume(tmp_path / "run", data if way == "table" else None)
    assert_same(whole, again)
    assert nd.runs.describe_run(tmp_path / "run").state == "finished"
    assert_same(whole, nd.Forecaster.load(tmp_path / "run" / "model"))
    assert_same(whole, nd.Forecaster.resume(tmp_path / "run", data))  # nothing is left to do


def test_resume_with_more_steps_extends_the_run(tmp_path: Path) -> None:
    forecaster().fit(table(), run=tmp_path / "run")
    longer = nd.Forecaster.resume(tmp_path / "run", table(), max_steps=40)
    assert longer.history["step"][-1] == 40
    assert RunDirectory(tmp_path / "run").stored_config()["training"]["max_steps"] == 40
    begin(tmp_path / "other", table())
    with pytest.raises(Interrupted):
        nd.Forecaster.resume(tmp_path / "other", table(), max_steps=40, callbacks=[InterruptAt(30)])
    assert nd.Forecaster.resume(tmp_path / "other", table()).history["step"][-1] == 40  # not back to 24


def test_resume_with_changed_settings_is_refused_with_the_differences(tmp_path: Path) -> None:
    run = tmp_path / "run"
    begin(run, table())
    with pytest.raises(
        nd.errors.ConfigError, match=r"run: .*: training\.optimizer\.lr: 0\.001 before, 0\.01 now\. Use"
    ):
        nd.Forecaster.resume(run, table(), optimizer=nd.AdamW(lr=0.01))
    with pytest.raises(nd.errors.DataError, match=r"data have changed .* \(180 rows of 3 series then, 183 of 3 now\)"):
        nd.Forecaster.resume(run, table(length=61))
    with pytest.raises(nd.errors.DataError, match="data have changed"):
        nd.Forecaster.resume(run, table(noise=1.1))
    changed = nd.Forecaster.resume(run, table(noise=1.1), optimizer=nd.AdamW(lr=0.01), allow_changes=True)
    assert changed.history["step"][-1] == 24
    begin(tmp_path / "next", table())
    with pytest.raises(nd.errors.InputError, match="was begun with a table in memory; pass it as data"):
        nd.Forecaster.resume(tmp_path / "next")


def test_a_run_is_worked_on_by_one_process(tmp_path: Path) -> None:
    begin(tmp_path / "run", table())
    with RunDirectory(tmp_path / "run").opened(), pytest.raises(nd.errors.InputError, match="in use by this process"):
        nd.Forecaster.resume(tmp_path / "run", table())


def test_existing_paths_and_missing_runs_are_refused(tmp_path: Path) -> None:
    begin(tmp_path / "run", table())
    with pytest.raises(nd.errors.InputError, match=r"run: exists already; resume it \(--resume\), choose another"):
        forecaster().fit(table(), run=tmp_path / "run")
    with pytest.raises(nd.errors.InputError, match="nothing: there is no run to resume"):
        nd.Forecaster.resume(tmp_path / "nothing")


def test_a_run_that_fails_before_training_leaves_nothing(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "deep" / "run")
    with pytest.raises(ValueError, match="too early"), directory.opened():
        raise ValueError("too early")
    assert not list(tmp_path.iterdir())


def test_status_of_a_diverged_run_is_diverged(tmp_path: Path) -> None:
    class Spoil(nd.callbacks.Callback):
        def checkpoint_safe(self, trainer: nd.Trainer) -> None:
            if trainer.state.step == 9:
                next(trainer.module.parameters()).data.fill_(torch.nan)

    with pytest.raises(nd.errors.DivergedError):
        forecaster().fit(table(), run=tmp_path / "run", callbacks=[Spoil()])
    summary = nd.runs.describe_run(tmp_path / "run")
    assert summary.state == "diverged"
    assert "not finite at step 10" in summary.message


def test_foreign_or_damaged_run_files_are_refused(tmp_path: Path) -> None:
    begin(tmp_path / "run", table())
    path = tmp_path / "run" / "run.json"
    document = json.loads(path.read_text())
    for change, message in (
        ({"format": 9}, "format 9, this version reads up to 1"),
        ({"format": "1"}, "does not describe a run"),
        ({"config": []}, "does not describe a run"),
        ({"data": {}}, "does not describe a run"),
    ):
        path.write_text(json.dumps({**document, **change}))
        with pytest.raises(nd.errors.UntrustedFileError, match=message):
            nd.Forecaster.resume(tmp_path / "run", table())


def test_training_in_another_thread_needs_no_signals(tmp_path: Path) -> None:
    done: list[nd.Forecaster] = []
    thread = threading.Thread(target=lambda: done.append(forecaster().fit(table(), run=tmp_path / "run")))
    thread.start()
    thread.join()
    assert done


def test_fingerprints_tell_data_apart() -> None:
    plain = fingerprint(build_panel(table()))
    assert plain == fingerprint(build_panel(table().sample(fraction=1.0, shuffle=True, seed=1).sort("ds")))
    for other in (table(noise=1.01), table(start="2021-01-02"), table(num_series=2)):
        assert fingerprint(build_panel(other)) != plain
    renamed = table().with_columns(pl.col("unique_id") + "x")
    assert fingerprint(build_panel(renamed)) != plain
