"""Searches that train seeds, folds and trials that are alike in one step: the same values, and nothing is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, Interrupted
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.forecasting.vectorized_fit import VectorizedFit
from neuro_divergent.runs.events import read_events
from neuro_divergent.runs.status import describe_run, list_runs
from neuro_divergent.search import deadline, grouping, worker
from neuro_divergent.search.deadline import Deadline
from neuro_divergent.search.study import Study
from neuro_divergent.search.trial_groups import VectorizeWarning
from neuro_divergent.training.callbacks.checkpointing import Checkpointer
from neuro_divergent.training.vectorized.trainer import VectorizedTrainer

DATA = Synthetic(num_series=2, length=80, noise=1.0).frame()
RATE = "training.optimizer.lr"
RATES = {RATE: [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 3e-2, 5e-2]}
TRAINING = nd.TrainingConfig(max_steps=50, threads=1, validate_every=10, precision="float64", early_stopping=None)
GRID: dict[str, Any] = {"method": "grid", "pruner": None}


def study_in(directory: Path, model: Any = "nlinear", training: nd.TrainingConfig = TRAINING, **config: Any) -> Study:
    space = config.pop("space", RATES)
    forecaster = nd.Forecaster(model, horizon=7, input_size=14, training=training)
    return Study(forecaster, directory, space, objectives="mae", **config)


class Killed(BaseException):
    """What ends a process at once, as seen from inside of it."""


def reasons_of(study: Study) -> list[str]:
    """Return for each kind of network why it is not trained together with others; empty if it is."""
    attributes = study.store.storage.get_study_user_attrs(study.store._study_id)
    return [value for key, value in attributes.items() if key.startswith("vectorize ")]


def errors_of(study: Study) -> list[float]:
    return [trial.values["mae"] for trial in study.trials]


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many networks were trained together, each time."""
    sizes: list[int] = []
    fit = VectorizedTrainer.fit
    monkeypatch.setattr(VectorizedTrainer, "fit", lambda self: (sizes.append(len(self._members)), fit(self))[1])
    return sizes


@pytest.fixture
def always_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the measurement say that it is faster to train together, however busy the machine is."""
    monkeypatch.setattr("neuro_divergent.forecasting.vectorized_fit.speedup", lambda members: 2.0)


def test_grid_of_learning_rates_trained_in_one_step_has_the_values_of_separate_trials(
    tmp_path: Path, groups: list[int]
) -> None:
    apart = study_in(tmp_path / "apart", **GRID).run(DATA, trials=8, vectorize=False)
    assert groups == []
    together = study_in(tmp_path / "together", **GRID).run(DATA, trials=8, vectorize=True)
    assert groups == [8]
    assert errors_of(together) == pytest.approx(errors_of(apart), rel=1e-6)  # scored with weights in float32
    assert [trial.settings for trial in together.trials] == [trial.settings for trial in apart.trials]
    for trial in together.trials:
        rows, expected = (read_events(study.directory / "trials" / trial.name, "row") for study in (together, apart))
        assert [row["step"] for row in rows] == [10, 20, 30, 40, 50]
        for name in ("train_loss", "validation_loss"):
            assert [row[name] for row in rows] == pytest.approx([row[name] for row in expected], rel=1e-12)


def test_trials_of_a_group_are_runs_with_settings_history_scores_and_the_best_models(
    tmp_path: Path, groups: list[int]
) -> None:
    study = study_in(tmp_path / "study", **GRID, keep=2).run(DATA, trials=8, vectorize=True)
    runs = {run.name: run for run in list_runs(study.directory / "trials")}
    assert {run.state for run in runs.values()} == {"finished"}
    shown = {name: run.score["mae"] for name, run in runs.items() if run.score is not None}
    assert shown == pytest.approx({trial.name: trial.values["mae"] for trial in study.trials}, rel=1e-6)
    assert all((study.directory / "trials" / name / "history.parquet").is_file() for name in runs)
    best = sorted(study.trials, key=lambda trial: trial.values["mae"])[:2]
    kept = {path.parent.name for path in study.directory.glob("trials/*/model")}
    assert kept == {trial.name for trial in best}
    loaded = nd.Forecaster.load(study.directory / "trials" / best[0].name / "model")
    assert loaded.training.optimizer.lr == best[0].settings[RATE]  # type: ignore[attr-defined]


def test_seeds_of_a_trial_trained_in_one_step_give_the_same_proposals_and_values(
    tmp_path: Path, groups: list[int]
) -> None:
    space = {RATE: nd.search.log(1e-4, 1e-1), "task.input_size": [7, 14]}
    settings: dict[str, Any] = {"space": space, "seeds": 3, "method": "tpe"}
    apart = study_in(tmp_path / "apart", **settings).run(DATA, trials=3, vectorize=False)
    together = study_in(tmp_path / "together", **settings).run(DATA, trials=3, vectorize=True)
    assert groups == [3, 3, 3]
    assert [trial.settings for trial in together.trials] == [trial.settings for trial in apart.trials]
    assert errors_of(together) == pytest.approx(errors_of(apart), rel=1e-6)
    assert [trial.reports.keys() for trial in together.trials] == [trial.reports.keys() for trial in apart.trials]
    assert len(list(together.directory.glob("trials/00000-seed-*/trial.json"))) == 3


def test_folds_and_seeds_of_a_trial_are_trained_in_one_step_where_their_batches_have_one_size(
    tmp_path: Path, groups: list[int]
) -> None:
    splitter = nd.splitters.TimeSeriesSplit(n_splits=2, test_size=7)
    training = TRAINING.replace(max_steps=10, batch_size=16)
    settings: dict[str, Any] = {"splitter": splitter, "seeds": 2, "training": training}
    apart, together = (
        study_in(tmp_path / str(vectorize), **settings).run(DATA, trials=1, vectorize=vectorize)
        for vectorize in (False, True)
    )
    assert groups == [4]
    assert errors_of(together) == pytest.approx(errors_of(apart), rel=1e-6)


def test_network_without_a_batching_rule_is_trained_one_by_one_with_the_same_bits(
    tmp_path: Path, groups: list[int]
) -> None:
    training = TRAINING.replace(max_steps=3, precision="float32")
    settings: dict[str, Any] = {"model": nd.LSTM(hidden_size=4), "training": training, **GRID}
    apart, auto = (
        study_in(tmp_path / str(vectorize), **settings).run(DATA, trials=3, vectorize=vectorize)
        for vectorize in (False, "auto")
    )
    assert groups == []
    assert errors_of(auto) == errors_of(apart)
    assert [(trial.state, trial.attempts, trial.reason) for trial in auto.trials] == [("complete", 1, "")] * 3
    forced = study_in(tmp_path / "forced", **settings)
    with pytest.raises(ConfigError, match="lstm cannot be trained so: torch has no batching rule"):
        forced.run(DATA, trials=3, vectorize=True)
    assert [trial.attempts for trial in forced.run(DATA, trials=3, vectorize=False).trials] == [1, 1, 1]


def test_measurement_that_is_recorded_decides_for_the_whole_study(
    tmp_path: Path, groups: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neuro_divergent.forecasting.vectorized_fit.speedup", lambda members: 0.9)
    study = study_in(tmp_path / "study", seeds=2, training=TRAINING.replace(max_steps=3)).run(DATA, trials=1)
    monkeypatch.setattr("neuro_divergent.forecasting.vectorized_fit.speedup", lambda members: 9.0)
    Study.load(study.directory).run(DATA, trials=2)
    assert groups == []


@pytest.mark.usefixtures("always_faster")
def test_trials_that_differ_in_more_than_the_rate_are_not_trained_together(tmp_path: Path, groups: list[int]) -> None:
    space = {RATE: [1e-3, 1e-2, 1e-1], "task.input_size": [7, 14]}
    study = study_in(tmp_path / "study", training=TRAINING.replace(max_steps=3), space=space, **GRID)
    study.run(DATA, trials=6)
    assert groups == [3, 3]
    assert {trial.state for trial in study.trials} == {"complete"}


@pytest.mark.usefixtures("always_faster")
@pytest.mark.parametrize(
    ("config", "limits", "reason"),
    [
        ({"method": "tpe", "pruner": None}, {}, "tpe looks at the result"),
        ({"method": "grid"}, {}, "the pruner median"),
        (GRID, {"patience": 5}, "each may be the last"),
        ({**GRID, "constraints": {"seconds": 100.0}}, {}, "the time of each is measured"),
    ],
)
def test_trials_are_run_one_by_one_where_the_next_depends_on_the_last(
    config: dict[str, Any], limits: dict[str, Any], reason: str, tmp_path: Path, groups: list[int]
) -> None:
    training = TRAINING.replace(max_steps=2)
    with pytest.raises(ConfigError, match=reason):
        study_in(tmp_path / "forced", training=training, **config).run(DATA, trials=2, **limits, vectorize=True)
    study_in(tmp_path / "auto", training=training, **config).run(DATA, trials=2, **limits)
    assert groups == []


@pytest.mark.usefixtures("always_faster")
def test_rate_that_diverges_fails_its_trial_and_no_other_of_the_group(tmp_path: Path, groups: list[int]) -> None:
    space, training = {RATE: [1e-3, 1e35, 1e-2], "training.clip": ["none"]}, TRAINING.replace(precision="float32")
    study = study_in(tmp_path / "study", training=training, space=space, **GRID).run(DATA, trials=3)
    assert groups == [3]
    assert [trial.state for trial in study.trials] == ["complete", "failed", "complete"]
    assert study.trials[1].reason.startswith("diverged: ")
    assert describe_run(study.directory / "trials" / "00001").state == "diverged"


@contextmanager
def at_step(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the clock of searches stand still until a training has made some steps, then let the time be up."""
    clock, look = SimpleNamespace(now=0.0, sleep=time.sleep), Deadline.step_end
    clock.monotonic = lambda: clock.now

    def step_end(self: Deadline, trainer: Any) -> None:
        clock.now = float("inf") if trainer.state.step == step else 0.0
        look(self, trainer)

    with monkeypatch.context() as patched:
        patched.setattr(deadline, "time", clock)
        patched.setattr(worker, "time", clock)
        patched.setattr(Deadline, "step_end", step_end)
        yield


@pytest.mark.usefixtures("always_faster")
def test_group_that_runs_when_the_time_is_up_is_stopped_and_goes_on_exactly_when_resumed(
    tmp_path: Path, groups: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = study_in(tmp_path / "whole", **GRID).run(DATA, trials=3)
    study = study_in(tmp_path / "stopped", **GRID)
    with at_step(12, monkeypatch):
        study.run(DATA, trials=3, seconds=3600)
    assert [(trial.state, trial.attempts) for trial in study.trials] == [("stopped", 0)] * 3
    assert {describe_run(path).state for path in study.directory.glob("trials/*")} == {"interrupted"}
    done = Study.load(study.directory).run(DATA, trials=3)
    assert groups == [3, 3, 3]
    assert reasons_of(done) == [""]
    assert errors_of(done) == errors_of(whole)
    assert [(trial.state, trial.attempts, trial.reason) for trial in done.trials] == [("complete", 1, "")] * 3
    for run in study.directory.glob("trials/*"):
        assert [event["step"] for event in read_events(run, "start")] == [0, 12]
        assert not (run / "checkpoints").exists()


@pytest.mark.usefixtures("always_faster")
def test_signal_interrupts_all_trials_of_a_group_at_one_step_and_they_go_on_from_there(
    tmp_path: Path, groups: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = study_in(tmp_path / "whole", **GRID).run(DATA, trials=3)
    study = study_in(tmp_path / "stopped", **GRID)

    def step_end(self: Deadline, trainer: Any) -> None:
        if trainer.state.step == 7 and trainer.config.optimizer.lr == RATES[RATE][1]:
            signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patched:
        patched.setattr(Deadline, "step_end", step_end)
        with pytest.raises(Interrupted, match="step 7"):
            study.run(DATA, trials=3)
    assert [(trial.state, trial.attempts) for trial in study.trials] == [("running", 0)] * 3
    done = Study.load(study.directory).run(DATA)
    assert errors_of(done) == errors_of(whole)
    for run in study.directory.glob("trials/*"):
        assert [event["step"] for event in read_events(run, "start")] == [0, 7]


def test_command_that_asks_for_one_step_says_why_nothing_can_be_trained_so(tmp_path: Path) -> None:
    from neuro_divergent.interfaces.cli.main import app

    DATA.write_csv(tmp_path / "sales.csv")
    command = ["search", str(tmp_path / "sales.csv"), "--horizon", "7", "-o", str(tmp_path / "study"), "--vectorize"]
    result = CliRunner().invoke(app, command)
    assert isinstance(result.exception, ConfigError | SystemExit)
    assert "tpe looks at the result" in f"{result.exception}{result.output}"
    assert not (tmp_path / "study").exists()


@pytest.mark.usefixtures("always_faster")
@pytest.mark.parametrize("last", [5, *(pytest.param(last, marks=pytest.mark.long) for last in (4, 6, 9))])
def test_group_killed_while_checkpoints_were_written_goes_on_from_the_last_step_that_all_have(
    last: int, tmp_path: Path, groups: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    every = grouping._CHECKPOINTS.replace(every_seconds=None, every_steps=10)
    monkeypatch.setattr(grouping, "_CHECKPOINTS", every)
    settings: dict[str, Any] = {"method": "tpe", "seeds": 3}
    whole = study_in(tmp_path / "whole", **settings).run(DATA, trials=1)
    study = study_in(tmp_path / "killed", **settings)
    write, count = Checkpointer._write, iter(range(1000))

    def write_some(self: Checkpointer, *arguments: Any) -> None:
        if next(count) == last:
            raise Killed
        write(self, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(Checkpointer, "_write", write_some)
        with pytest.raises(Killed):
            study.run(DATA, trials=1)
    done = Study.load(study.directory).run(DATA, trials=1)
    assert groups == [3, 3, 3]
    assert reasons_of(done) == [""]
    assert errors_of(done) == errors_of(whole)
    for run in study.directory.glob("trials/*"):
        assert [event["step"] for event in read_events(run, "start")] == [0, 10 * (last // 3)]


@pytest.mark.usefixtures("always_faster")
@pytest.mark.parametrize("method", ["trials", "seeds"])
def test_group_whose_process_died_while_models_were_saved_is_trained_again_to_the_same_values(
    method: str, tmp_path: Path, groups: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = GRID if method == "trials" else {"method": "random", "seeds": 3}
    trials = 3 if method == "trials" else 1
    whole = study_in(tmp_path / "whole", **settings).run(DATA, trials=trials)
    study = study_in(tmp_path / "killed", **settings)
    saved: list[Path] = []
    save = nd.Forecaster.save

    def save_two(self: nd.Forecaster, path: Path, **options: Any) -> None:
        if len(saved) == 2:
            raise Killed
        saved.append(path)
        save(self, path, **options)

    with monkeypatch.context() as patched:
        patched.setattr(nd.Forecaster, "save", save_two)
        with pytest.raises(Killed):
            study.run(DATA, trials=trials)
    assert {trial.state for trial in study.trials} == {"running"}
    done = Study.load(study.directory).run(DATA, trials=trials)
    assert groups == [3, 3, 3]
    assert reasons_of(done) == [""]
    assert errors_of(done) == errors_of(whole)
    assert [(trial.state, trial.attempts) for trial in done.trials] == [("complete", 2)] * trials


@pytest.mark.usefixtures("always_faster")
def test_trials_that_died_twice_in_a_group_are_run_by_themselves(
    tmp_path: Path, groups: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(self: VectorizedFit, states: object) -> None:
        raise Killed

    study = study_in(tmp_path / "study", training=TRAINING.replace(max_steps=3), **GRID)
    with monkeypatch.context() as patched:
        patched.setattr(VectorizedFit, "train", die)
        for _ in range(2):
            with pytest.raises(Killed):
                study.run(DATA, trials=3)
    done = study.run(DATA, trials=3)
    assert groups == []
    assert [(trial.state, trial.attempts) for trial in done.trials] == [("complete", 3)] * 3


@pytest.mark.usefixtures("always_faster")
def test_out_of_memory_in_a_group_runs_its_trials_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_out(self: VectorizedTrainer) -> None:
        raise MemoryError

    monkeypatch.setattr(VectorizedTrainer, "fit", run_out)
    study = study_in(tmp_path / "study", training=TRAINING.replace(max_steps=3), **GRID)
    with pytest.warns(VectorizeWarning, match="MemoryError"):
        study.run(DATA, trials=3)
    assert [(trial.state, trial.attempts, trial.reason) for trial in study.trials] == [("complete", 1, "")] * 3


SEARCH = """
import sys
import neuro_divergent as nd
from neuro_divergent.search.study import Study

training = nd.TrainingConfig(max_steps=int(sys.argv[3]), threads=1, early_stopping=None)
forecaster = nd.Forecaster("nlinear", horizon=7, input_size=14, training=training)
space = {"training.optimizer.lr": nd.search.log(1e-4, 1e-1)}
study = Study(forecaster, sys.argv[2], space, method="random", pruner=None)
study.run(sys.argv[1], trials=8, vectorize=True)
"""


@pytest.mark.long
def test_killed_group_loses_no_trial_and_runs_none_twice(tmp_path: Path) -> None:
    data = tmp_path / "sales.csv"
    DATA.write_csv(data)
    command = [sys.executable, "-c", SEARCH, str(data)]
    subprocess.run([*command, str(tmp_path / "whole"), "400"], check=True)
    process = subprocess.Popen([*command, str(tmp_path / "killed"), "400"])
    events = tmp_path / "killed" / "trials" / "00005" / "events.jsonl"
    while process.poll() is None and not (events.is_file() and b'"row"' in events.read_bytes()):
        time.sleep(0.01)
    process.kill()
    process.wait()
    study = Study.load(tmp_path / "killed")
    assert [(trial.number, trial.state) for trial in study.trials] == [(number, "running") for number in range(8)]
    study.run()
    whole = Study.load(tmp_path / "whole")
    assert [trial.settings for trial in study.trials] == [trial.settings for trial in whole.trials]
    assert [(trial.state, trial.attempts) for trial in study.trials] == [("complete", 2)] * 8
    errors = [[trial.values["mase"] for trial in item.trials] for item in (whole, study)]
    assert errors[0] == errors[1]


@pytest.mark.long
def test_two_workers_share_the_trials_that_can_be_trained_together(tmp_path: Path) -> None:
    training = TRAINING.replace(max_steps=5)
    study = study_in(tmp_path / "study", training=training, **GRID).run(DATA, trials=7, jobs=2, vectorize=True)
    assert [trial.state for trial in study.trials] == ["complete"] * 7
    assert [trial.attempts for trial in study.trials] == [1] * 7


@pytest.mark.usefixtures("always_faster")
def test_seed_that_was_stopped_by_itself_goes_on_by_itself_from_its_checkpoint(
    tmp_path: Path, groups: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_in(tmp_path / "study", seeds=2)
    with at_step(12, monkeypatch):
        study.run(DATA, trials=1, seconds=3600, vectorize=False)
    Study.load(study.directory).run(DATA, trials=1, vectorize="auto")
    assert groups == []
    starts = read_events(study.directory / "trials" / "00000-seed-0", "start")
    assert [event["step"] for event in starts] == [0, 12]
