"""A row for each round of a federation, as lines of a file that other processes can follow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.core.storage.disk import storage_error
from neuro_divergent.core.storage.regular_file import read_file
from neuro_divergent.core.storage.strict_json import finite_or_none

_LIMIT = 256 * 1024**2


class RoundLog:
    """Appends a JSON line for each round.

    A row is written before its round is committed. What a server that was killed wrote of a round that was not is
    taken out when the next one begins.

    Args:
        path: The file.
        committed: Number of the last round that is complete.
    """

    def __init__(self, path: Path, committed: int) -> None:
        self._path = path
        rows = [row for row in read_rows(path) if row["round"] <= committed]
        if path.exists() or rows:
            write_file(path, b"".join(_line(row) for row in rows))

    def write(self, row: dict[str, Any]) -> None:
        """Append a row.

        Raises:
            StorageError: If the disk refuses.
        """
        try:
            with self._path.open("ab") as file:
                file.write(_line(row))
        except OSError as error:
            raise storage_error(self._path, "written", error) from error


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file; damaged lines, and one that is still being written, are left out."""
    try:
        content = read_file(path, limit=_LIMIT)
    except (NeuroDivergentError, FileNotFoundError):
        return []
    rows: dict[int, dict[str, Any]] = {}
    for line in content[: content.rfind(b"\n") + 1].splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and type(row.get("round")) is int:
            rows[row["round"]] = row  # the last one of a round that was done again
    return [rows[number] for number in sorted(rows)]


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(finite_or_none(row), ensure_ascii=False, allow_nan=False).encode() + b"\n"
