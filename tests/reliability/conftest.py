"""Places that the tests of reliability share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.reliability.apart import why_no_mounts
from tests.reliability.syscalls import why_unsupported

_MEMORY = Path("/dev/shm")


@pytest.fixture
def watched_place() -> Iterator[Path]:
    """Give a directory for functions whose calls are watched, in memory where possible: syncing is quick there."""
    if (reason := why_unsupported()) is not None:
        pytest.skip(reason)
    with TemporaryDirectory(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None) as made:
        yield Path(made).resolve()


@pytest.fixture
def mount_place(tmp_path: Path) -> Path:
    """Give a directory to mount something on, in a process of its own."""
    if (reason := why_no_mounts()) is not None:
        pytest.skip(reason)
    return tmp_path
