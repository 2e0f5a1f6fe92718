"""How much memory this process can still take, without loading torch."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from neuro_divergent.core.cgroup import groups

_GROUP_FILES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}


class _HeapInformation(ctypes.Structure):
    """What ``mallinfo2`` returns: ten numbers, of which the ninth is wanted."""

    _fields_: ClassVar = [("before", ctypes.c_size_t * 8), ("unused", ctypes.c_size_t), ("trimmable", ctypes.c_size_t)]


def available_memory(*, for_files: bool = False, root: Path = Path("/")) -> int | None:
    """Return the bytes that this process can still take, or ``None`` where it is not known.

    That is the least of what the system has available, what is left in the control groups of the process (containers
    and batch systems set their limits there), and what is left of its own limits: of the address space (``ulimit -v``)
    and of its data (``ulimit -d``).

    Args:
        for_files: Whether it is for pages of files that are mapped for reading, which its own limits do not count.
        root: Holds ``proc`` and ``sys``.
    """
    rooms = [_of_system(root), *(() if for_files else _of_limits(root)), *_of_groups(root)]
    return min((max(room, 0) for room in rooms if room is not None), default=None)


def _of_system(root: Path) -> int | None:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _of_limits(root: Path) -> Iterator[int]:
    try:
        import resource
    except ImportError:  # not a Unix
        return
    status = dict(line.split(":", 1) for line in _lines(root / "proc/self/status") if ":" in line)
    for limit, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        most, _ = resource.getrlimit(limit)
        if most != resource.RLIM_INFINITY and name in status:
            yield most - int(status[name].split()[0]) * 1024 + _unused_heap()


def _unused_heap() -> int:
    """Return what the C library holds without using it; its pages may be given back, its addresses are not."""
    mallinfo2 = getattr(ctypes.CDLL(None), "mallinfo2", None)  # glibc has it since 2.33
    if mallinfo2 is None:
        return 0
    mallinfo2.restype = _HeapInformation
    return int(mallinfo2().unused)


def _of_groups(root: Path) -> Iterator[int]:
    for version, group in groups("memory", root):
        limit, use, cache = _GROUP_FILES[version]
        limits, uses = _lines(group / limit), _lines(group / use)
        if limits and uses and limits[0] != "max":
            # Files that were read and can be read again do not count as used.
            statistics = dict(line.split(maxsplit=1) for line in _lines(group / "memory.stat"))
            yield int(limits[0]) - int(uses[0]) + int(statistics.get(cache, 0))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except OSError:
        return []
