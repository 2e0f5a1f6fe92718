"""What the watcher of system calls tells, and what it does to them, against what plain functions see of it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from threading import Thread

import pytest

from tests.reliability.syscalls import Call, Shorten, fail_at, kill_at, run, trace, why_unsupported


@pytest.fixture(autouse=True)
def _watchable() -> None:
    if (reason := why_unsupported()) is not None:
        pytest.skip(reason)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def write(path: Path, data: bytes = b"0123456789") -> int:
    handle = os.open(path, os.O_CREAT | os.O_WRONLY, 0o644)
    try:
        return os.write(handle, data)
    finally:
        os.close(handle)


def test_calls_are_told_with_their_paths_data_and_results(root: Path) -> None:
    def act() -> None:
        write(root / "a")
        above = os.open(root, os.O_RDONLY)
        os.rename("a", "b", src_dir_fd=above, dst_dir_fd=above)
        os.fsync(above)
        os.mkdir("c", dir_fd=above)
        os.rmdir("c", dir_fd=above)
        os.chdir(root)
        Path("b").unlink()
        write(root.parent / "elsewhere")

    calls = trace(act, root).calls
    a, b, c, top = (str(root / name) for name in ("a", "b", "c", ""))
    assert [(call.name, call.path, call.target) for call in calls] == [
        ("open", a, None),
        ("write", a, None),
        ("close", a, None),
        ("open", top.rstrip("/"), None),
        ("rename", a, b),
        ("fsync", top.rstrip("/"), None),
        ("mkdir", c, None),
        ("rmdir", c, None),
        ("unlink", b, None),
    ]
    assert calls[1] == Call("write", a, data=b"0123456789", result=10)


def test_calls_of_threads_are_told(root: Path) -> None:
    def act() -> None:
        threads = [Thread(target=write, args=(root / name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    outcome = trace(act, root)
    assert outcome.has_returned
    written = [Path(call.path).name for call in outcome.calls if call.name == "write"]
    assert sorted(written) == ["a", "b", "c"]


@pytest.mark.parametrize("after", [False, True])
def test_a_kill_comes_before_the_call_or_after_it(root: Path, after: bool) -> None:
    outcome = kill_at(lambda: [write(root / name) for name in "abc"], root, 4, after=after)
    assert outcome.was_killed
    assert [path.name for path in sorted(root.iterdir())] == ["a", "b"]
    assert (root / "b").read_bytes() == (b"0123456789" if after else b"")


def test_a_call_that_fails_does_nothing_and_says_why(root: Path) -> None:
    outcome = fail_at(lambda: write(root / "a"), root, 1, errno.EDQUOT)
    assert outcome.errors[0] == "OSError"
    assert "Disk quota exceeded" in outcome.message
    assert outcome.calls[1].result == -errno.EDQUOT
    assert (root / "a").read_bytes() == b""


def test_later_calls_fail_where_asked(root: Path) -> None:
    def act() -> None:
        for name in "abc":
            try:
                write(root / name)
            except OSError:
                continue

    outcome = fail_at(act, root, 1, errno.EIO, then=lambda call: call.name == "write")
    assert outcome.has_returned
    assert [path.read_bytes() for path in sorted(root.iterdir())] == [b"", b"", b""]


def test_a_write_can_be_cut_short(root: Path) -> None:
    def act() -> None:
        assert write(root / "a") == 5

    outcome = run(act, root, lambda number, call: Shorten())
    assert outcome.has_returned, outcome.message
    assert outcome.calls[1].data == b"01234" == (root / "a").read_bytes()


def test_what_a_function_raises_is_told(root: Path) -> None:
    def act() -> None:
        raise ValueError("a reason")

    outcome = trace(act, root)
    assert outcome.errors[:2] == ["ValueError", "Exception"]
    assert outcome.message == "a reason"
    assert not outcome.was_killed
