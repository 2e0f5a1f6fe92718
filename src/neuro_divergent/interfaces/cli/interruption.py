"""What is said when somebody interrupts a command: what remains, and how to go on."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def ends_with(line: str) -> Iterator[None]:
    """Say a line if the block is interrupted, and exit with the code of the signal."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        sys.stderr.write(f"{line}\n")
        raise SystemExit(getattr(interruption, "exit_code", 130)) from None


@contextmanager
def interruptible(resume: str, directory: Path) -> Iterator[None]:
    """Say how to resume, if the block is interrupted: a command such as ``nd search resume`` and the directory."""
    with ends_with(f"Interrupted and saved. Resume with: {resume} {shlex.quote(str(directory))}"):
        yield
