"""The last round: members that cannot be fitted to all rows are replaced or left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from neuro_divergent.core.errors import TaskTimeoutError
from neuro_divergent.data.panel import Panel
from neuro_divergent.search.auto.backtest import FitTask, run_task
from neuro_divergent.search.auto.budget import Budget, Ledger
from neuro_divergent.search.auto.candidate import Setting
from neuro_divergent.search.auto.executor import Outcome
from neuro_divergent.search.auto.plan import Plan, PlannedMember
from neuro_divergent.search.auto.record import FULL
from neuro_divergent.search.auto.refit import Refit
from neuro_divergent.search.auto.store import SearchDirectory
from tests.unit.search.auto.test_cutoffs import panel_of

SETTING = Setting(horizon=3, season=1)


@dataclass
class Failing:
    """Runs tasks here, but those of some candidates take too long."""

    panel: Panel
    failing: tuple[str, ...]
    jobs: int = 1

    def run(self, tasks: Iterable[FitTask]) -> Iterator[Outcome]:
        for task in tasks:
            if task.candidate.name in self.failing:
                yield task, TaskTimeoutError("task 0 was ended after 1 s.")
            else:
                yield task, run_task(task, self.panel)


@pytest.fixture
def panel() -> Panel:
    generator = np.random.default_rng(0)
    return panel_of(*(100 + np.cumsum(generator.normal(0, 1, 40)) for _ in range(4)))


def plan_of(*members: tuple[str, str, float]) -> Plan:
    planned = [
        PlannedMember(name=name, kind=kind, model=name, weight=weight, steps=4 if kind == "network" else 0)  # type: ignore[arg-type]
        for name, kind, weight in members
    ]
    return Plan(setting=SETTING, members=tuple(planned), backs=(3, 6), judged=4, history=6)


def refit(panel: Panel, plan: Plan, directory: Path, *failing: str, unfitted: set[str] | None = None) -> Refit:
    executor = Failing(panel, failing)
    place = SearchDirectory(directory)
    return Refit(plan, panel, executor, Budget(100), Ledger(), place, unfitted or set())  # type: ignore[arg-type]


def backtest(panel: Panel, plan: Plan, directory: Path) -> np.ndarray:
    """Write the network of a back-test, and return its forecasts."""
    member = plan.members[0]
    place = SearchDirectory(directory).network(member.name, FULL)
    task = FitTask(member.candidate, SETTING, FULL, np.arange(4), (3, 6), steps=4, directory=str(place))
    return run_task(task, panel).forecasts


def test_a_statistical_member_that_fails_gives_its_weight_to_the_others(panel: Panel, tmp_path: Path) -> None:
    plan = plan_of(("auto_theta", "statistical", 0.5), ("naive", "naive", 0.3), ("drift", "naive", 0.2))
    last = refit(panel, plan, tmp_path, "auto_theta")
    fitted, members = last.run()
    assert [(member.name, member.weight) for member in fitted.members] == [("naive", 0.6), ("drift", 0.4)]
    assert [member.name for member in members] == ["naive", "drift"]
    assert "TaskTimeoutError" in last.notes["auto_theta"]


def test_a_network_that_fails_is_replaced_by_that_of_its_back_test(panel: Panel, tmp_path: Path) -> None:
    plan = plan_of(("nlinear", "network", 1.0))
    before = backtest(panel, plan, tmp_path)
    for last in (
        refit(panel, plan, tmp_path, "nlinear"),
        refit(panel, plan, tmp_path, unfitted={"nlinear"}),
    ):
        fitted, (member,) = last.run()
        assert fitted == plan
        assert "its back-test model is used" in last.notes["nlinear"]
        made = member.forecast(panel, np.arange(4), panel.offsets[1:] - 3)
        assert np.allclose(made, before[0], rtol=1e-5)


def test_the_seasonal_naive_forecast_is_left_where_every_member_fails(panel: Panel, tmp_path: Path) -> None:
    last = refit(panel, plan_of(("auto_theta", "statistical", 1.0)), tmp_path, "auto_theta")
    fitted, (member,) = last.run()
    assert [item.name for item in fitted.members] == ["seasonal_naive"]
    assert np.isfinite(member.forecast(panel, np.arange(4), panel.offsets[1:] - 3)).all()


def test_networks_are_fitted_with_more_seeds_that_share_their_weight_in_the_time_left(
    panel: Panel, tmp_path: Path
) -> None:
    plan = plan_of(("nlinear", "network", 0.6), ("naive", "naive", 0.4))
    last = refit(panel, plan, tmp_path)
    last.seeds = 3
    fitted, members = last.run()
    assert [(item.name, round(item.weight, 6)) for item in fitted.members] == [
        ("nlinear", 0.2),
        ("nlinear_2", 0.2),
        ("nlinear_3", 0.2),
        ("naive", 0.4),
    ]
    assert last.chosen == plan
    assert last.notes == {"nlinear": "the mean of 3 seeds"}
    ends = panel.offsets[1:] - 3
    one, two, three = (member.forecast(panel, np.arange(4), ends) for member in members[:3])
    assert not np.allclose(one, two)
    assert not np.allclose(two, three)
    again = Refit(fitted, panel, Failing(panel, ()), Budget(100), Ledger(), SearchDirectory(tmp_path / "plan"))  # type: ignore[arg-type]
    _, replayed = again.run()
    assert np.array_equal(replayed[1].forecast(panel, np.arange(4), ends), two)


def test_no_more_seeds_are_fitted_without_time_or_after_a_failure(panel: Panel, tmp_path: Path) -> None:
    plan = plan_of(("nlinear", "network", 0.6), ("dlinear", "network", 0.4))
    backtest(panel, plan, tmp_path)
    last = refit(panel, plan, tmp_path, "nlinear")
    last.seeds = 2
    last.ledger.add("dlinear", wall=500.0, processor=500.0, work=4.0, measured=500.0)
    fitted, _ = last.run()
    assert [item.name for item in fitted.members] == ["nlinear", "dlinear"]


def test_members_that_were_fitted_before_an_interruption_are_not_fitted_again(panel: Panel, tmp_path: Path) -> None:
    plan = plan_of(("nlinear", "network", 0.5), ("auto_theta", "statistical", 0.5))
    first = refit(panel, plan, tmp_path)
    first.run()
    second = refit(panel, plan, tmp_path, "nlinear", "auto_theta")  # would fail if it were run
    fitted, _ = second.run()
    assert fitted == plan
    assert second.notes == {}
    assert np.array_equal(second.ahead["auto_theta"], first.ahead["auto_theta"])
