"""Pruners on curves whose order is known, and the reports of a training."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from neuro_divergent.search.pruners.base import REPORTS, Pruner
from neuro_divergent.search.reporter import Reporter
from tests.unit.search.function_study import FunctionStudy

PRUNERS = Pruner.registry.names()
LEVELS = [1.0, 0.9, 1.1, 0.8, 1.2, 0.7, 5.0, 6.0, 0.5, 7.0, 8.0, 0.4, 9.0, 10.0]


def test_all_pruners_of_the_issue_are_registered() -> None:
    assert PRUNERS == ["hyperband", "median", "successive_halving", "wilcoxon"]


@pytest.mark.parametrize("name", PRUNERS)
def test_pruner_ends_bad_trials_early_and_never_the_best(name: str, tmp_path: Path) -> None:
    seeds = 12 if name == "wilcoxon" else 1
    study = FunctionStudy(tmp_path, method="random", pruner=name, seeds=seeds)
    reports = range(seeds) if seeds > 1 else range(1, REPORTS + 1)
    used = {}
    for level in LEVELS:
        number, _ = study.begin()
        for step in reports:
            used[level] = step
            # Parallel curves with a wave that is the same for all trials: their order never changes.
            if study.store.report(number, step, level * (1 + 1 / (step + 1)) + 0.01 * (step % 3)):
                study.store.fail(number, "worse than others", state="pruned")
                break
        else:
            study.store.complete(number, {"mae": level})
    states = {level: trial.state for level, trial in zip(LEVELS, study.store.trials(), strict=True)}
    assert states[min(LEVELS)] == "complete"
    assert states[10.0] == "pruned"
    assert sum(used.values()) < 0.9 * len(LEVELS) * max(reports)


def test_reports_are_twentieths_of_training_whatever_the_validation_interval() -> None:
    """Between two validations the last value known is repeated, so that trials can be compared at each report."""

    def reports(interval: int, total: int) -> dict[int, float]:
        found: dict[int, float] = {}
        reporter = Reporter(lambda step, value: bool(found.update({step: value})))
        for step in range(interval, total + 1, interval):
            trainer: Any = SimpleNamespace(
                progress=step / total, state=SimpleNamespace(metrics={"validation_mae": 1.0 - step / total})
            )
            reporter.validation_end(trainer)
        return found

    assert list(reports(10, 1000)) == list(range(1, REPORTS + 1))
    assert list(reports(100, 1000)) == list(range(2, REPORTS + 1))
    assert reports(100, 1000)[5] == pytest.approx(0.8)  # at a fifth of training, the last one before a quarter
    assert reports(10, 1000)[5] == pytest.approx(0.75)


def test_reporter_stops_training_once_and_not_at_the_last_report() -> None:
    stopped: list[str] = []
    reporter = Reporter(lambda step, value: True)

    def trainer(progress: float) -> Any:
        state = SimpleNamespace(metrics={"validation_mae": 1.0})
        return SimpleNamespace(progress=progress, state=state, stop=lambda reason, requested: stopped.append(reason))

    Reporter(lambda step, value: True).validation_end(trainer(1.0))
    assert stopped == []
    reporter.validation_end(trainer(0.5))
    reporter.validation_end(trainer(0.6))
    assert stopped == ["pruned at 10 of 20 reports"]
    assert reporter.is_pruned


def test_reporter_of_a_resumed_training_goes_on_where_it_was() -> None:
    found: dict[int, float] = {}
    first = Reporter(lambda step, value: bool(found.update({step: value})))
    trainer: Any = SimpleNamespace(progress=0.5, state=SimpleNamespace(metrics={"validation_mae": 0.3}))
    first.validation_end(trainer)
    second = Reporter(lambda step, value: bool(found.update({step: value})))
    second.load_state_dict(first.state_dict())
    trainer = SimpleNamespace(progress=0.6, state=SimpleNamespace(metrics={"validation_mae": 0.9}))
    second.validation_end(trainer)
    assert found == {10: 0.3, 11: 0.3, 12: 0.3}
