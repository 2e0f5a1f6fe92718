"""How much memory there is, and keeping it between training steps.

Each step frees the large buffers of the step before. glibc returns such memory to the system and requests it again
at once, and the system clears every page again: a quarter of the time of an LSTM step. Inside ``keeping_memory`` freed
memory stays with the process, and it is given back at the end.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.cgroup import memory_quota

if TYPE_CHECKING:
    import torch

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as <malloc.h> numbers them
_USUAL = 128 * 1024


@cache
def memory_limit() -> float:
    """GiB of memory that this process may use: of the machine or of its container; infinite if neither is known."""
    limits = [float("inf")]
    with suppress(AttributeError, ValueError, OSError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    if (quota := memory_quota()) is not None:
        limits.append(quota / 2**30)
    return min(limits)


def peak_memory(device: torch.device) -> int | None:
    """Bytes that this process has had at most, on a GPU if that is its device; ``None`` if that is not known."""
    if device.type == "cuda":
        import torch

        return int(torch.cuda.max_memory_allocated(device))
    try:
        import resource
    except ImportError:  # not a POSIX system
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


@contextmanager
def keeping_memory() -> Iterator[None]:
    """Let the allocator keep memory that is freed inside the block; without effect unless it is glibc's."""
    library = _glibc()
    if library is None:
        yield
        return
    library.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
    library.mallopt(_MMAP_THRESHOLD, 2**30)
    try:
        yield
    finally:
        library.mallopt(_TRIM_THRESHOLD, _USUAL)
        library.mallopt(_MMAP_THRESHOLD, _USUAL)
        library.malloc_trim(0)


@cache
def _glibc() -> Any:
    """Return the C library if it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    needed = ("gnu_get_libc_version", "mallopt", "malloc_trim")
    return library if all(hasattr(library, name) for name in needed) else None
