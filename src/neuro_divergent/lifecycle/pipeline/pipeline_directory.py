"""The directory of a pipeline: who works on it, what it consists of, and what became of each stage."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuro_divergent import __version__
from neuro_divergent.core.errors import InputError, NeuroDivergentError, StorageError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import clear_leftovers, write_file
from neuro_divergent.core.storage.disk import storage_error
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.core.storage.strict_json import finite_or_none
from neuro_divergent.lifecycle.pipeline.graph import Graph
from neuro_divergent.lifecycle.pipeline.result_cache import ResultCache
from neuro_divergent.runs.values import read_object, rows

PIPELINE, STAGES, EVENTS, FILES, LOCK, CACHE, REPORT = (
    "pipeline.json", "stages.json", "events.jsonl", "files.json", "lock", "cache", "report.html",
)  # fmt: skip
FORMAT = 1
LIMIT = 64 * 1024**2


@dataclass(frozen=True)
class PipelineDirectory:
    """The directory of one pipeline.

    ``pipeline.json`` has the stages and their connections, ``stages.json`` what became of each, ``events.jsonl`` a line
    for every event, ``files.json`` digests of the files that were read, ``cache/`` the results by key and
    ``report.html`` a page for people. While a process works on it, it holds ``lock``.
    """

    path: Path

    @contextmanager
    def opened(self, *, wait: float = 0.0) -> Iterator[None]:
        """Make the directory and hold its lock.

        Args:
            wait: Seconds to wait for another process that holds it.

        Raises:
            InputError: If another process works on it, or something else is there.
            StorageError: If the disk refuses.
        """
        try:
            if self.path.exists() and not self.path.is_dir():
                raise InputError(f"{self.path}: is a file; choose another directory for the pipeline.")
            strange = [] if not self.path.exists() else [item.name for item in self.path.iterdir()]
            is_ours = PIPELINE in strange or all(name in (LOCK, FILES) or name.startswith(".") for name in strange)
            if not is_ours:
                raise InputError(f"{self.path}: holds something else; choose another directory for the pipeline.")
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise storage_error(self.path, "written", error) from error
        with RunLock(self.path / LOCK, wait=wait):
            clear_leftovers(self.path)
            yield

    def write_definition(self, name: str, graph: Graph, settings: Mapping[str, Any]) -> None:
        """Write which stages there are and how they are connected."""
        document = {
            "format": FORMAT,
            "version": __version__,
            "name": name,
            "stages": [graph.steps[stage].to_dict() for stage in graph.order],
            "edges": [list(edge) for edge in graph.edges],
            "settings": dict(settings),
        }
        write_file(self.path / PIPELINE, strict_json.dumps(document, indent=1))

    def records(self) -> dict[str, dict[str, Any]]:
        """Return what became of each stage the last time it was looked at."""
        document = read_object(self.path / STAGES, LIMIT) or {}
        return {str(row.get("name")): row for row in rows(document.get("stages"))}

    def clean(self) -> list[str]:
        """Remove all results that are not those of the last run, and return their keys.

        Raises:
            InputError: If another process works on the directory.
        """
        with self.opened():
            used = {str(record.get("key")) for record in self.records().values()}
            return ResultCache(self.path / CACHE).clean(used)


class Journal:
    """Writes what happens to the stages of a pipeline; whoever reads it sees it live.

    Args:
        directory: The directory, whose lock is held.
        records: What is known of each stage, in their order; changed in place.
    """

    def __init__(self, directory: PipelineDirectory, records: dict[str, dict[str, Any]]) -> None:
        self.records = records
        self._directory = directory
        self._begun = time.time()
        self._finished = 0
        self._end_torn_line()

    def write(self, state: str, message: str = "") -> None:
        """Write the state of the pipeline and of all stages."""
        document = {
            "format": FORMAT,
            "state": state,
            "message": message[:1000],
            "begun": self._begun,
            "time": time.time(),
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "stages": list(self.records.values()),
        }
        write_file(self._directory.path / STAGES, strict_json.dumps(finite_or_none(document), indent=1))

    def event(self, kind: str, **values: Any) -> dict[str, Any]:
        """Append an event and return it; ``step`` counts the stages that are finished."""
        self._finished += kind in ("stage_end", "stage_cached", "stage_failed", "stage_skipped")
        event = {"event": kind, "time": time.time(), "step": self._finished, **finite_or_none(values)}
        line = json.dumps(event, ensure_ascii=False, allow_nan=False, default=str) + "\n"
        with suppress(OSError), (self._directory.path / EVENTS).open("ab") as file:
            # A full disk is told by what must be written; the log is no such thing.
            file.write(line.encode("utf-8", "replace"))
        return event

    def _end_torn_line(self) -> None:
        """End a line that a killed process has left in the middle."""
        path = self._directory.path / EVENTS
        with suppress(OSError), path.open("r+b") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")


def write_quietly(journal: Journal, state: str, message: str) -> None:
    """Write the state at the end of something that failed already."""
    with suppress(NeuroDivergentError, StorageError):
        journal.write(state, message)
