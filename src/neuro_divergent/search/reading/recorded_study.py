"""A study as its directory shows it, also while others work on it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, NoReturn

from neuro_divergent.core.errors import InputError, StorageError
from neuro_divergent.core.storage.lock import holder
from neuro_divergent.runs.directory import LOCK
from neuro_divergent.search.reading.journal import JournalReader
from neuro_divergent.search.reading.run_directories import RunDirectoryReader, find_runs
from neuro_divergent.search.reading.sqlite import SQLiteReader
from neuro_divergent.search.retention import TRIALS
from neuro_divergent.search.storage.claims import LOCKS
from neuro_divergent.search.storage.open import DATABASE, JOURNAL
from neuro_divergent.search.storage.trial_store import num_parts
from neuro_divergent.search.study import STUDY, Study
from neuro_divergent.search.trial import Trial

StudyState = Literal["running", "finished", "interrupted"]

_SECONDS_BETWEEN_TRIALS = 3.0  # after the last change nobody need hold a trial, and the study still counts as running


class RecordedStudy(Study):
    """A study that is only read: nothing is written, no lock is taken and no database elsewhere is connected to.

    Trials in ``journal.log`` or ``study.db`` of the directory are read from there; those in another database are shown
    as their run directories in ``trials/`` show them, and ``note`` says so. May be used by several threads.
    """

    @property
    def trials(self) -> list[Trial]:
        return self._read()[0]

    @property
    def note(self) -> str:
        """Why trials may be missing; empty if all can be read."""
        return self._read()[1]

    @property
    def state(self) -> StudyState:
        """``running`` while a process works on a trial, ``finished`` if a limit was reached, else ``interrupted``."""
        trials = self.trials
        is_open = any(trial.state == "running" for trial in trials)
        if self._is_held(trials):
            return "running"
        is_over = self.limits.reason(trials, self.config.objectives) is not None or self._is_exhausted(trials)
        if not is_open and is_over:
            return "finished"
        if time.time() - self.changed < _SECONDS_BETWEEN_TRIALS:
            return "running"
        return "finished" if not is_open and trials and self.limits.seconds is not None else "interrupted"

    @property
    def changed(self) -> float:
        """When something was last recorded, in seconds since 1970."""
        times = [_time_of(self.directory / name) for name in (STUDY, JOURNAL, DATABASE, TRIALS)]
        return max((found for found in times if found is not None), default=0.0)

    @property
    def run_directories(self) -> dict[int, list[Path]]:
        """The run directories of all trials, by number."""
        return find_runs(self.directory / TRIALS)

    @cached_property
    def store(self) -> NoReturn:
        """Not available: a study that is only read has no storage to write to."""
        raise InputError(f"{self.directory}: is only read here; open it with Study.load to work on it.")

    @cached_property
    def _lock(self) -> threading.Lock:
        return threading.Lock()

    @cached_property
    def _done(self) -> dict[int, Trial]:
        return {}  # those that have ended do not change

    @cached_property
    def _reader(self) -> JournalReader | SQLiteReader | None:
        storage = self.config.storage
        if storage == "journal":
            return JournalReader(self.directory / JOURNAL, self.name)
        if storage.startswith("sqlite") and not storage.partition(":///")[2]:
            return SQLiteReader(self.directory / DATABASE, self.name)
        return None

    @cached_property
    def _run_reader(self) -> RunDirectoryReader:
        settings = dict.fromkeys(item.setting for item in self.space)
        return RunDirectoryReader(self.directory / TRIALS, settings, num_parts(self.config))

    def _read(self) -> tuple[list[Trial], str]:
        with self._lock:
            if self._reader is not None:
                try:
                    return self._from_records(self._reader), ""
                except StorageError as error:
                    note = f"The database of the trials cannot be read: {error}"
            else:
                note = f"The trials are recorded in {self.config.storage}, which is not opened here."
            what = "What is shown comes from the run directories in trials/: trials of other machines, and trials that "
            what += "failed before they trained, are missing."
            return self._run_reader.read(self.config.constraints), f"{note} {what}"

    def _from_records(self, reader: JournalReader | SQLiteReader) -> list[Trial]:
        trials = []
        for record in reader.read():
            trial = self._done.get(record.number) or record.to_trial(self.config.constraints)
            if record.is_finished:
                self._done[record.number] = trial
            trials.append(trial)
        return trials

    def _is_held(self, trials: Sequence[Trial]) -> bool:
        """Whether a process proposes a trial or runs one."""
        locks = self.directory / LOCKS
        running = [trial for trial in trials if trial.state == "running"]
        if any(holder(path) for path in (locks / "study", *(locks / trial.name for trial in running))):
            return True
        runs = self.run_directories if running else {}
        return any(holder(run / LOCK) for trial in running for run in runs.get(trial.number, []))

    def _is_exhausted(self, trials: Sequence[Trial]) -> bool:
        size = self.config.method.size(self.space)
        return size is not None and sum(trial.counts for trial in trials) >= size


def is_study(directory: Path) -> bool:
    """Whether a directory holds a study."""
    return _time_of(directory / STUDY) is not None


def study_of(run: Path) -> Path | None:
    """Return the study that a run belongs to, as one of its trials or its best; ``None`` if there is none."""
    parent = run.absolute().parent
    place = parent.parent if parent.name == TRIALS else parent
    return place if is_study(place) else None


def _time_of(path: Path) -> float | None:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return None
