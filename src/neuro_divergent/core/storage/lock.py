"""One process at a time in a run directory.

The lock is held by the kernel and released when its process ends, so no stale lock is left behind. The content of the
file is information for users: the holder of the lock, and since when.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from neuro_divergent.core.errors import InputError, StorageError, StorageWarning

_MOST_BYTES = 4096
_SECONDS_FOR_LOOKS = 5.0  # checking a lock holds it for some microseconds; many processes may check it in turn
_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # neither follow a link nor wait for a pipe


@dataclass(frozen=True)
class Holder:
    """Holder of a lock; all fields are ``None`` if unknown.

    Attributes:
        pid: Its process.
        host: The machine it runs on.
        since: When it took the lock, in seconds since 1970.
    """

    pid: int | None = None
    host: str | None = None
    since: float | None = None

    def __str__(self) -> str:
        if self.pid is None:
            return "another process"
        who = "this process" if self.is_self else f"pid {self.pid} on host {self.host}"
        day, clock = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.since)).split()
        return f"{who} since {clock}" if day == time.strftime("%Y-%m-%d") else f"{who} since {day} {clock}"

    @property
    def is_here(self) -> bool:
        """Whether it runs on this machine."""
        return self.host == socket.gethostname()

    @property
    def is_self(self) -> bool:
        """Whether it is this process."""
        return self.is_here and self.pid == os.getpid()


class RunLock:
    """Holds a run directory for this process inside a ``with`` block.

    Processes that this one forks do not hold it and cannot release it. Where files cannot be locked, a warning says so
    and the block runs all the same.

    Args:
        path: File to lock; created if needed, and not deleted.
        wait: Seconds to wait for another process that holds it.

    Raises:
        InputError: On entry, if it is already held, possibly by this process; the message names the holder.
        StorageError: On entry, if the file cannot be opened.
    """

    def __init__(self, path: str | Path, *, wait: float = 0.0) -> None:
        self.path = Path(path)
        self.wait = wait
        self._handle: int | None = None

    def __enter__(self) -> Self:
        if self._handle is not None:
            raise InputError(_refusal(self.path, _read(self._handle)))
        handle = _open(self.path)
        try:
            _take(handle, self.path, self.wait)
            _write(handle)
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle
        _held.add(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _held.discard(self)
        if self._handle is not None:
            with suppress(OSError):
                os.ftruncate(self._handle, 0)
            os.close(self._handle)  # which releases the lock
            self._handle = None

    def _abandon(self) -> None:
        """Forget the lock in a forked child: closing its descriptor does not release the parent's lock."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def holder(path: str | Path) -> Holder | None:
    """Return the holder of a lock, or ``None`` if it is free, without acquiring it.

    Where files cannot be locked it is the process named in the file, unless it is known to have ended.
    """
    try:
        handle = os.open(path, os.O_RDONLY | _FLAGS)
    except OSError:
        return None
    try:
        return None if _try(handle, shared=True) else _read(handle)
    except OSError:
        who = _read(handle)
        return None if who.pid is None or (who.is_here and not _is_alive(who.pid)) else who
    finally:
        os.close(handle)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o644)
    except OSError as error:
        raise StorageError(f"{path}: cannot be opened: {error.strerror or error}.") from error


def _take(handle: int, path: Path, wait: float) -> None:
    """Lock a file, or raise with its holder."""
    now = time.monotonic()
    try:
        while not _try(handle, shared=False):
            # A check takes a shared lock for a moment; a holder has an exclusive one.
            is_held = not _try(handle, shared=True)
            if time.monotonic() >= now + (wait if is_held else max(wait, _SECONDS_FOR_LOOKS)):
                raise InputError(_refusal(path, _read(handle)))
            if not is_held:
                _release(handle)
            time.sleep(0.002)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise StorageError(f"{path}: cannot be locked: {error.strerror or error}.") from error
        warnings.warn(
            f"{path}: files cannot be locked here ({error.strerror}), so nothing keeps a second process out of this "
            "run; see to it that there is none.",
            StorageWarning,
            stacklevel=3,
        )


def _refusal(path: Path, who: Holder) -> str:
    if who.is_self:
        return f"{path.parent}: in use by {who}; let that come to its end first"
    cure = "" if who.pid is None else f", or stop it with: kill {who.pid}"
    return f"{path.parent}: in use by {who}; wait for it{cure}"


def _write(handle: int) -> None:
    """Write the holder of the lock; a full disk is ignored."""
    content = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": time.time()})
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, content.encode("utf-8"))


def _read(handle: int) -> Holder:
    """Read the holder of a lock from the file, which may not be written yet."""
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        content: Any = json.loads(os.read(handle, _MOST_BYTES))
        pid, host, since = int(content["pid"]), str(content["host"]), float(content["since"])
        time.localtime(since)  # raises for an invalid time
        return Holder(pid, host, since) if pid > 0 and host.isprintable() else Holder()
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return Holder()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's process, or an invalid pid
        pass
    return True


if sys.platform == "win32":
    import msvcrt

    _PLACE = 1 << 30  # a locked byte cannot be read, so one far behind the text is locked

    def _try(handle: int, *, shared: bool) -> bool:
        """Lock an open file unless another has; Windows has no shared locks here."""
        os.lseek(handle, _PLACE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _release(handle: int) -> None:
        os.lseek(handle, _PLACE, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    # Not fcntl.lockf: those locks end as soon as the process closes any descriptor of the file, also after a check.
    import fcntl

    def _try(handle: int, *, shared: bool) -> bool:
        """Lock an open file unless another has."""
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _release(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)


_held: set[RunLock] = set()


def _forget() -> None:
    for lock in _held:
        lock._abandon()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
