"""Reading regular files completely; links, pipes and devices are refused."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.memory import memory_limit
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.disk import storage_error


def read_file(path: Path, *, size: int | None = None, limit: int | None = None) -> bytes:
    """Return the content of a regular file; where given, ``size`` is what it must have and ``limit`` what it may have.

    Raises:
        UntrustedFileError: If it is missing, not a regular file, or of another size.
        StorageError: If the disk refuses.
    """
    with opened(path) as handle:
        found = os.fstat(handle).st_size
        if size is not None and found != size:
            raise UntrustedFileError(f"{path}: {found:,} bytes, the manifest lists {size:,}; altered or damaged.")
        most = memory_limit() * 2**30 if limit is None else limit
        if found > most:
            raise UntrustedFileError(f"{path}: {found:,} bytes, at most {most:,.0f} are read.")
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(found + 1)
        if len(content) != found:
            raise UntrustedFileError(f"{path}: changed while it was read.")
        return content


def read_json(path: Path, limit: int = strict_json.LIMIT) -> Any:
    """Read a JSON file strictly, with an error that names it."""
    return strict_json.loads(read_file(path, limit=limit), str(path), limit)


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """Open a regular file for the block, without waiting for a pipe and without following a link."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise UntrustedFileError(f"{path}: is not a regular file.")
            yield handle
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise UntrustedFileError(f"{path}: not found.") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UntrustedFileError(f"{path}: is a link, not a regular file.") from None
        raise storage_error(path, "read", error) from error
