"""Data that are given to a pipeline: tables in files or in memory, and the roles of their columns."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import DataError, NeuroDivergentError, StorageError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import read_json, write_file
from neuro_divergent.lifecycle.pipeline.artifact import Artifact, as_frame, table_digest, value_digest

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.data.schema import Schema

_LIMIT = 64 * 1024**2
_SETTLED = 2_000_000_000  # nanoseconds: a file that is younger may change again without a new time


class FileDigests:
    """Digests of the content of files, which are computed again when size or time of a file have changed.

    Size and time only say that a file may have changed; its SHA-256 decides.

    Args:
        path: File in which they are kept.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, Any] = {}
        try:
            content = read_json(path, _LIMIT)
            self._known = content if isinstance(content, dict) else {}
        except (NeuroDivergentError, ValueError):
            pass  # a cache that is damaged or not there yet

    def digest(self, path: str) -> str:
        """Return the SHA-256 of a file."""
        place = os.path.realpath(path)
        stamp = _stamp(place)
        known = self._known.get(place)
        if isinstance(known, dict) and known.get("stamp") == stamp and isinstance(known.get("sha256"), str):
            return str(known["sha256"])
        found = _sha256(place)
        self._known[place] = {"stamp": stamp, "sha256": found}
        if time.time_ns() - stamp[1] < _SETTLED or _stamp(place) != stamp:
            del self._known[place]  # computed again the next time
        return found

    def save(self) -> None:
        """Keep the digests for the next start."""
        write_file(self._path, strict_json.dumps(self._known))


def source_artifacts(data: Any, schema: Schema | None, digests: FileDigests) -> dict[str, Artifact]:
    """Return what a source gives: ``table``, if there are data, and ``schema``, if it has one.

    Args:
        data: Path or pattern of CSV or Parquet files, or a table; ``None`` for none.
        schema: Roles of the columns.
        digests: Digests of files.

    Raises:
        DataError: If there is no such file.
    """
    found = {}
    if schema is not None:
        roles = schema.to_dict()
        found["schema"] = Artifact("value", value_digest(roles), source=lambda: roles)
    if isinstance(data, (str, os.PathLike)):
        name = os.fspath(data)
        stamps = _stamps(name)
        digest = _files_digest(name, schema, digests)
        found["table"] = Artifact("table", digest, source=partial(_read, name, schema, stamps))
    elif data is not None:
        frame = as_frame(data)
        found["table"] = Artifact("table", table_digest(frame), source=lambda: frame)
    return found


def _files_digest(path: str, schema: Schema | None, digests: FileDigests) -> str:
    """Return a digest of the content of files, and of what decides how they are read."""
    from neuro_divergent.data.io.source import find_files

    files = find_files(path)
    kinds = ["".join(Path(name).suffixes[-2:]).lower() for name in files]
    is_typed = all(kind.endswith((".parquet", ".pq")) for kind in kinds) and not (schema and schema.wide)
    how: Mapping[str, Any] = {} if is_typed or schema is None else schema.to_dict()
    return value_digest([[kinds[place], digests.digest(name)] for place, name in enumerate(files)] + [dict(how)])


def _read(path: str, schema: Schema | None, stamps: Mapping[str, list[int]]) -> pl.DataFrame:
    """Read all columns of a table, whose files are as they were when their digests were computed."""
    from neuro_divergent.data.io.source import read_table

    columns = None if schema is None else read_table(path, schema, only=[]).columns
    frame = read_table(path, schema, only=columns).frame
    if _stamps(path) != stamps:
        raise DataError(f"{path}: was changed while the pipeline ran; run it again.")
    return frame


def _stamps(path: str) -> dict[str, list[int]]:
    from neuro_divergent.data.io.source import find_files

    return {name: _stamp(name) for name in find_files(path)}


def _stamp(path: str) -> list[int]:
    try:
        found = Path(path).stat()
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}.") from error
    return [found.st_size, found.st_mtime_ns, found.st_ino]


def _sha256(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}.") from error
