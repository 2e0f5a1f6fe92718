"""CSV and Parquet files."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import DataError
from neuro_divergent.lifecycle.continuous.sources.base import Delivery, Position, Source

if TYPE_CHECKING:
    from neuro_divergent.data.schema import Schema


@register("files")
class Files(Source):
    """A file, or a pattern of files, that grow or become more.

    Size and time of change tell which files to look at, and their SHA-256 whether they have changed. Whoever writes a
    file should write it under another name and rename it, so that it is never read half written.

    Attributes:
        path: CSV or Parquet file, or a pattern such as ``"sales/*.parquet"``, as seen from the working directory.
        settle: Seconds that a file must not have changed before it is read.
    """

    path: str = Field(min_length=1)
    settle: float = Field(default=0.0, ge=0)

    def poll(self, position: Position | None, schema: Schema) -> Delivery | None:
        known = dict(position or {})
        changed = []
        for path, entry in self._look().items():
            before = known.get(path)
            if before is not None and all(before[name] == entry[name] for name in ("size", "mtime")):
                continue
            entry["sha256"] = _digest(path)
            if before is None or before["sha256"] != entry["sha256"]:
                changed.append(path)
            known[path] = entry
        if not changed:
            return None
        from neuro_divergent.lifecycle.continuous.rows import read_rows

        return Delivery(read_rows(changed, schema), known)

    def _look(self) -> Position:
        """Return size and time of change of the files that are old enough.

        Raises:
            DataError: If there is no file at all.
        """
        from neuro_divergent.lifecycle.continuous.sources.pattern import matching_files

        now, found = time.time(), {}
        paths = matching_files(self.path)
        if not paths:
            raise DataError(f"{self.path}: not found: no file matches")
        for path in paths:
            try:
                status = Path(path).stat()
            except FileNotFoundError:
                continue  # renamed or deleted since it was listed
            if now - status.st_mtime >= self.settle:
                found[path] = {"size": status.st_size, "mtime": status.st_mtime_ns}
        return found


def _digest(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
