"""What is said when somebody interrupts a command whose work is saved."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def interruptible(resume: str, directory: Path) -> Iterator[None]:
    """Say how to resume, if the block is interrupted: a command such as ``nd search resume`` and the directory."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        sys.stderr.write(f"Interrupted and saved. Resume with: {resume} {shlex.quote(str(directory))}\n")
        raise SystemExit(getattr(interruption, "exit_code", 130)) from None
