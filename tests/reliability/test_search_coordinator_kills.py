"""Searches of networks in several processes, of which the first one or a worker is killed, end with the same scores."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.runs.events import read_events
from neuro_divergent.search.study import Study
from tests.postgresql import new_database
from tests.reliability.test_cross_validation_kills import children, is_alive

SOAK = bool(os.environ.get("ND_SOAK"))
STORAGES = ("journal", "sqlite", "postgresql") if SOAK else ("journal",)
TRIALS = 6 if SOAK else 4
VICTIMS = ("coordinator", "worker", "coordinator", "worker") if SOAK else ("worker", "coordinator")
SCRIPT = """
import sys
from pathlib import Path
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.search.study import Study

if __name__ == "__main__":
    data, place, storage, trials, jobs, steps = sys.argv[1:]
    run = RunConfig.from_dict({
        "data": {"path": data},
        "model": "nlinear",
        "task": {"horizon": 7, "input_size": 14},
        "training": {"max_steps": int(steps), "threads": 1, "early_stopping": "none"},
        "checkpoints": {"every_seconds": "none", "every_steps": 10},
    })
    space = {"training.optimizer.lr": {"low": 1e-4, "high": 1e-1, "log": True}}
    if (Path(place) / "study.json").is_file():
        study = Study.load(place)
    else:
        study = Study(run, place, space, method="random", pruner=None, storage=storage)
    study.run(trials=int(trials), jobs=int(jobs))
    study.close()
"""
Property = Callable[[str, object], None]

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc"),
]


class Search:
    """A search in two worker processes, begun or taken up again by each process that is started."""

    def __init__(self, place: Path, storage: str) -> None:
        self.study = place / "study"
        self._script, self._data, self._storage = place / "script.py", place / "sales.csv", storage
        place.mkdir()
        self._script.write_text(SCRIPT)
        Synthetic(num_series=2, length=80, noise=1.0).frame().write_csv(self._data)

    def start(self, jobs: int = 2, trials: int = TRIALS, steps: int = 200) -> subprocess.Popen[bytes]:
        numbers = [str(number) for number in (trials, jobs, steps)]
        command = [sys.executable, str(self._script), str(self._data), str(self.study), self._storage, *numbers]
        return subprocess.Popen(command)

    def await_checkpoint(self, process: subprocess.Popen[bytes], trial: int) -> bool:
        """Wait until a trial, or a later one, has a checkpoint; return whether the search is still at work then."""
        while process.poll() is None:
            runs = self.study.glob("trials/*/checkpoints/step-*/manifest.json")
            if any(int(path.parts[-4]) >= trial for path in runs):
                return True
            time.sleep(0.002)
        return False

    def looked_at(self) -> int:
        """Return when a worker looked for something to do the last time; one that trains does not."""
        return (self.study / "locks" / "study").stat().st_mtime_ns

    def holders(self) -> set[int]:
        """Return the processes that hold a trial now."""
        found = set()
        for lock in self.study.glob("trials/*/lock"):
            text = lock.read_text()
            if text:
                found.add(int(text.partition('"pid": ')[2].partition(",")[0]))
        return found


def started(run: Path) -> list[tuple[int, float]]:
    """Return the step and the time of each start of a training."""
    return [(event["step"], event["time"]) for event in read_events(run, "start")]


def results(study: Study) -> list[tuple[dict[str, float], float]]:
    trials = study.trials
    study.close()
    assert [trial.number for trial in trials] == list(range(TRIALS))
    assert {trial.state for trial in trials} == {"complete"}
    return [(trial.settings, trial.values["mase"]) for trial in trials]


@pytest.mark.parametrize("storage", STORAGES)
def test_search_whose_processes_are_killed_ends_with_the_scores_of_one_that_was_not(
    storage: str, tmp_path: Path, request: pytest.FixtureRequest, record_property: Property
) -> None:
    whole = Search(tmp_path / "whole", "journal")
    assert whole.start(jobs=1).wait() == 0
    if storage == "postgresql":
        storage = new_database(request.getfixturevalue("postgresql"), "coordinators")
    search, draw, kills, waits = Search(tmp_path / "killed", storage), Random(storage), 0, []
    process = search.start()
    for place, victim in enumerate(VICTIMS):
        if not search.await_checkpoint(process, place * TRIALS // len(VICTIMS)):
            break
        if victim == "coordinator":
            helpers = children(process.pid)
            process.kill()
            process.wait()
            kills += 1
            end = time.monotonic() + 60
            while any(is_alive(pid) for pid in helpers):  # nobody goes on without it
                assert time.monotonic() < end
                time.sleep(0.01)
            process = search.start()
        elif busy := search.holders() & set(children(process.pid)):
            pid = draw.choice(sorted(busy))
            os.kill(pid, signal.SIGKILL)
            kills += 1
    assert process.wait() == 0
    study = Study.load(search.study)
    again = [trial for trial in study.trials if trial.attempts > 1]
    for trial in again:  # the next attempt goes on from the last checkpoint of the one before
        starts = [event["step"] for event in read_events(search.study / "trials" / trial.name, "start")]
        waits.append(max(starts))
    assert results(study) == results(Study.load(whole.study))
    assert kills
    record_property("kills", kills)
    record_property("trials_taken_over", len(again))


def test_trial_of_a_killed_worker_is_taken_over_from_its_checkpoint_by_one_that_waits(
    tmp_path: Path, record_property: Property
) -> None:
    """The one that waits looks for claims that have ended; how long that takes is recorded."""
    search = Search(tmp_path / "search", "journal")
    first = search.start(jobs=1, trials=1, steps=100_000)
    assert search.await_checkpoint(first, 0)
    run, before = search.study / "trials" / "00000", search.looked_at()
    second = search.start(jobs=1, trials=1, steps=100_000)  # has nothing to do: one trial was asked for, and it runs
    try:
        while search.looked_at() == before:
            assert second.poll() is None
            time.sleep(0.01)
        assert len(started(run)) == 1
        first.kill()
        first.wait()
        killed = time.time()
        end = time.monotonic() + 120
        while len(started(run)) < 2:
            assert second.poll() is None
            assert time.monotonic() < end
            time.sleep(0.01)
    finally:
        first.kill()
        second.kill()
        first.wait()
        second.wait()
    (begun, _), (resumed, moment) = started(run)
    assert begun == 0
    assert resumed >= 10
    record_property("seconds_until_taken_over", round(moment - killed, 2))
