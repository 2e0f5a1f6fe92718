"""Control requests: files in the directory of a run that its training process reads."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Literal

from neuro_divergent.core.errors import StorageError
from neuro_divergent.runs.directory import CONTROL

ControlRequest = Literal["stop", "checkpoint"]

_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # neither follow a link nor wait for a pipe
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _PLAIN


def write_request(run: Path, request: ControlRequest) -> None:
    """Write a control request for the process that trains in a directory; one that exists already stays.

    Nothing is written through a link: each name is opened inside the directory that was opened before it.

    Raises:
        StorageError: If writing fails, or one of the names is taken.
    """
    try:
        if os.open in os.supports_dir_fd:
            _write_inside(run, request)
        else:
            _write(run, request)
    except OSError as error:
        raise StorageError(f"{run / CONTROL / request}: cannot be written: {error.strerror or error}.") from error


def _write_inside(run: Path, request: ControlRequest) -> None:
    outer = os.open(run, _DIRECTORY)
    try:
        with suppress(FileExistsError):
            os.mkdir(CONTROL, 0o755, dir_fd=outer)
        inner = os.open(CONTROL, _DIRECTORY, dir_fd=outer)
        try:
            os.close(os.open(request, os.O_WRONLY | os.O_CREAT | _PLAIN, 0o644, dir_fd=inner))
        finally:
            os.close(inner)
    finally:
        os.close(outer)


def _write(run: Path, request: ControlRequest) -> None:
    """Write a request where names cannot be opened relative to a directory: on Windows."""
    place = run / CONTROL
    place.mkdir(exist_ok=True)
    for path in (run, place):
        if not stat.S_ISDIR(path.lstat().st_mode):
            raise NotADirectoryError(f"{path} is a link")
    os.close(os.open(place / request, os.O_WRONLY | os.O_CREAT, 0o644))
