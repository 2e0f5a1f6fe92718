"""Copies of SQLite databases: what is shown is read from a copy, so that nobody who writes has to wait."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from neuro_divergent.core.errors import StorageError

_LOG = "-wal"  # what SQLite appends to the name of a database for its write-ahead log
_SECONDS = 2.0  # that a copy may take where somebody else has locked the database
_ATTEMPTS = 5
_PAGES_AT_ONCE = 4096
_MOST_BYTES = 1024**3

DatabaseStamp = tuple[tuple[int, int, int] | None, ...]
"""Identity, time and size of a database and of its log."""


def database_stamp(path: Path) -> DatabaseStamp:
    """Return what changes whenever somebody writes to a database."""
    return tuple(_stamp_of(file) for file in (path, _log_of(path)))


def time_of(stamp: DatabaseStamp) -> float:
    """Return when a database was last written to, in seconds since 1970; 0 if it is not there."""
    return max((item[1] for item in stamp if item is not None), default=0) / 1e9


def is_database(path: Path) -> bool:
    """Whether a regular file is there."""
    return _is_regular(path)


@contextmanager
def copied(path: Path) -> Iterator[Path]:
    """Give a copy of a database, as it is at one moment, in a directory of its own that is removed after the block.

    Nothing is written into the original. If it has a log, SQLite may put its index of that (``-shm``) beside it.

    Raises:
        StorageError: If it is not a regular file, too large, locked or damaged.
    """
    for file in (path, _log_of(path)):
        if os.path.lexists(file) and not _is_regular(file):
            raise StorageError(f"{file}: is not a regular file.")
    with tempfile.TemporaryDirectory(prefix="nd-dashboard-") as directory:
        target = Path(directory) / path.name
        try:
            _copy(path, target)
        except (OSError, sqlite3.Error) as error:
            if isinstance(error, StorageError):
                raise
            raise StorageError(f"{path}: cannot be read: {error}.") from error
        yield target


def _copy(path: Path, target: Path) -> None:
    for _ in range(_ATTEMPTS):
        before = database_stamp(path)
        if sum(item[2] for item in before if item is not None) > _MOST_BYTES:
            raise StorageError(f"{path}: is larger than {_MOST_BYTES:,} bytes, the most that is read.")
        has_log = before[1] is not None and before[1][2] > 0
        # Without a log all is in the file, which is read as it is: SQLite would make a new log to read it.
        _back_up(path, target, "mode=ro" if has_log else "immutable=1")
        if has_log or database_stamp(path) == before:
            return
        target.unlink()  # somebody wrote to the file meanwhile
    raise StorageError(f"{path}: changes while it is read.")


def _back_up(path: Path, target: Path, mode: str) -> None:
    end = time.monotonic() + _SECONDS

    def check(status: int, _remaining: int, _total: int) -> None:
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > end:
            raise StorageError(f"{path}: is locked by another process.")

    address = f"file:{quote(str(path.absolute()))}?{mode}"
    with (
        closing(sqlite3.connect(address, uri=True, timeout=_SECONDS)) as original,
        closing(sqlite3.connect(target)) as copy,
    ):
        copy.execute("PRAGMA synchronous=OFF")
        original.backup(copy, pages=_PAGES_AT_ONCE, progress=check, sleep=0.05)


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + _LOG)


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
