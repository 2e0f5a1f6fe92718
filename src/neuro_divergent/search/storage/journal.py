"""A journal file that survives the end of any process that writes to it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, BinaryIO, cast

from optuna.storages.journal import JournalFileBackend

from neuro_divergent.core.storage.lock import RunLock

_PATIENCE = 300.0  # seconds; a write takes milliseconds, and the lock of a process that ends is released at once
_BLOCK = 4096
_PARAMETER = "param_name"  # a key of the lines that Optuna writes for a parameter, and of no others


class JournalLock:
    """The lock of a journal, as Optuna wants it: one of the kernel, which ends with its process.

    Args:
        path: File to lock.
    """

    def __init__(self, path: Path) -> None:
        self._lock = RunLock(path, wait=_PATIENCE)

    def acquire(self) -> bool:
        """Wait for the lock."""
        self._lock.__enter__()
        return True

    def release(self) -> None:
        """Let others write."""
        self._lock.__exit__()


class JournalFile(JournalFileBackend):  # type: ignore[misc, unused-ignore]
    """Optuna's journal file, which cuts off half a line that a killed process has left before it appends.

    Args:
        path: The file; created if needed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._journal_lock = JournalLock(self.path.with_name(f"{self.path.name}.lock"))
        super().__init__(str(self.path), lock_obj=cast("Any", self._journal_lock))

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append complete lines and flush them to the disk."""
        content = "".join(f"{json.dumps(log, separators=(',', ':'))}\n" for log in logs).encode("utf-8")
        self._journal_lock.acquire()
        try:
            with self.path.open("r+b") as file:
                file.seek(_end_of_lines(file))
                file.truncate()
                file.write(content)
                file.flush()
                # Parameters are in the point of the trial as well, and reach the disk with whatever is written next.
                if not all(_PARAMETER in log for log in logs):
                    os.fsync(file.fileno())
        finally:
            self._journal_lock.release()


def _end_of_lines(file: BinaryIO) -> int:
    """Return where the last complete line of an open file ends."""
    end = file.seek(0, os.SEEK_END)
    while end:
        begin = max(0, end - _BLOCK)
        file.seek(begin)
        place = file.read(end - begin).rfind(b"\n")
        if place >= 0:
            return begin + place + 1
        end = begin
    return 0
