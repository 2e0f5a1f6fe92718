"""The time of a search is up in the middle of a trial."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import neuro_divergent as nd
from neuro_divergent.core.errors import InputError, Interrupted
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.runs.events import read_events
from neuro_divergent.runs.status import describe_run
from neuro_divergent.search import deadline, worker
from neuro_divergent.search.deadline import TIME_IS_UP, Deadline
from neuro_divergent.search.study import Study
from neuro_divergent.search.trial_part import TrialPart

DATA = Synthetic(num_series=2, length=80, noise=1.0).frame()
STEPS = 30


def study_in(directory: Path) -> Study:
    training = nd.TrainingConfig(max_steps=STEPS, threads=1, validate_every=5)
    forecaster = nd.Forecaster("nlinear", horizon=7, training=training)
    space = {"training.optimizer.lr": nd.search.log(1e-4, 1e-1)}
    return Study(forecaster, directory, space, method="random", pruner=None)


def test_trial_that_runs_when_the_time_is_up_is_stopped_and_goes_on_exactly_when_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = study_in(tmp_path / "whole").run(DATA, trials=2, vectorize=False)
    study = study_in(tmp_path / "stopped")

    # The clock of the search stands still until step 12 of the first trial, however slow the machine is.
    clock, look = SimpleNamespace(now=0.0, sleep=time.sleep), Deadline.step_end
    clock.monotonic = lambda: clock.now

    def step_end(self: Deadline, trainer: Any) -> None:
        clock.now = float("inf") if trainer.state.step == 12 else 0.0
        look(self, trainer)

    with monkeypatch.context() as patched:
        patched.setattr(deadline, "time", clock)
        patched.setattr(worker, "time", clock)
        patched.setattr(Deadline, "step_end", step_end)
        study.run(DATA, trials=2, seconds=3600, vectorize=False)
    (stopped,) = study.trials
    assert stopped.state == "stopped"
    assert stopped.reason.startswith("the time of the search was up")
    assert not stopped.is_done
    run = study.directory / "trials" / "00000"
    assert describe_run(run).state == "interrupted"
    with pytest.raises(InputError, match="Trial 0 was stopped when the time was up"):
        study.fit_best(DATA)
    done = Study.load(study.directory).run(DATA, trials=2)
    assert [trial.state for trial in done.trials] == ["complete", "complete"]
    assert [event["step"] for event in read_events(run, "start")] == [0, 12]
    assert [trial.values["mase"] for trial in done.trials] == [trial.values["mase"] for trial in whole.trials]
    assert [(trial.attempts, trial.reason) for trial in done.trials] == [(1, ""), (1, "")]


def test_deadline_in_the_past_interrupts_training_after_one_step_with_a_checkpoint(tmp_path: Path) -> None:
    from neuro_divergent.data.load import load_panel

    study = study_in(tmp_path / "study")
    part = TrialPart(tmp_path / "run", study.config.run, load_panel(DATA, {}))
    with pytest.raises(Interrupted) as raised:
        part.fit([Deadline(time.monotonic())])
    assert raised.value.name == TIME_IS_UP
    assert [item.step for item in describe_run(tmp_path / "run").checkpoints] == [1]


def test_study_whose_time_is_up_begins_no_trial(tmp_path: Path) -> None:
    assert study_in(tmp_path / "study").run(DATA, trials=1, seconds=1e-9).trials == []
