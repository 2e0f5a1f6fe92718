"""Index of the runs, studies and federations, by ids that do not reveal paths."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from neuro_divergent.core.storage.manifest import MANIFEST
from neuro_divergent.federated.reading import is_federation
from neuro_divergent.interfaces.dashboard.federations import FederationEntry, describe_federation
from neuro_divergent.interfaces.dashboard.speed import read_speed
from neuro_divergent.interfaces.dashboard.studies import StudyEntry, describe_study
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
_MOST_TRIALS = 10_000  # whose descriptions are kept

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


AnyEntry = Entry | StudyEntry | FederationEntry


class RunIndex:
    """Index of the runs, studies and federations in a directory; reads it again on access, at most once a second.

    The directory may be one of them, too. The trials of a study are not listed, and are found by their ids.
    Links are not followed. May be used by several threads.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._entries: dict[str, AnyEntry] = {}
        self._trials: dict[str, Entry] = {}
        self._scanned = float("-inf")
        self._lock = threading.Lock()

    def entries(self) -> dict[str, AnyEntry]:
        """Return all runs, studies and federations by id."""
        with self._lock:
            if time.monotonic() - self._scanned >= _SECONDS_BETWEEN_SCANS:
                self._entries = {key: self._describe_any(key, path) for key, path in self._places()}
                self._scanned = time.monotonic()
            return dict(self._entries)

    def find(self, key: str) -> Entry | None:
        """Return the run of an id, read again unless that was a moment ago; ``None`` if there is none."""
        entry = self._entries.get(key) or self.entries().get(key) or self._trials.get(key) or self._find_trial(key)
        found = None if not isinstance(entry, Entry) else _stat(entry.summary.path)
        if not isinstance(entry, Entry) or found is None or not stat.S_ISDIR(found.st_mode):
            return None
        if time.monotonic() - entry.read_at < _SECONDS_BETWEEN_LOOKS:
            return entry
        with self._lock:
            entry = self._describe(key, entry.summary.path)
            place: dict[str, Any] = self._entries if key in self._entries else self._trials
            place[key] = entry
        return entry

    def find_study(self, key: str) -> StudyEntry | None:
        """Return the study of an id, as it is now; ``None`` if there is none."""
        entry = self._entries.get(key) or self.entries().get(key)
        if not isinstance(entry, StudyEntry) or not is_study(entry.path):
            return None
        with self._lock:
            entry = describe_study(key, entry.path, entry)
            if key in self._entries:
                self._entries[key] = entry
        return entry

    def find_federation(self, key: str) -> FederationEntry | None:
        """Return the federation of an id, as it is now; ``None`` if there is none."""
        entry = self._entries.get(key) or self.entries().get(key)
        if not isinstance(entry, FederationEntry) or not is_federation(entry.path):
            return None
        with self._lock:
            known = self._entries.get(key)
            entry = describe_federation(key, entry.path, known if isinstance(known, FederationEntry) else entry)
            if key in self._entries:
                self._entries[key] = entry
        return entry

    def _find_trial(self, key: str) -> Entry | None:
        """Look for the run of a trial, or of the best settings of a study."""
        for study in self.entries().values():
            if not isinstance(study, StudyEntry):
                continue
            runs = [run for found in find_runs(study.path / TRIALS).values() for run in found]
            path = next((run for run in (*runs, study.path / BEST) if id_of(run) == key), None)
            if path is not None:
                with self._lock:
                    if len(self._trials) >= _MOST_TRIALS:
                        self._trials.clear()
                    self._trials[key] = entry = self._describe(key, path)
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
        if is_federation(path):  # which has files that a run has, too
            known = self._entries.get(key)
            return describe_federation(key, path, known if isinstance(known, FederationEntry) else None)
        if is_study(path):
            known = self._entries.get(key)
            return describe_study(key, path, known if isinstance(known, StudyEntry) else None)
        return self._describe(key, path)

    def _describe(self, key: str, path: Path) -> Entry:
        """Describe a run, unless its files are unchanged."""
        stamp = _stamp(path)
        known = self._entries.get(key) or self._trials.get(key)
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
    return is_study(path) or is_federation(path) or is_run(path)


def _stamp(path: Path) -> Stamp:
    found = (_stat(f"{path}/{name}" if name else str(path)) for name in _FILES)
    return tuple(None if item is None else (item.st_mtime_ns, item.st_size) for item in found)


def _stat(path: str | Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None
