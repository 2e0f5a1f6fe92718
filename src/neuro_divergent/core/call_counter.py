"""How often each of several processes has talked to the others, in a file that another process watches.

A process that hangs stops all that wait for it. The one that has talked least is the one that hangs.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

COUNTERS = "ND_CALL_COUNTERS"
"""Environment variable with the path of the file, set by the program that starts the processes."""

_SIZE = 8


class CallCounter:
    """Counts the calls of one process, in memory that other processes read, from where its last counter ended.

    Args:
        path: The file.
        rank: Number of the process.
    """

    def __init__(self, path: Path, rank: int) -> None:
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)
        self._place = rank * _SIZE
        (self._count,) = struct.unpack_from("<q", self._memory, self._place)

    @classmethod
    def told(cls, rank: int) -> CallCounter | None:
        """Return the counter of a process if somebody watches it."""
        path = os.environ.get(COUNTERS)
        return CallCounter(Path(path), rank) if path and Path(path).is_file() else None

    def add(self) -> None:
        """Count a call."""
        self._count += 1
        struct.pack_into("<q", self._memory, self._place, self._count)


def create_counters(path: Path, processes: int) -> None:
    """Write the file for a number of processes."""
    path.write_bytes(bytes(_SIZE * processes))


def read_counters(path: Path) -> list[int]:
    """Return the counts of all processes."""
    content = path.read_bytes()
    return [number for (number,) in struct.iter_unpack("<q", content)]
