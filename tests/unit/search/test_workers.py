"""Workers that share a study: trials that are taken over, torn journals, locks, PostgreSQL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.search import log
from neuro_divergent.search.limits import Limits
from neuro_divergent.search.storage.claims import FileClaims
from neuro_divergent.search.trial import Trial
from neuro_divergent.search.trial_groups import TrialGroups
from neuro_divergent.search.worker import Worker
from tests.postgresql import new_database
from tests.unit.search.function_study import FunctionStudy

ROOT = Path(__file__).parents[3]


@pytest.mark.long
def test_study_in_postgresql_proposes_what_one_in_a_journal_does(postgresql: str, tmp_path: Path) -> None:
    for name in ("journal", "database"):
        (tmp_path / name).mkdir()
    expected = FunctionStudy(tmp_path / "journal", method="tpe").run(14).points
    address = new_database(postgresql, "proposals")
    study = FunctionStudy(tmp_path / "database", method="tpe", storage=address).run(14)
    found = study.points
    study.store.close()
    assert found == expected


def test_trial_whose_process_died_three_times_is_recorded_as_failed(tmp_path: Path) -> None:
    study = FunctionStudy(tmp_path, method="random")
    number, _ = study.begin()
    study.store.set_attempts(number, 3)
    study.run(2)
    first, second = study.store.trials()
    assert first.state == "failed"
    assert "died 3 times" in first.reason
    assert second.state == "complete"


def test_trial_that_died_between_its_point_and_its_parameters_gets_all_of_them(tmp_path: Path) -> None:
    study = FunctionStudy(tmp_path, method="random")
    number = study.store.begin()
    point = {"training.optimizer.lr": 0.01, "training.l1": 0.5}
    trial_id = study.store._id(number)
    study.store.storage.set_trial_user_attr(trial_id, "proposal", {"point": point, "origin": "defaults"})
    study.run(1)
    assert study.store.storage.get_trial(trial_id).params == point


def test_failed_and_refused_trials_are_recorded_with_their_reason_and_the_search_goes_on(tmp_path: Path) -> None:
    study = FunctionStudy(tmp_path, method="random")

    def run(trial: Trial) -> None:
        if trial.number == 1:
            study.store.fail(trial.number, "diverged: the loss is NaN")
        else:
            study.evaluate(trial)

    def check(point: dict[str, float]) -> None:
        if point["training.l1"] < 0.3:
            raise InputError("too small")

    worker = study.worker()
    worker._run, worker._check = run, check
    worker.work(Limits(trials=6))
    trials = study.store.trials()
    states = Counter(trial.state for trial in trials)
    assert states["failed"] == 1
    assert states["complete"] == 5
    assert states["refused"] == sum(trial.settings["training.l1"] < 0.3 for trial in trials) > 0
    assert {trial.reason for trial in trials if trial.state == "refused"} == {"too small"}


def test_space_in_which_nothing_can_be_built_ends_with_the_reason(tmp_path: Path) -> None:
    study = FunctionStudy(tmp_path, method="random")

    def check(point: object) -> None:
        raise InputError("never")

    worker = study.worker()
    worker._check = check
    with pytest.raises(InputError, match="100 points in a row cannot be built; the last: never"):
        worker.work(Limits(trials=3))


@pytest.mark.parametrize("cut", [1, 15, 40])
def test_journal_with_a_torn_last_line_goes_on(cut: int, tmp_path: Path) -> None:
    study = FunctionStudy(tmp_path, method="random").run(3)
    journal = tmp_path / "journal.log"
    journal.write_bytes(journal.read_bytes()[:-cut])
    study = FunctionStudy(tmp_path, method="random").run(6)
    trials = study.store.trials()
    assert [trial.state for trial in trials] == ["complete"] * 6
    assert journal.read_bytes().endswith(b"\n")


def holder_of(path: Path, seconds: float) -> subprocess.Popen[bytes]:
    """Start a process that holds a lock for some seconds, and return when it does."""
    script = (
        "import sys, time; from neuro_divergent.core.storage.lock import RunLock\n"
        "with RunLock(sys.argv[1]):\n    print(1, flush=True); time.sleep(float(sys.argv[2]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", script, str(path), str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    process = holder_of(tmp_path / "lock", 600)
    with process:
        with pytest.raises(InputError, match="in use by pid"), RunLock(tmp_path / "lock"):
            pass
        process.kill()
    with RunLock(tmp_path / "lock"):
        pass


def test_lock_that_waits_gets_it_when_the_other_process_is_done(tmp_path: Path) -> None:
    process = holder_of(tmp_path / "lock", 0.5)
    with process, RunLock(tmp_path / "lock", wait=600.0):
        pass
    assert process.returncode == 0


def test_journal_is_read_by_optuna_as_it_is(tmp_path: Path) -> None:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    study = FunctionStudy(tmp_path, method="random").run(3)
    storage = JournalStorage(JournalFileBackend(str(tmp_path / "journal.log")))
    theirs = optuna.load_study(study_name=study.store.name, storage=storage)
    assert [trial.params for trial in theirs.trials] == study.points
    assert theirs.best_value == study.best()


def test_claim_belongs_to_one_process_until_it_is_released(tmp_path: Path) -> None:
    one, other = FileClaims(tmp_path), FileClaims(tmp_path)
    assert one.try_claim(3)
    assert not one.try_claim(3)
    assert not other.try_claim(3)
    one.release(3)
    assert other.try_claim(3)
    other.close()
    assert one.try_claim(3)


def test_search_uses_no_private_name_of_optuna() -> None:
    """What is private in Optuna moves without notice; the journal knows one key of its lines, which is tested below."""
    import ast

    import optuna

    kinds = (optuna.Study, optuna.storages.RDBStorage, optuna.storages.JournalStorage, optuna.trial.FrozenTrial)
    private = {name for kind in kinds for name in vars(kind) if not name.startswith("__")}
    private |= {"_study_id", "_backend", "_storage", "_file_path"}
    found = []
    for path in sorted((ROOT / "src/neuro_divergent/search").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("optuna"):
                found += [name for name in (node.module or "").split(".") if name.startswith("_")]
                found += [item.name for item in node.names if item.name.startswith("_")]
            of_self = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
            if isinstance(node, ast.Attribute) and not of_self and node.attr.startswith("_") and node.attr in private:
                found.append(f"{path.name}: {node.attr}")
    assert found == []


def test_lines_of_parameters_are_those_that_the_journal_does_not_wait_for(tmp_path: Path) -> None:
    """Optuna names the parameter in such lines only; if that changes, look at ``storage/journal.py``."""
    FunctionStudy(tmp_path, method="random").run(2)
    lines = [json.loads(line) for line in (tmp_path / "journal.log").read_text().splitlines()]
    named = [line["param_name"] for line in lines if "param_name" in line]
    assert sorted(named) == ["training.l1", "training.l1", "training.optimizer.lr", "training.optimizer.lr"]


def grouped(study: FunctionStudy, trials: int, *, num_workers: int = 1, together: bool = True) -> list[list[int]]:
    """Run trials, those with an equal penalty at once, and return the numbers of those that were."""
    taken: list[list[int]] = []

    def train(found: Sequence[Trial]) -> bool:
        taken.append([trial.number for trial in found])
        return together

    groups = TrialGroups(4, num_workers, kind=lambda point: str(point["training.l1"]), train=train)
    Worker(study.config, study.store, study.start, run=study.evaluate, check=lambda point: point, groups=groups).work(
        Limits(trials=trials)
    )
    return taken


GRID = {"training.optimizer.lr": [1e-4, 1e-3, 1e-2], "training.l1": [0.0, 1.0]}


@pytest.mark.parametrize(("num_workers", "expected"), [(1, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]), (3, 4)])
def test_worker_takes_alike_trials_at_once_and_no_more_than_its_share(
    num_workers: int, expected: Any, tmp_path: Path
) -> None:
    space = {"training.optimizer.lr": log(1e-5, 1e-1), "training.l1": [0.5]}
    start = {"training.optimizer.lr": 1e-3, "training.l1": 0.5}
    for name in ("one", "several"):
        (tmp_path / name).mkdir()
    alone = FunctionStudy(tmp_path / "one", space=space, start=start, method="random", pruner=None).run(10)
    study = FunctionStudy(tmp_path / "several", space=space, start=start, method="random", pruner=None)
    taken = grouped(study, 10, num_workers=num_workers)
    assert taken == expected if isinstance(expected, list) else len(taken[0]) == expected
    assert study.points == alone.points
    assert [trial.state for trial in study.store.trials()] == ["complete"] * 10


def test_worker_takes_only_trials_in_a_row_that_are_alike(tmp_path: Path) -> None:
    study = FunctionStudy(tmp_path, space=GRID, method="grid", pruner=None)
    taken = grouped(study, 6)
    kinds = [trial.settings["training.l1"] for trial in study.store.trials()]
    assert all(len({kinds[number] for number in group}) == 1 for group in taken)
    assert sorted(trial.settings["training.optimizer.lr"] for trial in study.store.trials()) == sorted(
        2 * GRID["training.optimizer.lr"]
    )


def test_trials_that_are_not_trained_together_after_all_are_run_one_by_one(tmp_path: Path) -> None:
    space = {"training.optimizer.lr": log(1e-5, 1e-1), "training.l1": [0.5]}
    start = {"training.optimizer.lr": 1e-3, "training.l1": 0.5}
    study = FunctionStudy(tmp_path, space=space, start=start, method="random", pruner=None)
    taken = grouped(study, 5, together=False)
    assert taken[0] == [0, 1, 2, 3]
    trials = study.store.trials()
    assert [(trial.state, trial.attempts, trial.reason) for trial in trials] == [("complete", 1, "")] * 5


def test_group_of_a_process_that_died_is_taken_over_as_a_group(tmp_path: Path) -> None:
    space = {"training.optimizer.lr": log(1e-5, 1e-1), "training.l1": [0.5]}
    start = {"training.optimizer.lr": 1e-3, "training.l1": 0.5}
    study = FunctionStudy(tmp_path, space=space, start=start, method="random", pruner=None)
    points = [study.begin()[1] for _ in range(3)]
    assert grouped(study, 6) == [[0, 1, 2, 3], [4, 5]]
    assert study.points[:3] == points
    assert [trial.attempts for trial in study.store.trials()] == [2, 2, 2, 1, 1, 1]
