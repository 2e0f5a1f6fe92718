"""Which models of a study stay on the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.interfaces.cli.run_directory import model_directory
from neuro_divergent.runs.remove import delete_model
from neuro_divergent.runs.status import describe_run, list_runs
from neuro_divergent.search.objective import Objective
from neuro_divergent.search.retention import kept_trials
from neuro_divergent.search.study import Study
from neuro_divergent.search.trial import Trial

DATA = Synthetic(num_series=2, length=80, noise=1.0).frame()


def study_in(directory: Path, **config: Any) -> Study:
    training = nd.TrainingConfig(max_steps=6, threads=1, validate_every=3)
    forecaster = nd.Forecaster("nlinear", horizon=7, training=training)
    space = {"training.optimizer.lr": nd.search.log(1e-4, 1e-1)}
    return Study(forecaster, directory, space, method="random", pruner=None, **config)


def with_models(study: Study) -> set[str]:
    return {path.parts[-3].partition("-")[0] for path in study.directory.glob("trials/*/model/manifest.json")}


def best_names(study: Study, count: int) -> set[str]:
    return {trial.name for trial in sorted(study.trials, key=lambda trial: trial.values["mase"])[:count]}


def test_models_of_the_best_trials_stay_and_runs_of_the_others_are_whole_without(tmp_path: Path) -> None:
    study = study_in(tmp_path / "study", keep=2).run(DATA, trials=5)
    assert with_models(study) == best_names(study, 2)
    runs = list_runs(study.directory / "trials")
    assert {(run.state, run.damaged) for run in runs} == {("finished", ())}
    for name in ("config.toml", "history.parquet", "events.jsonl", "scores.json", "trial.json"):
        assert len(list(study.directory.glob(f"trials/*/{name}"))) == 5
    before = [trial.values for trial in study.trials]
    more = Study.load(study.directory).run(DATA, trials=6)
    assert with_models(more) == best_names(more, 2)
    assert [trial.values for trial in more.trials[:5]] == before


@pytest.mark.parametrize(("keep", "count"), [("all", 3), ("best", 1)])
def test_keep_is_all_models_or_that_of_the_best_trial_with_all_of_its_folds(
    keep: str, count: int, tmp_path: Path
) -> None:
    splitter = nd.splitters.TimeSeriesSplit(n_splits=2, test_size=7)
    study = study_in(tmp_path / "study", keep=keep, splitter=splitter).run(DATA, trials=3)
    assert with_models(study) == best_names(study, count)
    assert len(list(study.directory.glob("trials/*/model"))) == 2 * count


def test_model_that_a_killed_process_left_is_removed_when_the_study_is_resumed(tmp_path: Path) -> None:
    study = study_in(tmp_path / "study", keep="all").run(DATA, trials=3)
    study.config = study.config.replace(keep=1)
    (worst,) = best_names(study, 3) - best_names(study, 2)
    run = study.directory / "trials" / worst
    (run / "model").rename(run / ".model.removed-0")  # killed in the middle of a removal
    study.run(DATA, trials=3)
    assert with_models(study) == best_names(study, 1)
    assert not list(study.directory.glob("trials/*/.model*"))


def test_run_whose_model_was_deleted_is_finished_and_one_whose_model_is_missing_is_damaged(tmp_path: Path) -> None:
    study = study_in(tmp_path / "study", keep="all").run(DATA, trials=1)
    run = study.directory / "trials" / "00000"
    assert delete_model(run) > 1000
    assert describe_run(run).state == "finished"
    with pytest.raises(InputError, match=r"its model was removed, .*study --trial 0 --fit"):
        model_directory(run)
    (run / "status.json").write_text('{"state": "finished", "time": 1.0}')
    assert describe_run(run).state == "damaged"


def trial(number: int, state: Any = "complete", **values: float) -> Trial:
    return Trial(number, state, {}, values=values)


def test_what_more_trials_drop_from_those_kept_never_comes_back() -> None:
    values = [0.5, 0.3, 0.9, 0.1, 0.4]
    trials = [trial(number, mase=value, parameters=1 - value) for number, value in enumerate(values)]
    one, two = [Objective(name="mase")], [Objective(name="mase"), Objective(name="parameters")]
    assert kept_trials(trials, one, 2) == {1, 3}
    assert kept_trials(trials, one, "best") == {3}
    assert kept_trials(trials, one, "all") == set(range(5))
    assert kept_trials([*trials, trial(5, mase=0.6, parameters=0.9)], two, 1) == set(range(5))  # a front, without 5
    others = [trial(5, "running"), trial(6, "stopped"), trial(7, "failed"), trial(8, "pruned")]
    assert kept_trials([*trials, *others], one, 1) == {3, 5, 6}
    for end in range(1, 5):
        dropped = set(range(end)) - kept_trials(trials[:end], one, 2)
        assert not dropped & kept_trials(trials, one, 2)
