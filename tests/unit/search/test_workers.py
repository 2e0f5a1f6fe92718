"""Workers that share a study: exact numbers of trials, killed processes, torn journals, PostgreSQL."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.search.limits import Limits
from neuro_divergent.search.storage.claims import FileClaims
from neuro_divergent.search.trial import Trial
from tests.unit.search.function_study import FunctionStudy, bowl

# A worker process: evaluates the function slowly, and tells its trials in a file.
WORKER = """
import sys, time
from pathlib import Path
from neuro_divergent.search.limits import Limits
from neuro_divergent.search.worker import Worker
from tests.unit.search.function_study import FunctionStudy, bowl

directory, storage, trials, log, pause = sys.argv[1:]
study = FunctionStudy(Path(directory), method="random", storage=storage)

def run(trial):
    with open(log, "a") as file:
        file.write(f"{trial.number}\\n")
    time.sleep(float(pause))
    study.store.complete(trial.number, bowl(trial.settings))

Worker(study.config, study.store, study.start, run=run, check=lambda point: point).work(Limits(trials=int(trials)))
"""
ROOT = Path(__file__).parents[3]


def spawn(directory: Path, storage: str, trials: int, log: Path, pause: float) -> subprocess.Popen[bytes]:
    arguments = [str(directory), storage, str(trials), str(log), str(pause)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    return subprocess.Popen([sys.executable, "-c", WORKER, *arguments], env=environment)


def begun(log: Path) -> Counter[int]:
    return Counter(map(int, log.read_text().split())) if log.exists() else Counter()


def wait_for(condition: object, seconds: float = 600.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a PostgreSQL of Debian's packages on loopback, as a user that is not root, and give its address."""
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not binaries:
        pytest.skip("PostgreSQL is not installed; tools/install-postgresql does that")
    pytest.importorskip("psycopg")
    is_root = os.geteuid() == 0
    owner = "nobody" if is_root else pwd.getpwuid(os.geteuid()).pw_name
    place = Path("/tmp") / f"nd-postgresql-{os.getpid()}"
    place.mkdir(mode=0o700)
    options = {"user": owner} if is_root else {}
    if is_root:
        shutil.chown(place, owner)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    setup = [str(binaries[-1] / "initdb"), "-D", str(place / "data"), "-A", "trust", "-U", "nd", "--no-sync"]
    subprocess.run(setup, check=True, capture_output=True, cwd=place, **options)  # type: ignore[call-overload]
    settings = ["-c", "listen_addresses=127.0.0.1", "-p", str(port), "-k", str(place), "-c", "fsync=off"]
    server = subprocess.Popen(
        [str(binaries[-1] / "postgres"), "-D", str(place / "data"), *settings],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=place, **options,  # type: ignore[call-overload]
    )  # fmt: skip
    try:
        wait_for(lambda: _answers(port))
        yield f"postgresql://nd@127.0.0.1:{port}/postgres"
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
        shutil.rmtree(place, ignore_errors=True)


def _answers(port: int) -> bool:
    import psycopg

    with suppress(psycopg.OperationalError):
        psycopg.connect(f"postgresql://nd@127.0.0.1:{port}/postgres", connect_timeout=2).close()
        return True
    return False


def check_killed_worker_is_replaced(directory: Path, storage: str) -> None:
    """Run three workers, kill one in the middle of its first trial, and see every trial complete exactly once."""
    log = directory / "log"
    study = FunctionStudy(directory, method="random", storage=storage)
    victim = spawn(directory, storage, 8, directory / "victim", 3600)
    workers = []
    try:
        wait_for(lambda: begun(directory / "victim"))
        workers = [spawn(directory, storage, 8, log, 0.2) for _ in range(2)]
        wait_for(lambda: begun(log))
        victim.kill()
        victim.wait()
        killed = time.time()
        assert [worker.wait(600) for worker in workers] == [0, 0]
    finally:
        for process in (victim, *workers):
            process.kill()
            process.wait()
    trials, (lost,) = study.store.trials(), begun(directory / "victim")
    study.store.close()
    assert [trial.number for trial in trials] == list(range(8))
    assert {trial.state for trial in trials} == {"complete"}
    # Whoever came too late to run it has run each of the others once, and the lost one again.
    assert begun(log) == Counter(range(8))
    assert trials[lost].attempts == 2
    assert trials[lost].finished is not None
    assert trials[lost].finished >= killed


@pytest.mark.parametrize("storage", ["journal", pytest.param("sqlite", marks=pytest.mark.long)])
def test_trial_of_a_killed_worker_is_run_again_and_the_number_of_trials_is_exact(storage: str, tmp_path: Path) -> None:
    check_killed_worker_is_replaced(tmp_path, storage)


@pytest.mark.long
def test_trial_of_a_killed_worker_is_run_again_in_postgresql(postgresql: str, tmp_path: Path) -> None:
    check_killed_worker_is_replaced(tmp_path, postgresql)


@pytest.mark.long
def test_study_in_postgresql_proposes_what_one_in_a_journal_does(postgresql: str, tmp_path: Path) -> None:
    import psycopg

    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute("CREATE DATABASE other")
    for name in ("journal", "database"):
        (tmp_path / name).mkdir()
    expected = FunctionStudy(tmp_path / "journal", method="tpe").run(14).points
    address = f"{postgresql.rpartition('/')[0]}/other"
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


def test_function_of_the_workers_is_the_one_of_the_tests() -> None:
    assert bowl({"training.optimizer.lr": 0.01, "training.l1": 0.3}) == {"mae": 0.0}
