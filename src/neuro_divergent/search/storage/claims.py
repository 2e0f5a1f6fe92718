"""Which process runs which trial.

A claim ends with its process, however that ends, so a trial that is recorded as running and that nobody has claimed is
one whose process died.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage.lock import RunLock

LOCKS = "locks"
_PATIENCE = 600.0  # seconds; a proposal takes well below one


class Claims(Protocol):
    """Claims of a process."""

    def try_claim(self, number: int) -> bool:
        """Claim a trial, and return whether that was possible; one that this process has claimed is not free."""

    def release(self, number: int) -> None:
        """Give up a claim."""

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Run a block while no other process runs one: to begin a trial, or to take over one."""

    def close(self) -> None:
        """Give up all claims."""


class FileClaims(Claims):
    """Claims that are locks of files in the directory of a study.

    Args:
        directory: Directory of the study.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory / LOCKS
        self._directory.mkdir(parents=True, exist_ok=True)
        self._held: dict[int, RunLock] = {}

    def try_claim(self, number: int) -> bool:
        if number in self._held:
            return False
        lock = RunLock(self._directory / f"{number:05d}")
        try:
            lock.__enter__()
        except InputError:
            return False
        self._held[number] = lock
        return True

    def release(self, number: int) -> None:
        self._held.pop(number).__exit__()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with RunLock(self._directory / "study", wait=_PATIENCE):
            yield

    def close(self) -> None:
        for number in list(self._held):
            self.release(number)
