"""Limits that a container or a service manager puts on this process, read from Linux control groups.

Both versions are read, also side by side, and every group from that of the process up to the root of the mount: the
tightest limit counts. Where there are no control groups, nothing is limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

_ROOT = Path("/")
_ESCAPED = re.compile(r"\\([0-7]{3})")


def cpu_quota(root: Path = _ROOT) -> int | None:
    """Return how many processors' time this process may use, rounded up, or ``None`` if that is not limited."""
    found = []
    for version, directory in groups("cpu", root):
        with suppress(OSError, ValueError):
            if version == 2:
                quota, period = map(int, (directory / "cpu.max").read_text("utf-8").split())  # "max" is no number
            else:
                quota = int((directory / "cpu.cfs_quota_us").read_text("utf-8"))
                period = int((directory / "cpu.cfs_period_us").read_text("utf-8"))
            if quota > 0 and period > 0:
                found.append(-(-quota // period))
    return min(found, default=None)


def memory_quota(root: Path = _ROOT) -> int | None:
    """Return how many bytes of memory this process may use, or ``None`` if that is not limited."""
    found = []
    for version, directory in groups("memory", root):
        with suppress(OSError, ValueError):
            name = "memory.max" if version == 2 else "memory.limit_in_bytes"
            found.append(int((directory / name).read_text("utf-8")))
    return min((limit for limit in found if limit > 0), default=None)


def groups(controller: str, root: Path = _ROOT) -> Iterator[tuple[int, Path]]:
    """Yield version and directory of the groups of this process that have a controller, from the innermost up."""
    try:
        members = (root / "proc/self/cgroup").read_text("utf-8", "replace").splitlines()
        mounts = (root / "proc/self/mountinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in members:
        _, names, path = (*line.split(":", 2), "", "")[:3]
        if names and controller not in names.split(","):
            continue
        version = 1 if names else 2
        for top, point in _mounted(mounts, version, controller):
            inside = _inside(path, top)
            for depth in range(len(inside.parts), -1, -1):
                yield version, root / point.lstrip("/") / PurePosixPath(*inside.parts[:depth])


def _mounted(mounts: list[str], version: int, controller: str) -> Iterator[tuple[str, str]]:
    """Yield which group is mounted, and where, for the mounts of a version that have the controller."""
    for line in mounts:
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")
        if len(fields) < 5 or len(kind) < 3:
            continue
        if kind[0] == "cgroup2" if version == 2 else kind[0] == "cgroup" and controller in kind[2].split(","):
            yield _unescaped(fields[3]), _unescaped(fields[4])


def _inside(path: str, top: str) -> PurePosixPath:
    """Return a group's path below the group that is mounted; the mount itself if the group is not below it."""
    try:
        inside = PurePosixPath(path).relative_to(top)
    except ValueError:
        return PurePosixPath()
    return PurePosixPath() if ".." in inside.parts else inside


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), text)
