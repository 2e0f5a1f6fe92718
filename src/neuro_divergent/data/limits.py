"""How large things may get before they are refused instead of read."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

LARGEST_FIELD = 1 << 20  # bytes of one value in a CSV file; longer ones are forgotten quotation marks or attacks
_CONTAINER = Path("/sys/fs/cgroup/memory.max")


def memory_limit() -> float:
    """GiB of memory that this process may use: of the machine or of its container; infinite where neither tells."""
    limits = [float("inf")]
    with suppress(AttributeError, ValueError, OSError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    with suppress(ValueError, OSError):
        limits.append(int(_CONTAINER.read_text("ascii")) / 2**30)
    return min(limits)
