"""Searches that are killed again and again lose no trial, run none twice and propose what they would have proposed."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random

import pytest

from neuro_divergent.search.methods.base import Method
from neuro_divergent.search.trial import Trial
from tests.postgresql import new_database
from tests.reliability.formula_worker import Aim, FormulaJob, Place
from tests.unit.search.function_study import bowl

SOAK = bool(os.environ.get("ND_SOAK"))
STORAGES = ("journal", "sqlite", "postgresql")
CASES = [(method, storage) for method in Method.registry.names() for storage in STORAGES]
if not SOAK:
    CASES = [("tpe", "journal"), ("cmaes", "sqlite"), ("nsga2", "postgresql")]
TRIALS = 8 if SOAK else 5
LEAST_KILLS = 6 if SOAK else 4
WORKERS = 4
KILLS_OF_WORKERS = 10 if SOAK else 1
KILLED = (-signal.SIGKILL, -signal.SIGXFSZ)  # the latter in the middle of a line
Property = Callable[[str, object], None]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def address_of(storage: str, request: pytest.FixtureRequest, name: str) -> str:
    return storage if storage != "postgresql" else new_database(request.getfixturevalue("postgresql"), name)


def trials_of(job: FormulaJob) -> list[Trial]:
    """Read the trials; a study that was killed while it was created is completed by that."""
    study = job.open()
    trials = study.store.trials()
    study.store.close()
    return trials


def check_trials(trials: list[Trial], count: int) -> None:
    assert [trial.number for trial in trials] == list(range(count))
    assert {trial.state for trial in trials} == {"complete"}
    assert [trial.values for trial in trials] == [bowl(trial.settings) for trial in trials]


class KilledStudy:
    """A study with one worker at a time, each of which is killed until the study is complete."""

    def __init__(self, job: FormulaJob, draw: Random, counts: dict[str, dict[Place, int]]) -> None:
        self.job, self._draw, self._counts = job, draw, counts
        self.kills: Counter[str] = Counter()

    def run(self) -> list[Trial]:
        """Kill workers until one comes to its end; return the trials."""
        places = self._places()
        while True:
            trials = trials_of(self.job) if self.kills else []
            # A trial whose process dies three times is recorded as failed, which is right but not looked at here.
            after = int(any(not trial.is_done and trial.attempts >= 2 for trial in trials))
            aim, what = self._aim(places.pop(0) if places else self._draw.choice(("call", "storage")), after)
            process = FormulaJob(**{**vars(self.job), "aim": aim}).start()
            process.join()
            assert process.exitcode in (0, *KILLED), f"{self.job}: exit code {process.exitcode} after {aim}"
            if process.exitcode == 0:
                return trials_of(self.job)
            self.kills[what] += 1
            assert sum(self.kills.values()) < 100, "it does not come to its end"

    def _places(self) -> list[str]:
        places = ["creation", "storage", "call", "storage"]
        return [*places[:1], "append", *places[1:], "append"] if self.job.storage == "journal" else places

    def _aim(self, place: str, after: int) -> tuple[Aim, str]:
        """Draw a moment in what opening the study and two trials take."""
        kind: Place = "call" if place == "call" else "append" if place == "append" else "storage"
        opening, everything = self._counts["opening"][kind], self._counts["all"][kind]
        if place == "creation":
            return Aim(kind, self._draw.randint(1, opening)), "creation"
        each = (everything - opening) / self.job.trials
        first = 0 if after else opening
        return Aim(kind, self._draw.randint(max(1, first // 2), max(2, int(first + 2 * each))), after), place


def counts_of(job: FormulaJob) -> tuple[dict[str, dict[Place, int]], list[Trial]]:
    """Run a study to its end, and return how often each kind of moment came, and its trials."""
    job.directory.mkdir()
    process = job.start()
    process.join()
    assert process.exitcode == 0
    return json.loads((job.directory / "counts.json").read_text()), trials_of(job)


@pytest.mark.long
@pytest.mark.parametrize(("method", "storage"), CASES)
def test_killed_searches_propose_what_a_search_that_was_never_killed_does(
    method: str, storage: str, tmp_path: Path, request: pytest.FixtureRequest, record_property: Property
) -> None:
    address = address_of(storage, request, f"whole-{method}")
    counts, expected = counts_of(FormulaJob(tmp_path / "whole", address, method, TRIALS))
    check_trials(expected, TRIALS)
    kills: Counter[str] = Counter()
    draw, studies = Random(f"{method} {storage}"), 0
    while sum(kills.values()) < LEAST_KILLS:
        place = tmp_path / f"killed-{studies}"
        place.mkdir()
        address = address_of(storage, request, f"killed-{method}-{studies}")
        study = KilledStudy(FormulaJob(place, address, method, TRIALS), draw, counts)
        trials = study.run()
        check_trials(trials, TRIALS)
        assert [trial.settings for trial in trials] == [trial.settings for trial in expected]
        assert [trial.origin for trial in trials] == [trial.origin for trial in expected]
        kills += study.kills
        studies += 1
        assert studies <= LEAST_KILLS, f"too few kills: {kills}"
    for key, count in {"kills": sum(kills.values()), "studies": studies, **kills}.items():
        record_property(key, count)


@pytest.mark.parametrize("storage", ["journal", *(pytest.param(name, marks=pytest.mark.long) for name in STORAGES[1:])])
def test_four_workers_of_which_some_are_killed_run_as_many_trials_as_were_asked_for(
    storage: str, tmp_path: Path, request: pytest.FixtureRequest, record_property: Property
) -> None:
    count = 8 + 4 * KILLS_OF_WORKERS
    job = FormulaJob(tmp_path, address_of(storage, request, "workers"), "tpe", count)
    draw, killed = Random(f"workers {storage}"), []
    workers: list[BaseProcess] = []
    while workers or not killed:
        while len(workers) < WORKERS and len(killed) < KILLS_OF_WORKERS:
            # One in four is killed: in its first, second or third trial.
            doomed = len(workers) == WORKERS - 1
            aim = Aim("storage", draw.randint(1, 4000), after=draw.randint(0, 2)) if doomed else None
            workers.append(FormulaJob(**{**vars(job), "aim": aim}).start())
        for worker in [item for item in workers if not item.is_alive()]:
            assert worker.exitcode in (0, *KILLED)
            workers.remove(worker)
            if worker.exitcode in KILLED:
                killed.append(worker.pid)
        time.sleep(0.005)
    check_trials(trials_of(job), count)
    runs: dict[int, list[int]] = {}
    for pid, number in job.begun():
        runs.setdefault(number, []).append(pid)
    assert sorted(runs) == list(range(count))
    for number, pids in runs.items():  # whoever began a trial before the last one that did was killed
        assert set(pids[:-1]) <= set(killed), f"trial {number} was run by {pids}"
    record_property("kills", len(killed))
    record_property("trials", count)
