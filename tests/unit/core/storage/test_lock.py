"""One process at a time, also when processes fork, crash and look."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from neuro_divergent.core.errors import InputError, StorageError, StorageWarning
from neuro_divergent.core.storage import lock as module
from neuro_divergent.core.storage.lock import Holder, RunLock, holder

HOLD = """
import sys, time
from neuro_divergent.core.storage.lock import RunLock
with RunLock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""
TAKE = """
import sys
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage.lock import RunLock
try:
    with RunLock(sys.argv[1]):
        print("taken")
except InputError as error:
    print(error)
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills and forks as POSIX systems do")


@contextmanager
def another_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def attempt(path: Path) -> str:
    result = subprocess.run([sys.executable, "-c", TAKE, str(path)], capture_output=True, text=True, check=True)
    return result.stdout.strip()


def in_a_fork(action: Callable[[], bool]) -> bool:
    """Return what a forked child finds out."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if action() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_second_process_is_told_who_is_there(tmp_path: Path) -> None:
    path = tmp_path / "run" / "lock"
    path.parent.mkdir()
    with another_process(path) as process:
        who = holder(path)
        assert who is not None
        assert (who.pid, who.host) == (process.pid, socket.gethostname())
        assert who.since == pytest.approx(time.time(), abs=30)
        with pytest.raises(InputError) as refused, RunLock(path):
            pass
        assert str(refused.value) == (
            f"{tmp_path / 'run'}: in use by pid {process.pid} on host {socket.gethostname()} since "
            f"{time.strftime('%H:%M', time.localtime(who.since))}; wait for it, or stop it with: kill {process.pid}"
        )
        assert holder(path) == who  # neither the look nor the refusal changed anything


def test_the_lock_is_free_when_its_process_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with another_process(path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert path.read_text("utf-8")  # it still says who had it, which counts for nothing
        assert holder(path) is None
        with RunLock(path):
            who = holder(path)
            assert who is not None
            assert who.pid == os.getpid()
    assert holder(path) is None
    assert path.read_text("utf-8") == ""


def test_a_process_cannot_take_it_twice(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = RunLock(path)
    with lock:
        for again in (lock, RunLock(path)):
            with pytest.raises(InputError, match=r"in use by this process since \d\d:\d\d; let that"), again:
                pass
        assert attempt(path).startswith(f"{tmp_path}: in use by pid {os.getpid()}")
    with lock:
        pass
    assert attempt(path) == "taken"


def test_a_forked_child_neither_holds_nor_releases_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = RunLock(path)
    lock.__enter__()

    def leave() -> bool:
        lock.__exit__(None, None, None)
        who = holder(path)
        return who is not None and who.pid == os.getppid()

    assert in_a_fork(leave)
    who = holder(path)
    assert who is not None
    assert who.pid == os.getpid()
    assert attempt(path) != "taken"

    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:  # outlives the lock, as a worker may outlive a process that was killed
        os.write(ready[1], b"!")
        os.read(go[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    lock.__exit__(None, None, None)
    free = holder(path) is None
    os.write(go[1], b"!")
    os.waitpid(child, 0)
    for end in (*ready, *go):
        os.close(end)
    assert free


def test_a_started_program_does_not_inherit_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with RunLock(path):
        sleeper = subprocess.Popen(["sleep", "60"], close_fds=False)
    free = holder(path) is None
    sleeper.kill()
    sleeper.wait()
    assert free


def test_those_who_look_never_keep_anybody_out(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            holder(path)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(200):
            with RunLock(path):
                pass
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_of_many_processes_exactly_one_gets_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    start = os.pipe()
    children = []
    for _ in range(8):
        child = os.fork()
        if child == 0:
            os.close(start[1])
            os.read(start[0], 1)  # all at once, when the other end is closed
            try:
                with RunLock(path):
                    time.sleep(0.5)
                os._exit(0)
            except InputError:
                os._exit(1)
            finally:
                os._exit(2)
        children.append(child)
    os.close(start[0])
    os.close(start[1])
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert sorted(codes) == [0] + [1] * 7


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", '{"pid": 3}', '{"pid": -1, "host": "h", "since": 1}', '{"pid": "x", "host": "h", "since": 1}',
        '{"pid": 3, "host": "h", "since": 1e300}', '{"pid": 3, "host": "h", "since": NaN}', "[" * 4000,
        '{"pid": 3, "host": "\\u001b[31m", "since": 1}', "\x00" * 10,
    ],
)  # fmt: skip
def test_a_holder_that_does_not_say_who_it_is_is_one_all_the_same(tmp_path: Path, content: str) -> None:
    path = tmp_path / "lock"
    with RunLock(path):
        path.write_text(content, "utf-8")
        assert holder(path) == Holder()
        assert attempt(path) == f"{tmp_path}: in use by another process; wait for it"


def test_a_lock_of_another_day_says_which() -> None:
    then = time.mktime((2024, 5, 17, 9, 30, 0, 0, 0, -1))
    assert str(Holder(812, "h", then)) == "pid 812 on host h since 2024-05-17 09:30"


def test_a_free_lock_has_no_holder(tmp_path: Path) -> None:
    assert holder(tmp_path / "nowhere" / "lock") is None
    (tmp_path / "lock").write_text(json.dumps({"pid": 1, "host": "h", "since": 1}))
    assert holder(tmp_path / "lock") is None


def test_a_place_that_cannot_be_locked_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be opened"), RunLock(tmp_path / "nowhere" / "lock"):
        pass
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "lock").symlink_to(precious)
    with pytest.raises(StorageError, match="cannot be opened"), RunLock(tmp_path / "lock"):
        pass
    assert precious.read_text() == "mine"


def test_a_pipe_in_the_place_of_the_lock_hangs_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock")
    assert holder(tmp_path / "lock") is None


def test_where_files_cannot_be_locked_it_says_so_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    path = tmp_path / "lock"
    monkeypatch.setattr(module.fcntl, "flock", refuse)
    lock = RunLock(path)
    with pytest.warns(StorageWarning, match="nothing keeps a second process out"):
        lock.__enter__()
    who = holder(path)
    assert who is not None
    assert who.is_self
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    path.write_text(json.dumps({"pid": gone.pid, "host": socket.gethostname(), "since": 1}))
    assert holder(path) is None
    path.write_text(json.dumps({"pid": gone.pid, "host": "elsewhere", "since": 1}))
    assert holder(path) is not None  # who can tell
    lock.__exit__(None, None, None)
    assert holder(path) is None


def test_an_error_of_the_disk_is_one_of_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int, operation: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(module.fcntl, "flock", refuse)
    with pytest.raises(StorageError, match="cannot be locked"), RunLock(tmp_path / "lock"):
        pass


def test_a_full_disk_keeps_nobody_from_locking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(module.os, "write", refuse)
        lock = RunLock(tmp_path / "lock")
        lock.__enter__()
    assert holder(tmp_path / "lock") == Holder()
    lock.__exit__(None, None, None)
