"""Arrays that are read from disk when they are needed."""

from __future__ import annotations

import errno
import hashlib
import math
import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import StorageError, UntrustedFileError
from neuro_divergent.core.storage.disk import storage_error
from neuro_divergent.core.storage.manifest import Entry, check_digest
from neuro_divergent.core.storage.regular_file import opened

_BLOCK = 1 << 22
CURE = "Check it with: nd panel check"


class MappedFile:
    """A file that is mapped into memory, and what it looked like then.

    Args:
        path: The file.
        array: Its array, where it is mapped in this process.
        stamp: Device, inode, size and time of its last change; those it has now if ``None``.
    """

    def __init__(self, path: Path, array: Array | None, stamp: tuple[int, int, int, int] | None = None) -> None:
        self.path = path
        self.stamp = _stamp(path) if stamp is None else stamp
        self._map = memory_map(array)

    def __reduce__(self) -> tuple[Any, ...]:
        return MappedFile, (self.path, None, self.stamp)

    def check(self) -> None:
        """Compare the file with what it was.

        A file that was replaced or removed under its name is fine: what is mapped stays as it was.

        Raises:
            StorageError: If it was cut off or written to, or cannot be reached any more.
        """
        try:
            size = self.stamp[2] if self._map is None else self._map.size()
            if size >= self.stamp[2]:
                found = _stamp(self.path)
                if found[:2] != self.stamp[:2] or found == self.stamp:
                    return
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error(self.path, "read", error) from error
        change = f"was cut off to {size:,} bytes of {self.stamp[2]:,}" if size < self.stamp[2] else "was written to"
        raise StorageError(f"{self.path}: {change} while it was in use. {CURE} {self.path.parent}.")


@dataclass(frozen=True)
class MappedView:
    """How another process maps the same values: it is small, whatever their number.

    Attributes:
        path: The file.
        stamp: Device, inode, size and time of its last change.
        offset: Byte of the first value.
    """

    path: Path
    stamp: tuple[int, int, int, int]
    offset: int
    dtype: str
    shape: tuple[int, ...]

    def open(self) -> Array:
        """Map the values.

        Raises:
            StorageError: If the file is not the same any more.
        """
        try:
            if _stamp(self.path) != self.stamp:
                raise StorageError(f"{self.path}: changed since it was opened. {CURE} {self.path.parent}.")
            return np.memmap(self.path, np.dtype(self.dtype), "r", self.offset, self.shape)
        except StorageError:
            raise
        except OSError as error:
            raise reading_error(self.path, error) from error


def map_array(path: Path) -> Array:
    """Map the array in a ``.npy`` file, read-only.

    Raises:
        UntrustedFileError: If the file has no array of the size it tells.
        StorageError: If the disk refuses, or if there is not enough memory.
    """
    try:
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, MemoryError) as error:
        raise reading_error(path, error) from error
    except (ValueError, EOFError, TypeError, SyntaxError) as error:
        raise UntrustedFileError(f"{path}: damaged ({error}). {CURE} {path.parent}, or build it again.") from None
    return array


def map_values(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Map the values in a file without a header, read-only; errors are those of ``map_array``."""
    try:
        size = path.stat().st_size
        needed = dtype.itemsize * math.prod(shape)
        if size != needed:
            raise UntrustedFileError(
                f"{path}: {size:,} bytes instead of {needed:,}. {CURE} {path.parent}, or build it again."
            )
        return np.memmap(path, dtype, "r", 0, shape)
    except (OSError, MemoryError) as error:
        raise reading_error(path, error) from error
    except ValueError as error:
        raise UntrustedFileError(f"{path}: damaged ({error}). {CURE} {path.parent}, or build it again.") from None


def read_values(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], entry: Entry) -> Array:
    """Read the values in a file without a header, and compare their SHA-256 with the manifest."""
    try:
        values = np.empty(shape, dtype)
        content = values.reshape(-1).view(np.uint8).data
        digest, done = hashlib.sha256(), 0
        with opened(path) as handle, os.fdopen(handle, "rb", buffering=0, closefd=False) as file:
            while done < len(content) and (count := file.readinto(content[done : done + _BLOCK])):
                digest.update(content[done : done + count])
                done += count
    except MemoryError as error:
        raise reading_error(path, error) from error
    if done < len(content):
        raise UntrustedFileError(f"{path}: {done:,} bytes instead of {len(content):,}; altered or damaged.")
    check_digest(digest.hexdigest(), entry, str(path))
    return values


def reading_error(path: Path, error: BaseException) -> StorageError:
    """Return the error for a file that could not be read; lack of memory is not called damage."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return StorageError(f"{path}: not enough memory to read it. Close other programs, or raise the limit (ulimit).")
    if getattr(error, "errno", None) == errno.EMFILE:
        return StorageError(f"{path}: too many open files. Join its parts: nd panel compact, or raise ulimit -n.")
    return storage_error(path, "read", error)


def memory_map(array: Any) -> mmap.mmap | None:
    """Return the map that an array is a view of, or ``None`` for an array in memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, mmap.mmap) else None


def file_offset(array: np.memmap[Any, Any]) -> int:
    """Return the byte of its file where a mapped array, or a view of it, begins."""
    found = memory_map(array)
    assert found is not None
    begin = np.frombuffer(found, np.uint8).__array_interface__["data"][0]
    mapped_from = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    return int(array.__array_interface__["data"][0]) - int(begin) + int(mapped_from)


def picklable(array: Any) -> Any:
    """Return what to pickle for an array: where it is for one that is mapped, else the array."""
    if not isinstance(array, np.memmap) or memory_map(array) is None or not array.flags.c_contiguous:
        return np.array(array) if isinstance(array, np.memmap) else array
    if array.filename is None:
        return np.array(array)
    path = Path(array.filename)
    return MappedView(path, _stamp(path), file_offset(array), array.dtype.str, array.shape)


def _stamp(path: Path) -> tuple[int, int, int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
