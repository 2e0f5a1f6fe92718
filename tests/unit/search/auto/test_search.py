"""How a search spends its budget: rounds, costs, failures and resuming, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from neuro_divergent.core.errors import DivergedError
from neuro_divergent.data.panel import Panel
from neuro_divergent.search.auto.backtest import FitResult, FitTask, run_task
from neuro_divergent.search.auto.budget import Budget, Ledger
from neuro_divergent.search.auto.candidate import Candidate, Setting
from neuro_divergent.search.auto.cutoffs import Cutoffs
from neuro_divergent.search.auto.executor import Outcome
from neuro_divergent.search.auto.metric import Scoring
from neuro_divergent.search.auto.naive import NAIVE
from neuro_divergent.search.auto.preset import PRESETS
from neuro_divergent.search.auto.record import FULL, PROBE, Record
from neuro_divergent.search.auto.search import Search
from neuro_divergent.search.auto.store import SearchDirectory
from tests.unit.search.auto.test_cutoffs import panel_of

HORIZON = 4


@dataclass
class Simulated:
    """Runs tasks on a clock of its own: candidates have a cost and an error that the test knows."""

    panel: Panel
    per_step: dict[str, float]
    per_row: dict[str, float]
    errors: dict[str, float]
    now: float = 0.0
    jobs: int = 1
    tasks: list[FitTask] = field(default_factory=list)
    failing: tuple[str, ...] = ()
    dies_after: int = 10_000

    def clock(self) -> float:
        return self.now

    def run(self, tasks: Iterable[FitTask]) -> Iterator[Outcome]:
        for task in tasks:
            if len(self.tasks) >= self.dies_after:
                raise KeyboardInterrupt
            self.tasks.append(task)
            name = task.candidate.name.partition("_")[0]  # a_2 is a with another seed
            error = self.errors.get(task.candidate.name, self.errors.get(name, 0.0))
            if name in self.failing:
                yield task, DivergedError("the loss became NaN")
                continue
            cutoffs = Cutoffs(self.panel, task.series, HORIZON, task.backs)
            if task.candidate.kind == "network":
                work = task.steps * (2.0 if task.retrained else 1.0)
                seconds = work * self.per_step[name]
            else:
                work = float(self.panel.lengths[task.series].sum()) * len(task.backs)
                seconds = work * self.per_row[name]
            self.now += seconds
            made = np.nan_to_num(cutoffs.actual) + error * (1 - task.steps / 1e6)
            result = FitResult(made.astype(np.float32), task.steps, 8, None, seconds, seconds, work, seconds)
            yield task, result


def search_in(
    directory: Path, simulated: Simulated, candidates: list[Candidate], *, seconds: float, series: int = 12
) -> Search:
    panel, setting = simulated.panel, Setting(horizon=HORIZON, season=1)
    cutoffs = Cutoffs(panel, np.arange(series), HORIZON, (4, 8))
    naive = [Candidate(name=name, kind="naive", model=name) for name in NAIVE]
    guesses = simulated.per_step | simulated.per_row
    found = SearchDirectory(directory)
    return Search(
        cutoffs=cutoffs,
        setting=setting,
        preset=PRESETS["balanced"],
        budget=Budget(seconds, spent=float(found.progress().get("spent", 0.0)), clock=simulated.clock),
        executor=simulated,  # type: ignore[arg-type]
        directory=found,
        scoring=Scoring.of("mase", cutoffs, 1),
        groups=np.zeros(series, np.int64),
        ledger=Ledger(guesses=guesses),
        records={item.name: Record(item) for item in (*naive, *candidates)},
    )


def networks(*names: str) -> list[Candidate]:
    return [Candidate(name=name, kind="network", model="nlinear") for name in names]


def classical(*names: str) -> list[Candidate]:
    return [Candidate(name=name, kind="statistical", model="auto_ets") for name in names]


@pytest.fixture
def panel() -> Panel:
    generator = np.random.default_rng(0)
    return panel_of(*(100 + np.cumsum(generator.normal(0, 1, 60)) for _ in range(12)))


def test_every_candidate_is_back_tested_in_full_where_the_budget_allows_it(tmp_path: Path, panel: Panel) -> None:
    simulated = Simulated(panel, {"a": 0.01, "b": 0.02}, {"e": 0.001}, {"a": 0.5, "b": 0.6, "e": 0.1})
    search = search_in(tmp_path, simulated, [*networks("a", "b"), *classical("e")], seconds=1000)
    search.run()
    assert [record.name for record in search.complete if record.name in "abe"] == ["e", "a", "b"]
    assert search.complete[0].name == "e"
    assert {search.records[name].round for name in "abe"} == {FULL}
    assert simulated.now < 1000


@pytest.mark.parametrize("seconds", [12.0, 30.0, 60.0, 200.0])
def test_back_tests_and_the_refit_that_follows_fit_into_the_budget(
    tmp_path: Path, panel: Panel, seconds: float
) -> None:
    costs = {"a": 0.02, "b": 0.05, "c": 0.2, "d": 1.0}
    simulated = Simulated(panel, costs, {"e": 0.002, "f": 1.0}, dict.fromkeys("abcdef", 0.3))
    search = search_in(tmp_path, simulated, [*networks(*"abcd"), *classical(*"ef")], seconds=seconds)
    search.run()
    records, weights = search.weights()
    refit = sum(search.refit_cost(r) for r, w in zip(records, weights.overall, strict=True) if w > 0)
    assert simulated.now <= seconds
    assert simulated.now + refit <= 1.05 * seconds
    left_out = [record for record in search.records.values() if not record.is_complete]
    assert all(record.reason for record in left_out)


def test_a_candidate_that_is_too_dear_is_left_out_with_its_costs(tmp_path: Path, panel: Panel) -> None:
    simulated = Simulated(panel, {"a": 0.01, "dear": 30.0}, {}, {"a": 0.5, "dear": 0.0})
    search = search_in(tmp_path, simulated, networks("a", "dear"), seconds=100)
    search.run()
    assert search.records["a"].round == FULL
    assert "too dear" in (search.records["dear"].reason or "")
    assert [task.candidate.name for task in simulated.tasks].count("dear") == 0


def test_a_failed_candidate_is_recorded_with_its_reason_and_the_rest_goes_on(tmp_path: Path, panel: Panel) -> None:
    simulated = Simulated(panel, {"a": 0.01, "b": 0.01}, {}, {"a": 0.5, "b": 0.5}, failing=("b",))
    search = search_in(tmp_path, simulated, networks("b", "a"), seconds=500)
    search.run()
    assert search.records["a"].is_complete
    assert search.records["b"].reason == "DivergedError: the loss became NaN"
    assert search.records["b"].failed


def test_networks_are_back_tested_in_their_order_where_there_is_no_time_for_all(tmp_path: Path, panel: Panel) -> None:
    names = [f"n{place}" for place in range(8)]
    errors = {name: 2.0 - 0.2 * place for place, name in enumerate(names)}  # the last ones would be better
    simulated = Simulated(panel, dict.fromkeys(names, 0.05), {}, errors)
    search = search_in(tmp_path, simulated, networks(*names), seconds=120)
    search.run()
    full = [name for name in names if search.records[name].round == FULL]
    assert full == names[: len(full)]
    assert 2 <= len(full) < 8
    assert search.records["n7"].round == PROBE
    assert "n7" not in [record.name for record in search.complete]
    assert "too dear" in (search.records["n7"].reason or "")


def test_a_cheap_network_is_trained_twice_in_its_back_test_and_a_dear_one_once(tmp_path: Path, panel: Panel) -> None:
    simulated = Simulated(panel, {"a": 0.01, "b": 0.1}, {}, {"a": 0.5, "b": 0.6})
    search_in(tmp_path, simulated, networks("a", "b"), seconds=500).run()
    full = {task.candidate.name[0]: task.retrained for task in simulated.tasks if task.round == FULL}
    assert full == {"a": True, "b": False}


def test_the_score_of_a_network_is_that_of_the_mean_forecast_of_its_seeds(tmp_path: Path, panel: Panel) -> None:
    simulated = Simulated(panel, {"a": 0.01}, {}, {"a": 0.5, "a_2": -0.5, "a_3": 0.3})
    search = search_in(tmp_path, simulated, networks("a"), seconds=500)
    search.run()
    record = search.records["a"]
    assert record.seeds == 3
    assert [task.candidate.name for task in simulated.tasks if task.round == FULL] == ["a", "a_2", "a_3"]
    assert [task.candidate.settings.get("training.seed") for task in simulated.tasks][-3:] == [None, 2, 3]
    assert record.forecasts is not None
    assert np.allclose(record.forecasts, search.scoring.actual + 0.1, atol=1e-3)
    resumed = search_in(tmp_path, simulated, networks("a"), seconds=500)
    done = len(simulated.tasks)
    resumed.run()
    assert len(simulated.tasks) == done
    assert resumed.records["a"].score == pytest.approx(record.score)


def test_the_dearest_statistical_model_is_left_out_before_too_few_series_are_judged_on(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    panel = panel_of(*(100 + np.cumsum(generator.normal(0, 1, 40)) for _ in range(120)))
    costs = {"e": 0.0002, "f": 0.0002, "g": 0.02}
    simulated = Simulated(panel, {}, costs, dict.fromkeys("efg", 0.1))
    search = search_in(tmp_path, simulated, classical("e", "f", "g"), seconds=60, series=120)
    search.run()
    assert len(search.series) == 120
    assert search.records["e"].is_complete
    assert search.records["f"].is_complete
    assert "series could be judged on" in (search.records["g"].reason or "")


def test_series_are_judged_on_a_sample_where_statistical_models_would_take_too_long(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    panel = panel_of(*(100 + np.cumsum(generator.normal(0, 1, 40)) for _ in range(120)))
    simulated = Simulated(panel, {}, {"e": 0.003}, {"e": 0.1})
    search = search_in(tmp_path, simulated, classical("e"), seconds=60, series=120)
    search.run()
    assert search.records["e"].is_complete
    assert 40 <= len(search.series) < 120
    assert search.forecasts(search.complete).shape[2] == len(search.series)


def test_a_resumed_search_repeats_nothing_that_was_finished(tmp_path: Path, panel: Panel) -> None:
    def begin(dies_after: int) -> tuple[Simulated, Search]:
        simulated = Simulated(
            panel, {"a": 0.05, "b": 0.05}, {"e": 0.01}, {"a": 0.5, "b": 0.6, "e": 0.1}, dies_after=dies_after
        )
        return simulated, search_in(tmp_path / "run", simulated, [*networks("a", "b"), *classical("e")], seconds=900)

    def keys(simulated: Simulated) -> list[tuple[str, str, bytes]]:
        return [(task.candidate.name, task.round, task.series.tobytes()) for task in simulated.tasks]

    done: list[tuple[str, str, bytes]] = []
    for _ in range(30):
        simulated, search = begin(dies_after=1)
        try:
            search.run()
        except KeyboardInterrupt:
            done += keys(simulated)
        else:
            done += keys(simulated)
            break
    assert len(done) == len(set(done))
    assert {name for name, _, _ in done} >= {"a", "b", "e"}
    assert search.complete[0].name == "e"
    assert {search.records[name].round for name in "abe"} == {FULL}


def test_a_resumed_search_does_not_take_forecasts_of_the_refit_for_a_back_test(tmp_path: Path, panel: Panel) -> None:
    simulated = Simulated(panel, {}, {"e": 0.001}, {"e": 0.1})
    candidate, setting = classical("e")[0], Setting(horizon=HORIZON, season=1)
    refit = FitTask(candidate, setting, "refit", np.arange(12), (0,))
    SearchDirectory(tmp_path).save(refit, FitResult(np.full((1, 12, HORIZON), 1e6, np.float32)))
    search = search_in(tmp_path, simulated, [candidate], seconds=500)
    search.cutoffs = Cutoffs(panel, np.arange(12), HORIZON, (4,))  # one, as the refit has
    search.scoring = Scoring.of("mase", search.cutoffs, 1)
    search.run()
    record = search.records["e"]
    assert record.is_complete
    assert record.forecasts is not None
    assert record.forecasts.max() < 1000


def test_out_of_fold_forecasts_do_not_depend_on_values_after_their_cutoff(panel: Panel) -> None:
    setting = Setting(horizon=HORIZON, season=1)
    changed = Panel(**{**vars(panel), "y": panel.y.copy()})
    changed.y[panel.offsets[1:][:, None] - np.arange(1, 5)] += 50.0  # what follows the newest cut-off
    for kind, model in (("network", "nlinear"), ("statistical", "auto_theta"), ("naive", "drift")):
        candidate = Candidate(name=model, kind=kind, model=model)  # type: ignore[arg-type]
        task = FitTask(candidate, setting, FULL, np.arange(4), (4, 8), steps=5, validated=True)
        one, other = run_task(task, panel).forecasts, run_task(task, changed).forecasts
        assert np.isfinite(one).all()
        assert np.array_equal(one, other), model


def test_a_network_that_is_refitted_with_the_steps_it_found_gives_the_same_back_test(panel: Panel) -> None:
    candidate, setting = Candidate(name="n", kind="network", model="nlinear"), Setting(horizon=HORIZON, season=1)
    first = run_task(FitTask(candidate, setting, FULL, np.arange(12), (4, 8), steps=30, validated=True), panel)
    again = FitTask(candidate, setting, FULL, np.arange(12), (4, 8), steps=first.steps, history=first.history)
    assert np.array_equal(run_task(again, panel).forecasts, first.forecasts)


def test_a_network_is_trained_on_all_rows_for_100_steps_at_least_and_without_validation_for_200_at_most() -> None:
    setting = Setting(horizon=HORIZON, season=1)
    candidate = Candidate(name="n", kind="network", model="mlp", settings={"model.hidden_size": 64})
    generator = np.random.default_rng(0)
    noise = panel_of(*(generator.normal(0, 1, 60) for _ in range(4)))  # nothing to learn: it overfits at once
    task = FitTask(candidate, setting, FULL, np.arange(4), (4,), steps=300, validated=True)
    assert run_task(task, noise).steps == 100
    short = panel_of(*(generator.normal(0, 1, 14) for _ in range(4)))
    assert run_task(task, short).steps == 200
