"""Searches of networks: trials are runs, nothing is lost, and the command line shows it."""

from __future__ import annotations

import io
import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

import neuro_divergent as nd
from neuro_divergent.core.errors import DataError, InputError, MissingDependencyError
from neuro_divergent.core.formatting import format_number
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.interfaces.cli.search import app
from neuro_divergent.interfaces.cli.search.live import _View, sparkline, time_left
from neuro_divergent.runs.events import read_events
from neuro_divergent.runs.status import describe_run, list_runs
from neuro_divergent.search.dependency import load_optuna
from neuro_divergent.search.limits import Limits
from neuro_divergent.search.study import Study
from neuro_divergent.search.trial import Trial
from tests.dashboard.study_maker import StudyMaker
from tests.integration.test_command_line import nd as run_nd
from tests.integration.test_command_line import start

DATA = Synthetic(num_series=2, length=80, noise=1.0).frame()
SPACE: dict[str, Any] = {"training.optimizer.lr": nd.search.log(1e-4, 1e-1), "task.input_size": [7, 14, 21]}


def study_in(directory: Path, space: dict[str, Any] | None = None, **config: Any) -> Study:
    training = nd.TrainingConfig(max_steps=20, threads=1, validate_every=5)
    forecaster = nd.Forecaster("nlinear", horizon=7, training=training)
    chosen = {"method": "random", "objectives": "mae", **config}
    return Study(forecaster, directory / "study", SPACE if space is None else space, **chosen)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = study_in(tmp_path_factory.mktemp("search"), objectives=["mae", "parameters"])
    study.enqueue({"task.input_size": 7})
    return study.run(DATA, trials=4)


def test_trials_are_runs_without_a_second_training(finished: Study) -> None:
    runs = list_runs(finished.directory / "trials")
    assert sorted(run.name for run in runs) == ["00000", "00001", "00002", "00003"]
    assert {run.state for run in runs} == {"finished"}
    shown = {run.name: run.score["mae"] for run in runs if run.score is not None}
    assert shown == pytest.approx({trial.name: trial.values["mae"] for trial in finished.trials}, rel=1e-6)
    assert not list(finished.directory.glob("trials/*/validated"))
    assert not list(finished.directory.glob("trials/*/checkpoints"))


def test_first_trial_equals_the_forecaster_scored_on_its_validation_part(finished: Study) -> None:
    first = finished.trials[0]
    assert first.settings == {"task.input_size": 21, "training.optimizer.lr": 1e-3}
    training = nd.TrainingConfig(max_steps=20, threads=1, validate_every=5)
    forecaster = nd.Forecaster("nlinear", horizon=7, training=training, refit=False).fit(DATA)
    table = nd.evaluate(forecaster, part="validation").table
    assert first.values["mae"] == pytest.approx(table.filter(model="nlinear")["mae"][0], rel=1e-6)
    assert first.values["parameters"] == forecaster.num_parameters


def test_enqueued_point_follows_with_defaults_for_the_rest(finished: Study) -> None:
    assert finished.trials[1].settings == {"task.input_size": 7, "training.optimizer.lr": 1e-3}


def test_study_that_is_loaded_has_the_same_trials_and_figures(finished: Study) -> None:
    loaded = Study.load(finished.directory)
    assert loaded.trials == finished.trials
    assert loaded.best == finished.best
    plots = sorted(path.name for path in loaded.write_plots().iterdir())
    assert {"convergence.svg", "parallel-coordinates.svg", "pareto-front.svg"} <= set(plots)
    assert loaded.plot("pareto-front").data


def test_study_refuses_other_data_and_a_directory_that_exists(finished: Study) -> None:
    with pytest.raises(DataError, match="the data have changed"):
        Study.load(finished.directory).run(DATA.head(150), trials=5)
    with pytest.raises(InputError, match="exists already; load it with"):
        Study(nd.Forecaster("nlinear", horizon=7), finished.directory)


def test_best_settings_are_trained_on_all_rows_by_choice(tmp_path: Path) -> None:
    study = study_in(tmp_path).run(DATA, trials=2)
    outcome = study.fit_best(DATA)
    assert outcome.forecaster.fitted.trained_on is not None
    assert outcome.forecaster.fitted.trained_on.all_rows
    assert describe_run(study.directory / "best").state == "finished"
    page = (study.directory / "best" / "report.html").read_text()
    best = study.best
    assert best is not None
    assert f"This run has the settings of trial {best.number}, trained again." in page
    assert 'href="../trials/"' in page


def test_cross_validation_and_seeds_give_the_mean_of_their_trainings(tmp_path: Path) -> None:
    splitter = nd.splitters.TimeSeriesSplit(n_splits=2, test_size=7)
    study = study_in(tmp_path, splitter=splitter, seeds=2, pruner="wilcoxon").run(DATA, trials=1)
    (trial,) = study.trials
    training = nd.TrainingConfig(max_steps=20, threads=1, validate_every=5)
    scores = []
    for seed in (1, 2):
        forecaster = nd.Forecaster(
            "nlinear", horizon=7, training=training.replace(seed=seed), input_size=21, refit=False
        )
        scores.append(nd.cross_validate(forecaster, DATA, splitter, metrics=["mae"], baselines=False).scores["mae"][0])
    assert trial.values["mae"] == pytest.approx(sum(scores) / 2, rel=1e-6)
    assert len(list(study.directory.glob("trials/00000-fold-*-seed-*"))) == 4


def test_diverged_trial_is_recorded_with_its_reason_and_the_search_goes_on(tmp_path: Path) -> None:
    space = {"training.optimizer.lr": [1e-3, 1e35], "training.clip": ["none"]}
    study = study_in(tmp_path, space)
    study.enqueue({"training.optimizer.lr": 1e35})
    study.run(DATA, trials=3)
    assert study.trials[1].state == "failed"
    assert study.trials[1].reason.startswith("diverged: ")
    assert describe_run(study.directory / "trials" / "00001").state == "diverged"
    assert study.best is not None


def test_trial_that_is_worse_than_the_others_is_pruned_before_its_last_step(tmp_path: Path) -> None:
    pruner = {"name": "median", "startup": 1, "warmup": 0.0}
    study = study_in(tmp_path, {"training.optimizer.lr": [1e-1, 1e-6]}, pruner=pruner)
    study.enqueue({"training.optimizer.lr": 1e-6})
    study.run(DATA, trials=2)
    good, bad = study.trials
    assert (good.state, bad.state) == ("complete", "pruned")
    assert max(bad.reports) < max(good.reports) == 20
    assert describe_run(study.directory / "trials" / "00001").state == "finished"
    assert not list(study.directory.glob("trials/*/checkpoints"))


def test_interrupted_study_ends_like_one_that_was_never_interrupted(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    expected = study_in(tmp_path / "one").run(DATA, trials=4)
    study = study_in(tmp_path / "other").run(DATA, trials=2)
    # What a kill leaves in the middle of a trial: a point, a run with a checkpoint, and no result.
    study.store.record_point(study.store.begin(), expected.trials[2].settings, "method")
    resumed = Study.load(study.directory).run(DATA, trials=4)
    errors = [[trial.values["mae"] for trial in item.trials] for item in (expected, resumed)]
    assert errors[0] == errors[1]
    assert [trial.settings for trial in resumed.trials] == [trial.settings for trial in expected.trials]
    assert resumed.trials[2].attempts == 2


def test_study_that_is_killed_while_it_is_created_can_be_begun_or_resumed_with_its_queue(tmp_path: Path) -> None:
    leftover = tmp_path / "study" / ".study.json.partial-0"
    leftover.parent.mkdir()
    leftover.touch()  # killed before study.json was complete
    study = study_in(tmp_path)
    study.enqueue({"task.input_size": 7})
    study._open(DATA, Limits(trials=2))  # killed after that, before a storage exists
    assert not (study.directory / "journal.log").exists()
    resumed = Study.load(study.directory).run(DATA)
    assert [trial.origin for trial in resumed.trials] == ["defaults", "queue 0"]
    assert resumed.trials[1].settings["task.input_size"] == 7
    Study.load(study.directory).enqueue({"task.input_size": 14})
    more = Study.load(study.directory).run(DATA, trials=3)
    assert more.trials[2].settings["task.input_size"] == 14


@pytest.mark.long
def test_two_processes_run_exactly_as_many_trials_as_were_asked_for(tmp_path: Path) -> None:
    study = study_in(tmp_path).run(DATA, trials=5, jobs=2)
    assert [trial.state for trial in study.trials] == ["complete"] * 5


def invoke(*arguments: str) -> Any:
    from neuro_divergent.interfaces.cli.main import app

    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_commands_begin_show_and_resume_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    DATA.write_csv("sales.csv")
    Path("space.toml").write_text("[space.training.optimizer]\nlr = {low = 1e-4, high = 1e-1, log = true}\n")
    options = ("--horizon", "7", "--model", "nlinear", "--max-steps", "10", "--threads", "1", "--space", "space.toml")
    begun = json.loads(invoke("search", "sales.csv", *options, "--trials", "2", "-o", "study", "--json").output)
    assert [trial["state"] for trial in begun["trials"]] == ["complete", "complete"]
    resumed = json.loads(invoke("search", "resume", "study", "--trials", "3", "--json").output)
    assert resumed["trials"][:2] == begun["trials"]
    assert len(resumed["trials"]) == 3
    shown = invoke("search", "show", "study").output
    assert "3 complete" in shown
    assert "best mase" in shown
    written = invoke("search", "best", "study").output
    assert 'path = "sales.csv"' in written
    assert invoke("search", "worker", "study").exit_code == 0  # nothing is left to do


def test_settings_given_on_the_command_line_are_not_searched() -> None:
    from neuro_divergent.forecasting.run_config import RunConfig
    from neuro_divergent.interfaces.cli.search.starting import _space

    run = RunConfig.from_dict({"data": {}, "model": "nlinear", "task": {"horizon": 7, "loss": "mae"}})
    settings = {item.setting for item in _space(run, ["nlinear"], None, {"task.loss", "data.path"})}
    assert "task.loss" not in settings
    assert "task.scaler" in settings


SEARCH = """
import sys
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.search.study import Study

run = RunConfig.from_dict({
    "data": {"path": sys.argv[1]},
    "model": "nlinear",
    "task": {"horizon": 7, "input_size": 14},
    "training": {"max_steps": int(sys.argv[3]), "threads": 1, "early_stopping": "none"},
    "checkpoints": {"every_seconds": "none", "every_steps": 10},
})
Study(run, sys.argv[2], {"training.optimizer.lr": [1e-3, 1e-2]}, method="grid", pruner=None).run(trials=2)
"""


@pytest.mark.long
def test_trial_of_a_killed_process_goes_on_from_its_checkpoint_to_the_same_values(tmp_path: Path) -> None:
    data, steps = tmp_path / "sales.csv", "150"
    DATA.write_csv(data)
    command = [sys.executable, "-c", SEARCH, str(data)]
    subprocess.run([*command, str(tmp_path / "whole"), steps], check=True)
    process = subprocess.Popen([*command, str(tmp_path / "killed"), steps])
    checkpoints = tmp_path / "killed" / "trials" / "00000" / "checkpoints"
    while process.poll() is None and not list(checkpoints.glob("step-*/manifest.json")):
        time.sleep(0.01)
    process.kill()
    process.wait()
    study = Study.load(tmp_path / "killed")
    assert study.trials[0].state == "running"
    study.run()
    assert study.trials[0].attempts == 2
    starts = [event["step"] for event in read_events(study.directory / "trials" / "00000", "start")]
    assert starts[0] == 0
    assert starts[-1] >= 10  # the second attempt began at a checkpoint of the first
    errors = [[trial.values["mase"] for trial in item.trials] for item in (Study.load(tmp_path / "whole"), study)]
    assert errors[0] == errors[1]


def test_terminal_shows_the_best_trials_while_a_study_runs(finished: Study) -> None:
    console = Console(file=io.StringIO(), width=120)
    console.print(_View(finished.directory, Limits(trials=10), 2).render())
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert re.search(r"4 of 10 trials, about .* left: 4 complete", shown)
    assert "best mae " in shown
    assert "optimizer.lr=" in shown


def test_live_view_cuts_long_settings_at_the_width_and_never_a_value(finished: Study) -> None:
    console = Console(file=io.StringIO(), width=40)
    console.print(_View(finished.directory, Limits(trials=10), 2).render())
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, lines)) <= 40
    assert len(lines) == 2 + 1 + 4  # summary, titles, a line for each trial
    best = finished.best
    assert best is not None
    assert any(format_number(best.values["mae"]) in line and "…" in line for line in lines[3:])


def test_live_view_shows_running_trials_and_tells_each_that_ended_once(tmp_path: Path) -> None:
    made = StudyMaker(tmp_path / "study", limit=4).run(2)
    made.study.store.report(made.begin(), 5, 1.25)
    console = Console(file=io.StringIO(), width=100)
    view = _View(made.directory, Limits(trials=4), 1, plain=True)
    console.print(view.render())
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert re.search(r"2 of 4 trials, about .* left: 2 complete, 1 running", shown)
    assert re.search(r"trial 2 runs for .*, 1.25 so far: hidden_size=", shown)
    assert [line.partition(":")[0] for line in view.news()] == ["trial 0 complete", "trial 1 complete"]
    assert view.news() == []


def test_figure_is_written_by_name(finished: Study, tmp_path: Path) -> None:
    path = tmp_path / "figure.svg"
    result = CliRunner().invoke(app, ["show", str(finished.directory), "--figure", "pareto-front", "-o", str(path)])
    assert result.exit_code == 0, result.output
    assert path.read_text().startswith("<svg")


def test_time_left_is_that_of_the_missing_trials_at_the_pace_of_the_others() -> None:
    trials = [Trial(number, "complete", {}, started=0.0, finished=10.0) for number in range(4)]
    assert time_left(trials, Limits(trials=10), 2, float("inf")) == 30.0
    assert time_left([], Limits(trials=10), 2, float("inf")) is None
    assert sparkline([3.0, 2.0, 1.0]) == "█▅▁"
    assert len(sparkline([float(value) for value in range(1000)], plain=True)) == 40


def test_help_of_the_command_line_imports_neither_torch_nor_optuna() -> None:
    script = "import sys; from typer.testing import CliRunner; from neuro_divergent.interfaces.cli.main import app\n"
    script += "CliRunner().invoke(app, ['search', '--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"torch", "optuna", "polars", "numpy"} & set(done.stdout.split())


def test_search_without_optuna_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "neuro-divergent\[search\]"'):
        load_optuna()


@pytest.mark.soak
def test_killed_searches_end_with_the_trials_of_one_that_was_never_killed(tmp_path: Path) -> None:
    """SIGKILL at random moments, again and again, until the search is done."""
    DATA.write_csv(tmp_path / "sales.csv")
    (tmp_path / "space.toml").write_text("[space.training.optimizer]\nlr = {low = 1e-4, high = 1e-1, log = true}\n")
    options = ("--horizon", "7", "--model", "nlinear", "--max-steps", "300", "--threads", "1", "--space", "space.toml")
    more = ("--set", "training.early_stopping=none", "--trials", "8", "--json", "--pruner", "none")
    whole = json.loads(run_nd("search", "sales.csv", *options, *more, "-o", "whole", cwd=tmp_path)[0])
    generator, kills = random.Random(0), 0
    process = start("search", "sales.csv", *options, *more, "-o", "study", cwd=tmp_path)
    for number in (0, 0, 1, 3, 3, 5):
        trial = tmp_path / "study" / "trials" / f"{number:05}"
        while process.poll() is None and not trial.is_dir():
            time.sleep(0.01)
        time.sleep(generator.uniform(0, 0.5))
        kills += process.poll() is None
        process.kill()
        process.communicate()
        begun = (tmp_path / "study" / "study.json").is_file()
        command = ("resume", "study", "--json") if begun else ("sales.csv", *options, *more, "-o", "study")
        process = start("search", *command, cwd=tmp_path)
    process.communicate()
    done = json.loads(run_nd("search", "resume", "study", "--json", cwd=tmp_path)[0])
    assert kills > 0
    assert [trial["settings"] for trial in done["trials"]] == [trial["settings"] for trial in whole["trials"]]
    assert [trial["values"]["mase"] for trial in done["trials"]] == [
        trial["values"]["mase"] for trial in whole["trials"]
    ]
