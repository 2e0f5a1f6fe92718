"""Suppresses messages of native code."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_ERRORS = 2  # number of the file that native code writes messages to


@contextmanager
def silenced() -> Iterator[None]:
    """Buffer what native code writes to standard error in the block, and drop it if the block raises.

    For a damaged file polars prints the place in its own source before the error can be
    caught and shown in one line. What Python itself writes is not buffered.
    """
    stream = sys.stderr
    try:
        own = os.dup(_ERRORS) if stream.fileno() == _ERRORS else None
    except (OSError, ValueError, AttributeError):
        own = None
    if own is None:  # Standard error is closed, or already something else, as in a notebook.
        yield
        return
    with os.fdopen(own, "w", buffering=1, errors="backslashreplace") as aside, tempfile.TemporaryFile() as held:
        stream.flush()
        os.dup2(held.fileno(), _ERRORS)
        sys.stderr = aside
        try:
            yield
        finally:
            sys.stderr = stream
            aside.flush()
            os.dup2(own, _ERRORS)
        held.seek(0)
        with suppress(OSError):
            os.write(_ERRORS, held.read())
