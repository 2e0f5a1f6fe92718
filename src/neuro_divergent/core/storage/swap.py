"""Atomically swap two paths (``renameat2``)."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of <fcntl.h>


def swap_paths(one: Path, other: Path) -> bool:
    """Swap two paths of a file system atomically; return whether that was possible.

    Linux supports it on most file systems. Where it is not supported, nothing changes.
    """
    rename = _renameat2()
    return rename is not None and rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0


@cache
def _renameat2() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), "renameat2", None)
