"""Studies that are only read, compared with Optuna's reading of the same storage."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.reporting.figures.figure import Bars
from neuro_divergent.search.dependency import load_optuna, without_warnings
from neuro_divergent.search.figures import StudyFigures
from neuro_divergent.search.reading.journal import JournalReader
from neuro_divergent.search.reading.recorded_study import RecordedStudy, study_of
from neuro_divergent.search.study import Study
from tests.dashboard.conftest import tree_digest
from tests.dashboard.study_maker import OPTIMIZER, RATE, WIDTH, StudyMaker, error_of


def sometimes(point: Any) -> dict[str, float]:
    if point[RATE] > 0.03:
        raise ArithmeticError("not finite")
    return error_of(point)


@pytest.fixture(params=["journal", "sqlite"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StudyMaker]:
    maker = StudyMaker(
        tmp_path / "study", storage=request.param, evaluate=sometimes, constraints={"parameters": 200_000}
    )
    yield maker
    maker.study.close()


def test_trials_equal_those_that_optuna_reads_and_nothing_is_written(made: StudyMaker) -> None:
    made.run(8)
    made.begin()
    number = made.begin()
    made.study.store.fail(number, "cannot be built", state="refused")
    made.study.store.report(made.begin(), 3, 2.5)
    expected = Study.load(made.directory)
    trials = expected.trials
    before = tree_digest(made.directory)
    recorded = RecordedStudy.load(made.directory)
    assert recorded.trials == trials
    assert {trial.state for trial in recorded.trials} >= {"complete", "failed", "running", "refused"}
    assert not all(trial.is_feasible for trial in recorded.trials)
    assert recorded.note == ""
    assert tree_digest(made.directory) == before
    assert recorded.best == expected.best
    expected.close()
    with pytest.raises(InputError, match="only read"):
        recorded.enqueue({})


def test_trials_that_come_later_are_read_without_reading_the_rest_again(tmp_path: Path) -> None:
    made = StudyMaker(tmp_path / "study")
    made.run(3)
    recorded = RecordedStudy.load(made.directory)
    assert len(recorded.trials) == 3
    first = recorded.trials[0]
    made.run(5)
    assert len(recorded.trials) == 5
    assert recorded.trials[0] is first
    assert recorded.trials == made.study.trials


def test_half_a_line_and_foreign_lines_of_a_journal_are_left_out(tmp_path: Path) -> None:
    made = StudyMaker(tmp_path / "study").run(2)
    trials, path = made.study.trials, made.directory / "journal.log"
    hostile = [b"[1, 2]", b'{"op_code": 6, "trial_id": "x"}', b"\xff", b'{"op_code": 4, "study_id": 99}', b"null"]
    hostile += [b'{"op_code":7,"trial_id":0,"step":-1,"intermediate_value":"a"}', b"[" * 100_000]
    with path.open("ab") as file:
        file.write(b"\n".join(hostile) + b'\n{"op_code": 4, "study')
    assert RecordedStudy.load(made.directory).trials == trials


def test_journal_that_is_replaced_is_read_from_its_start(tmp_path: Path) -> None:
    one, other = StudyMaker(tmp_path / "one").run(2), StudyMaker(tmp_path / "other").run(3)
    path = tmp_path / "journal.log"
    path.write_bytes((one.directory / "journal.log").read_bytes())
    reader = JournalReader(path, one.study.name)
    assert len(reader.read()) == 2
    content = (other.directory / "journal.log").read_bytes()
    path.unlink()
    path.write_bytes(content.replace(other.study.name.encode(), one.study.name.encode()))
    assert len(reader.read()) == 3


def test_state_says_whether_somebody_works_on_it_and_whether_a_limit_was_reached(tmp_path: Path) -> None:
    made = StudyMaker(tmp_path / "study", limit=4)
    made.run(3)
    recorded = RecordedStudy.load(made.directory)
    assert recorded.state == "running"  # the last trial ended a moment ago
    number = made.begin()
    with RunLock(made.directory / "locks" / f"{number:05d}"):
        age(made.directory)
        assert recorded.state == "running"
    age(made.directory)
    assert recorded.state == "interrupted"
    made.study.store.complete(number, error_of(recorded.trials[number].settings))
    assert recorded.state == "finished"


def age(directory: Path) -> None:
    """Make files look older than the pause between two trials."""
    for path in directory.iterdir():
        os.utime(path, (time.time() - 60,) * 2)


def test_study_in_a_database_elsewhere_is_read_from_its_runs(tmp_path: Path) -> None:
    made = StudyMaker(tmp_path / "study", with_runs=True).run(3)
    document = json.loads((made.directory / "study.json").read_text())
    document["config"]["storage"] = "postgresql://somebody@database.example/studies"
    (made.directory / "study.json").write_text(json.dumps(document))
    values = [trial.values for trial in made.study.trials]
    for trial in made.study.trials[:2]:
        (made.directory / "trials" / trial.name / "trial.json").write_text(json.dumps(trial.values))
    recorded = RecordedStudy.load(made.directory)
    assert "postgresql://somebody@database.example/studies, which is not opened here" in recorded.note
    assert [trial.state for trial in recorded.trials] == ["complete", "complete", "running"]
    assert [trial.values for trial in recorded.trials[:2]] == values[:2]
    assert recorded.trials[0].settings[OPTIMIZER] == "adamw"
    assert recorded.best is not None


def test_importances_equal_those_that_optuna_computes_of_the_storage(tmp_path: Path) -> None:
    made = StudyMaker(tmp_path / "study").run(12)
    optuna = load_optuna()
    with without_warnings():
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        expected = optuna.importance.get_param_importances(made.study.store.optuna_study(), evaluator=evaluator)
    assert RecordedStudy.load(made.directory).importances == expected


def test_importance_of_a_setting_of_one_component_is_labelled_with_the_component_in_brackets(tmp_path: Path) -> None:
    figures = StudyFigures(StudyMaker(tmp_path / "study").run(12).study)
    assert f"{OPTIMIZER}.momentum@sgd" in figures.importances
    (bars,) = figures.figure("importances").marks
    assert isinstance(bars, Bars)
    assert set(bars.places) == {f"{OPTIMIZER}.momentum (sgd)", OPTIMIZER, RATE, WIDTH, "model.dropout"}


def test_figures_of_settings_are_found_by_name(tmp_path: Path) -> None:
    made = StudyMaker(tmp_path / "study").run(12)
    figures = StudyFigures(RecordedStudy.load(made.directory))
    assert set(figures.settings) >= {RATE, WIDTH}
    assert figures.figure(f"partial-dependence-{RATE}").note.startswith("Gaussian process of 12 trials; leave-one-out")
    assert figures.figure(f"contour-{RATE},{WIDTH}").title == f"mae over {RATE} and {WIDTH}"
    assert figures.figure(f"slice-{RATE}").title == f"mae by {RATE}"
    drawn = dict(figures.all())
    assert {"convergence", "importances", f"partial-dependence-{figures.settings[0]}"} <= set(drawn)
    for name, message in {
        "slice-model.width": "not searched",
        f"contour-{RATE}": "needs 2 different settings",
        f"contour-{RATE},{RATE}": "needs 2 different settings",
        "convergense": "Did you mean 'convergence'",
        "pareto-front": "no such figure",
    }.items():
        with pytest.raises(InputError, match=message):
            figures.figure(name)


def test_study_of_a_run_is_found_for_trials_and_the_best(tmp_path: Path) -> None:
    made = StudyMaker(tmp_path / "study")
    assert study_of(made.directory / "trials" / "00000") == made.directory
    assert study_of(made.directory / "best") == made.directory
    assert study_of(tmp_path / "other") is None
