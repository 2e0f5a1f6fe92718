"""What a conversion has done, in its work directory, for a process that goes on with it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.data.schema import Schema

FORMAT = 1
_JOURNAL = "journal.json"


def work_directory(target: Path) -> Path:
    """Return where the files of an unfinished conversion are: hidden, beside the target."""
    target = target.absolute()
    return target.with_name(f".{target.name}.conversion")


def identify(files: Sequence[str], schema: Schema, memory: int | None) -> dict[str, Any]:
    """Return what must be the same for a conversion to go on: the files with sizes and times, and the settings."""
    found = []
    for path in files:
        status = os.stat(path)  # noqa: PTH116
        found.append([os.path.abspath(path), status.st_size, status.st_mtime_ns])  # noqa: PTH100
    return {"format": FORMAT, "inputs": found, "schema": schema.to_dict(), "memory": memory}


class Journal:
    """The record of a conversion.

    Args:
        directory: Work directory; made if needed.
        identity: What ``identify`` returned.
    """

    def __init__(self, directory: Path, identity: dict[str, Any]) -> None:
        self.directory = directory
        self._identity = json.loads(json.dumps(identity))
        self.state: dict[str, Any] = {}

    def read(self) -> str:
        """Take up the state of an earlier process; return why that was not possible, or nothing.

        What it left is removed if it cannot be used.
        """
        path = self.directory / _JOURNAL
        try:
            found = json.loads(path.read_bytes())
            reason = self._difference(found["identity"])
            state = found["state"]
        except FileNotFoundError:
            reason, state = "", {}
        except (OSError, ValueError, KeyError, TypeError):
            reason, state = "its record cannot be read", {}
        if reason or not state:
            self.clear()
        else:
            self.state = state
        return reason

    def write(self, **changes: Any) -> None:
        """Record changes of the state."""
        self.state.update(changes)
        content = {"identity": self._identity, "state": self.state}
        write_file(self.directory / _JOURNAL, json.dumps(content).encode())

    def clear(self) -> None:
        """Remove what earlier processes left, except for the lock."""
        self.state = {}
        for path in self.directory.iterdir() if self.directory.exists() else ():
            if path.name == "lock":
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):
                    path.unlink()

    def _difference(self, found: dict[str, Any]) -> str:
        if found.get("inputs") != self._identity["inputs"]:
            return "the files have changed"
        if found != self._identity:
            return "the settings have changed"
        return ""
