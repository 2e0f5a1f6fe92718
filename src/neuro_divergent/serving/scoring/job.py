"""The record of a scoring job: what was started and when, and which of its files are finished.

The directory of forecasts holds ``job.json``, written at the start; a Parquet file for each part, whose metadata say
which job and which rows it is from; and ``summary.json``, written at the end. A job without its
summary is resumed: files that match are kept.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import polars as pl

from neuro_divergent.core.errors import InputError, NeuroDivergentError
from neuro_divergent.core.storage.atomic import clear_leftovers, read_json, write_file
from neuro_divergent.data.io.parquet_file import PROBLEMS
from neuro_divergent.data.io.parquet_header import read_header
from neuro_divergent.data.io.thrift import ThriftError

FORMAT = 1
JOB, SUMMARY = "job.json", "summary.json"
MADE_AT, MODEL_VERSION = "made_at", "model_version"
_KEY = "neuro_divergent_scoring"
_MOST_BYTES = 256 * 1024**2


@dataclass(frozen=True)
class ScoringJob:
    """A scoring job in its directory.

    Attributes:
        directory: Where forecasts are written.
        settings: What identifies the job: model version, source and options.
        made_at: When it was first started, in UTC.
    """

    directory: Path
    settings: Mapping[str, Any]
    made_at: datetime

    @classmethod
    def begin(cls, directory: Path, settings: Mapping[str, Any], *, made_at: datetime | None = None) -> Self:
        """Start a job, or resume the one that was started in the directory with the same settings.

        Raises:
            InputError: If the directory holds Parquet files that are not of scoring.
            StorageError: If the disk refuses.
        """
        if directory.is_dir():
            _refuse_others(directory)
            clear_leftovers(directory)
            found = cls._read(directory)
            if found is not None and found.settings == settings and not found.is_complete:
                return found
        moment = (made_at or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0)
        job = cls(directory, settings, moment)
        write_file(directory / JOB, _dump(job._document))
        return job

    @classmethod
    def completed(cls, directory: Path, settings: Mapping[str, Any]) -> Self | None:
        """Return the job of a directory if it has these settings and is complete."""
        found = cls._read(directory)
        return found if found is not None and found.settings == settings and found.is_complete else None

    @classmethod
    def _read(cls, directory: Path) -> Self | None:
        """Return the job that was started in a directory; ``None`` if there is none that can be read."""
        with suppress(NeuroDivergentError, OSError, KeyError, TypeError, ValueError):
            document = read_json(directory / JOB, _MOST_BYTES)
            if document["format"] == FORMAT:
                return cls(directory, document["settings"], datetime.fromisoformat(document["made_at"]))
        return None

    @property
    def digest(self) -> str:
        """Digest of the settings and the time of the start."""
        return hashlib.sha256(_dump(self._document)).hexdigest()

    @property
    def is_complete(self) -> bool:
        """Whether the summary was written."""
        return self._summary is not None

    @property
    def empty(self) -> frozenset[str]:
        """Fingerprints of parts that turned out to have no series to forecast."""
        return frozenset((self._summary or {}).get("empty", ()))

    @property
    def _summary(self) -> dict[str, Any] | None:
        with suppress(NeuroDivergentError, OSError):
            document = read_json(self.directory / SUMMARY, _MOST_BYTES)
            return document if isinstance(document, dict) and document.get("job") == self.digest else None
        return None

    @property
    def _document(self) -> dict[str, Any]:
        return {"format": FORMAT, "made_at": self.made_at.isoformat(), "settings": dict(self.settings)}

    def path(self, name: str) -> Path:
        """Return the file of a part."""
        return self.directory / f"{name}.parquet"

    def finished(self, name: str, fingerprint: str) -> dict[str, Any] | None:
        """Return what the file of a part says about itself, if it is there, readable and of these rows and this job."""
        path = self.path(name)
        if not path.is_file():
            return None
        with suppress(ThriftError, ValueError, *PROBLEMS):
            read_header(str(path))
            found = json.loads(pl.read_parquet_metadata(path).get(_KEY, "null"))
            if found and (found["job"], found["part"]) == (self.digest, fingerprint):
                return {"name": path.name, "series": found["series"], "rows": found["rows"]}
        return None

    def write(self, name: str, fingerprint: str, tables: Sequence[pl.DataFrame], series: int) -> dict[str, Any]:
        """Write the forecasts of a part, complete or not at all, and return what is known about the file."""
        frame = pl.concat(tables)
        columns = [
            pl.lit(self.made_at).cast(pl.Datetime("us", "UTC")).alias(MADE_AT),
            pl.lit(self.settings[MODEL_VERSION]).alias(MODEL_VERSION),
        ]
        metadata = {"job": self.digest, "part": fingerprint, "series": series, "rows": frame.height}
        buffer = io.BytesIO()
        frame.with_columns(columns).write_parquet(buffer, metadata={_KEY: json.dumps(metadata)})
        write_file(self.path(name), buffer.getvalue())
        return {"name": self.path(name).name, "series": series, "rows": frame.height}

    def finish(self, parts: Sequence[Mapping[str, Any]], empty: Sequence[str]) -> None:
        """Remove files of earlier jobs and write the summary; ``empty`` are fingerprints of parts without series."""
        names = {part["name"] for part in parts}
        for path in self.directory.glob("*.parquet"):
            if path.name not in names:
                path.unlink()
        summary = {
            "format": FORMAT,
            "job": self.digest,
            "made_at": self.made_at.isoformat(),
            "model_version": self.settings[MODEL_VERSION],
            "series": sum(part["series"] for part in parts),
            "rows": sum(part["rows"] for part in parts),
            "parts": list(parts),
            "empty": list(empty),
        }
        write_file(self.directory / SUMMARY, _dump(summary))


def _refuse_others(directory: Path) -> None:
    """Refuse a directory with tables that are not forecasts of scoring, such as that of the data."""
    if (directory / JOB).is_file():
        return
    other = next(directory.glob("*.parquet"), None)
    if other is not None:
        raise InputError(f"{directory}: holds other tables, such as {other.name}. Choose an empty directory.")


def _dump(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"
