"""Free space of a disk, and the errors it reports."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from neuro_divergent.core.errors import StorageError
from neuro_divergent.core.formatting import format_bytes

FULL = {errno.ENOSPC, errno.EDQUOT}
"""Error codes of a full disk or an exceeded quota."""


def free_bytes(path: Path) -> int | None:
    """Return how much may still be written where a path is or will be, or ``None`` if unknown."""
    path = path.absolute()
    for place in (path, *path.parents):
        try:
            return shutil.disk_usage(place).free
        except OSError:
            continue
    return None


def storage_error(path: Path, verb: str, error: BaseException, needed: int | None = None) -> StorageError:
    """Return an error with the reason and, for a full disk, the bytes needed and free."""
    code, reason = getattr(error, "errno", None), getattr(error, "strerror", None) or error
    message = f"{path}: cannot be {verb}: {reason}"
    if code not in FULL:
        return StorageError(f"{message}.")
    free = free_bytes(path)
    room = "" if free is None else f"{format_bytes(free)} free"
    need = "" if needed is None else f"needs {format_bytes(needed)}"
    return StorageError(f"{message}; {', '.join(part for part in (need, room) if part)}.")
