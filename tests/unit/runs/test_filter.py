"""Which runs are shown, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import InputError
from neuro_divergent.interfaces.cli.runs.listing import Sort
from neuro_divergent.runs.filter import SORTS, Condition, filter_runs, sort_runs
from neuro_divergent.runs.status import RunSummary, list_runs
from tests.unit.runs.runs import make_run


@pytest.fixture
def runs(tmp_path: Path) -> list[RunSummary]:
    make_run(tmp_path / "a", lr=0.001, mae=2.0, best=0.3, time=3e9)
    make_run(tmp_path / "B", lr=0.01, mae=1.0, best=0.1, time=1e9 + 9, model="tft", steps=5, batch=32)
    make_run(tmp_path / "c", lr=0.1, mae=None, best=None, time=2e9, state="failed", steps=4)
    return list_runs(tmp_path)


def names(runs: list[RunSummary]) -> str:
    return "".join(run.name for run in runs)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("training.optimizer.lr>0.001", "Bc"), ("training.optimizer.lr >= 1e-3", "Bac"), ("task.horizon<24", ""),
        ("training.optimizer.lr<=.01", "Ba"), ("training.optimizer.lr=0.0100", "B"), ("model.name=tft", "B"),
        ("training.optimizer.lr==0.1", "c"), ("training.batch_size=32", "B"), ("training.batch_size=auto", "ac"),
        ("training.batch_size>1", "B"), ("training.batch_size!=32", "ac"), ("best<0.2", "B"), ("mae>=1", "Ba"),
        ("best=none", "c"), ("mae!=1", "ac"), ("state=failed", "c"), ("step>3", "Bc"), ("skill=0", "B"),
        ("name!=a", "Bc"),
        ("training.optimizer.betas=[0.9, 0.999]", "Bac"), ("training.optimizer.betas>0", ""), ("part=test", "Ba"),
    ],
)  # fmt: skip
def test_a_condition_is_about_settings_results_or_scores(runs: list[RunSummary], text: str, expected: str) -> None:
    found = filter_runs(runs, conditions=[Condition.parse(text)])
    assert "".join(sorted(names(found))) == expected


def test_all_conditions_must_hold(runs: list[RunSummary]) -> None:
    conditions = [Condition.parse("training.optimizer.lr>0.001"), Condition.parse("step<5")]
    assert names(filter_runs(runs, conditions=conditions)) == "c"
    assert names(filter_runs(runs, states=["finished", "running"], models=["tft"])) == "B"
    assert filter_runs(runs, states=["running"]) == []


@pytest.mark.parametrize("text", ["", "lr", "=3", "a>b", "a b=3", "lr>nan", "a~3", ">"])
def test_what_is_not_a_condition_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"condition|compares numbers"):
        Condition.parse(text)


def test_names_that_no_run_has_are_refused_with_the_closest(runs: list[RunSummary]) -> None:
    with pytest.raises(InputError, match=r"no run has 'training.optimiser.lr'. Did you mean 'training.optimizer.lr'\?"):
        filter_runs(runs, conditions=[Condition.parse("training.optimiser.lr>1")])
    with pytest.raises(InputError, match=r"'finised' is not a state of a run. Did you mean 'finished'\?"):
        filter_runs(runs, states=["finised"])
    assert filter_runs([], conditions=[Condition.parse("anything>1")]) == []


@given(st.text(max_size=20))
def test_any_text_is_a_condition_or_refused(text: str) -> None:
    try:
        condition = Condition.parse(text)
    except InputError:
        return
    for value in (None, True, 3, 0.5, "none", [1], {}):
        assert condition.holds(value) in (True, False)


@pytest.mark.parametrize(
    ("by", "expected", "turned"),
    [
        ("time", "Bca", "acB"), ("name", "aBc", "cBa"), ("best", "Bac", "aBc"), ("mae", "Bac", "aBc"),
        ("step", "acB", "Bca"),        ("model", "acB", "Bac"), ("state", "caB", "aBc"),
    ],
)  # fmt: skip
def test_runs_without_the_sorted_value_come_last(runs: list[RunSummary], by: str, expected: str, turned: str) -> None:
    assert names(runs) == "acB"  # the latest first
    assert names(sort_runs(runs, by)) == expected
    assert names(sort_runs(runs, by, descending=True)) == turned


def test_the_command_line_knows_every_order(runs: list[RunSummary]) -> None:
    assert [item.value for item in Sort] == list(SORTS)
    with pytest.raises(InputError, match="cannot be sorted by 'size'"):
        sort_runs(runs, "size")
