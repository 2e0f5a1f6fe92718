"""Index of the runs, studies, federations, pipelines and others, by ids that do not reveal paths."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from neuro_divergent.core.storage.manifest import MANIFEST
from neuro_divergent.federated.reading import is_federation
from neuro_divergent.interfaces.dashboard.continuous import ContinuousEntry, describe_continuous, is_continuous
from neuro_divergent.interfaces.dashboard.federations import FederationEntry, describe_federation
from neuro_divergent.interfaces.dashboard.pipelines import PipelineEntry, describe_pipeline
from neuro_divergent.interfaces.dashboard.registries import RegistryEntry, describe_registry, is_registry
from neuro_divergent.interfaces.dashboard.speed import read_speed
from neuro_divergent.interfaces.dashboard.studies import StudyEntry, describe_study
from neuro_divergent.lifecycle.pipeline.reading import is_pipeline
from neuro_divergent.runs.directory import CHECKPOINTS, CONFIG, HEARTBEAT, LOCK, MODEL, RUN, STATUS
from neuro_divergent.runs.status import RunSummary, describe_run, is_run
from neuro_divergent.search.reading.recorded_study import is_study
from neuro_divergent.search.reading.run_directories import find_runs
from neuro_divergent.search.retention import TRIALS
from neuro_divergent.search.study import BEST

# Files that the description of a run without a lock depends on: while none of them changes, it is reused.
_FILES = (
    "", STATUS, HEARTBEAT, CONFIG, RUN, LOCK, "scores.json", CHECKPOINTS, f"{CHECKPOINTS}/best.json",
    f"{CHECKPOINTS}/set-aside", MODEL, f"{MODEL}/{MANIFEST}",
)  # fmt: skip
_SHOWN = (
    "name", "state", "message", "step", "total_steps", "phase", "quiet", "time", "model", "data", "horizon", "metric",
    "best", "score",
)  # fmt: skip
_SECONDS_BETWEEN_SCANS = 1.0
_SECONDS_BETWEEN_LOOKS = 0.4
_MOST_INNER = 10_000  # runs inside studies and others whose descriptions are kept

Stamp = tuple[tuple[int, int] | None, ...]
Row = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """A run, as it was when it was last read: by the monotonic clock, and by the times and sizes of its files.

    Its id has 16 hexadecimal digits, and its row is what a list shows.
    """

    id: str
    summary: RunSummary
    row: Row
    stamp: Stamp
    read_at: float

    @property
    def is_held(self) -> bool:
        """Whether a process works on it."""
        return self.summary.quiet is not None

    @property
    def accepts_requests(self) -> bool:
        """Whether it trains, so that control requests reach it."""
        return self.is_held and self.summary.phase != "finishing"


AnyOther = StudyEntry | FederationEntry | PipelineEntry | ContinuousEntry | RegistryEntry
AnyEntry = Entry | AnyOther
Other = TypeVar("Other", StudyEntry, FederationEntry, PipelineEntry, ContinuousEntry, RegistryEntry)

# How each kind is recognized and described. The first that fits counts: some have files that a run has, too.
_KINDS: dict[type[AnyOther], tuple[Callable[[Path], bool], Callable[[str, Path, Any], AnyOther]]] = {
    FederationEntry: (is_federation, describe_federation),
    StudyEntry: (is_study, describe_study),
    PipelineEntry: (is_pipeline, describe_pipeline),
    ContinuousEntry: (is_continuous, describe_continuous),
    RegistryEntry: (is_registry, describe_registry),
}


class RunIndex:
    """Index of the runs and of all else in a directory; reads it again on access, at most once a second.

    The directory may be one of them, too. Runs inside something else, such as the trials of a study, are not listed,
    and are found by their ids. Links are not followed. May be used by several threads.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._entries: dict[str, AnyEntry] = {}
        self._inner: dict[str, Entry] = {}
        self._scanned = float("-inf")
        self._lock = threading.Lock()

    def entries(self) -> dict[str, AnyEntry]:
        """Return everything that is listed by id."""
        with self._lock:
            if time.monotonic() - self._scanned >= _SECONDS_BETWEEN_SCANS:
                self._entries = {key: self._describe_any(key, path) for key, path in self._places()}
                self._scanned = time.monotonic()
            return dict(self._entries)

    def find(self, key: str) -> Entry | None:
        """Return the run of an id, read again unless that was a moment ago; ``None`` if there is none."""
        entry = self._entries.get(key) or self.entries().get(key) or self._inner.get(key) or self._find_inner(key)
        found = None if not isinstance(entry, Entry) else _stat(entry.summary.path)
        if not isinstance(entry, Entry) or found is None or not stat.S_ISDIR(found.st_mode):
            return None
        if time.monotonic() - entry.read_at < _SECONDS_BETWEEN_LOOKS:
            return entry
        with self._lock:
            entry = self._describe(key, entry.summary.path)
            place: dict[str, Any] = self._entries if key in self._entries else self._inner
            place[key] = entry
        return entry

    def find_other(self, kind: type[Other], key: str) -> Other | None:
        """Return the study, federation, ... of an id, as it is now; ``None`` if there is none."""
        entry = self._entries.get(key) or self.entries().get(key)
        is_here, describe = _KINDS[kind]
        if not isinstance(entry, kind) or not is_here(entry.path):
            return None
        with self._lock:
            known = self._entries.get(key)
            entry = cast(Other, describe(key, entry.path, known if isinstance(known, kind) else entry))
            if key in self._entries:
                self._entries[key] = entry
        return entry

    def _find_inner(self, key: str) -> Entry | None:
        """Look for a run inside something else, such as that of a trial."""
        for outer in self.entries().values():
            path = next((run for run in _runs_inside(outer) if id_of(run) == key), None)
            if path is not None:
                with self._lock:
                    if len(self._inner) >= _MOST_INNER:
                        self._inner.clear()
                    self._inner[key] = entry = self._describe(key, path)
                return entry
        return None

    def _places(self) -> list[tuple[str, Path]]:
        paths = [self.root] if _is_listed(self.root) else []
        try:
            with os.scandir(self.root) as found:
                paths += [
                    Path(item.path)
                    for item in found
                    if not paths and not item.name.startswith(".") and item.is_dir(follow_symlinks=False)
                ]
        except OSError:
            pass
        return [(id_of(path), path) for path in paths if path == self.root or _is_listed(path)]

    def _describe_any(self, key: str, path: Path) -> AnyEntry:
        known = self._entries.get(key)
        for kind, (is_here, describe) in _KINDS.items():
            if is_here(path):
                return cast(AnyEntry, describe(key, path, known if isinstance(known, kind) else None))
        return self._describe(key, path)

    def _describe(self, key: str, path: Path) -> Entry:
        """Describe a run, unless its files are unchanged."""
        stamp = _stamp(path)
        known = self._entries.get(key) or self._inner.get(key)
        now = time.monotonic()
        if isinstance(known, Entry) and known.stamp == stamp and not known.is_held:
            return Entry(key, known.summary, known.row, stamp, now)
        summary = describe_run(path)
        if (path / CHECKPOINTS).is_symlink():  # the target of a link is not part of the run
            summary = replace(summary, checkpoints=(), quarantined=(), metric=None, best=None)
        return Entry(key, summary, row_of(key, summary), stamp, now)


def id_of(path: Path) -> str:
    """Return the id of the run in a directory."""
    return hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:16]


def row_of(key: str, run: RunSummary) -> Row:
    """Return what a list shows of a run."""
    speed = None if run.quiet is None else read_speed(run.path)
    return {
        "kind": "run",
        "id": key,
        **{name: getattr(run, name) for name in _SHOWN},
        "step": run.step if speed is None or speed.step is None else max(speed.step, run.step or 0),
        "seconds_left": None if speed is None else speed.seconds_left(run.step, run.total_steps),
        "samples_per_second": None if speed is None else speed.samples_per_second,
    }


def counts_of(rows: Sequence[Row]) -> dict[str, int]:
    """Return how many runs there are in each state."""
    return dict(Counter(row["state"] for row in rows))


def _is_listed(path: Path) -> bool:
    return any(is_here(path) for is_here, _ in _KINDS.values()) or is_run(path)


def _runs_inside(entry: AnyEntry) -> list[Path]:
    """Return the directories of runs that are inside something else."""
    if isinstance(entry, StudyEntry):
        trials = [run for found in find_runs(entry.path / TRIALS).values() for run in found]
        return [*trials, entry.path / BEST]
    return entry.runs() if isinstance(entry, (PipelineEntry, ContinuousEntry)) else []


def _stamp(path: Path) -> Stamp:
    found = (_stat(f"{path}/{name}" if name else str(path)) for name in _FILES)
    return tuple(None if item is None else (item.st_mtime_ns, item.st_size) for item in found)


def _stat(path: str | Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None
