"""Processes of a training on a cluster: what they are told, and the worker that starts one. No cluster is started."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from queue import Empty

import pytest

from neuro_divergent.core.launched import Launched, launched
from neuro_divergent.interfaces.cli.ray_host import Place, RayWorker, variables
from neuro_divergent.interfaces.cli.train import _of_an_attempt

PLACES = [
    Place("a", "10.0.0.1", ("1",)),
    Place("b", "10.0.0.2", ("0",)),
    Place("a", "10.0.0.1", ("0",)),
    Place("b", "10.0.0.2", ("3",)),
]


@pytest.mark.parametrize(
    ("rank", "place", "gpus"),
    [
        (0, Launched(0, 4, 0, 2), "1,0"),
        (1, Launched(1, 4, 0, 2), "0,3"),
        (2, Launched(2, 4, 1, 2), "1,0"),
        (3, Launched(3, 4, 1, 2), "0,3"),
    ],
)
def test_processes_are_counted_on_each_machine_and_meet_at_the_first(rank: int, place: Launched, gpus: str) -> None:
    told = variables(PLACES, rank, 4711)
    assert launched(told) == place
    assert (told["MASTER_ADDR"], told["MASTER_PORT"]) == ("10.0.0.1", "4711")
    assert told["CUDA_VISIBLE_DEVICES"] == gpus
    own = PLACES[rank].gpus[0]
    assert told["CUDA_VISIBLE_DEVICES"].split(",")[place.local_rank] == own


def test_processes_without_gpus_are_not_told_of_any() -> None:
    assert "CUDA_VISIBLE_DEVICES" not in variables([Place("a", "10.0.0.1"), Place("b", "10.0.0.2")], 1, 1)


def test_supervisor_starts_processes_of_this_machine_itself_and_leaves_those_on_ray_to_an_attempt() -> None:
    given = ["a.csv", "--retries", "3", "--stall=60", "--processes", "2", "-o", "run", "--resume"]
    assert _of_an_attempt(given, 2) == ["a.csv"]
    assert _of_an_attempt([*given, "--ray", "auto"], 1) == ["a.csv", "--processes", "2", "--ray", "auto"]


def read_all(worker: RayWorker) -> tuple[str, str, int]:
    output, errors = b"", b""
    while True:
        more, wrong, code = worker.read()
        output, errors = output + more, errors + wrong
        if code is not None:
            return output.decode(), errors.decode(), code


def test_worker_passes_on_what_its_process_writes_and_how_it_ends(tmp_path: Path) -> None:
    worker = RayWorker()
    script = "import os, sys; print(os.getcwd(), os.environ['RANK']); print('odd', file=sys.stderr); sys.exit(4)"
    assert worker.start(["-c", script], {"RANK": "3"}, str(tmp_path)) is None
    assert read_all(worker) == (f"{tmp_path.resolve()} 3\n", "odd\n", 4)


def test_worker_loses_nothing_that_its_process_writes_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = RayWorker()
    assert worker.start(["-c", "print('late')"], {}, str(tmp_path)) is None
    usual = worker._written.get

    def look(**options: float) -> tuple[int, bytes]:
        """Find nothing, the first time, and come back when all has been written."""
        monkeypatch.setattr(worker._written, "get", usual)
        for reader in worker._readers:
            reader.join()
        raise Empty

    monkeypatch.setattr(worker._written, "get", look)
    assert read_all(worker) == ("late\n", "", 0)


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX systems have them")
def test_worker_passes_signals_on_although_ray_blocks_them(tmp_path: Path) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        worker = RayWorker()
        script = (
            "import signal, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"  # also below nohup
            "try:\n print('ready', flush=True)\n time.sleep(60)\nexcept KeyboardInterrupt: print('heard')"
        )
        assert worker.start(["-c", script], {}, str(tmp_path)) is None
        said = b""
        while b"ready\n" not in said:
            said += worker.read()[0]
        worker.send_signal(signal.SIGINT)
        assert read_all(worker) == ("heard\n", "", 0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_directory_that_a_machine_does_not_have_is_named(tmp_path: Path) -> None:
    told = RayWorker().start(["-c", "pass"], {}, str(tmp_path / "absent"))
    assert told is not None
    assert str(tmp_path / "absent") in told
    assert os.uname().nodename in told
    assert "storage that all machines see" in told
