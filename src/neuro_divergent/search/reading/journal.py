"""Trials of a journal file, read without its lock while workers append to it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from neuro_divergent.runs.events import EventFile
from neuro_divergent.runs.values import count, number
from neuro_divergent.search.reading.trial_record import TrialRecord, timestamp_of

# Operations of Optuna's journal; those of parameters say nothing that the point of a trial does not.
_CREATE_STUDY, _DELETE_STUDY, _CREATE_TRIAL, _SET_STATE, _SET_REPORT, _SET_ATTRIBUTE = 0, 1, 4, 6, 7, 8
_STATES = ("RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING")
_PARAMETER = b'{"op_code":5,'


class JournalReader:
    """Reads the trials of one study from a journal, incrementally.

    Args:
        path: The file.
        study: Name of the study in it.
    """

    def __init__(self, path: Path, study: str) -> None:
        self._path, self._name = path, study
        self._reset()

    def _reset(self) -> None:
        self._file = EventFile(self._path)
        self._inode = 0
        self._studies: dict[int, str] = {}
        self._next_study = 0
        self._trials: dict[int, TrialRecord | None] = {}  # by id; ``None`` for one of another study
        self._records: list[TrialRecord] = []

    def read(self) -> list[TrialRecord]:
        """Return all trials as they are now, in the order in which they were begun."""
        try:
            found = os.lstat(self._path)
        except OSError:
            return self._records
        if found.st_size < self._file.offset or (self._inode and found.st_ino != self._inode):  # it was replaced
            self._reset()
        self._inode = found.st_ino
        for block in self._file.blocks():
            for entry in _entries(block.split(b"\n")):
                self._apply(entry)
        return self._records

    def _apply(self, entry: dict[str, Any]) -> None:
        code = entry.get("op_code")
        if code == _CREATE_STUDY and str(entry.get("study_name")) not in self._studies.values():
            self._studies[self._next_study] = str(entry.get("study_name"))
            self._next_study += 1
        elif code == _DELETE_STUDY:
            if self._studies.pop(count(entry.get("study_id")) or 0, "") == self._name:
                self._records.clear()
        elif code == _CREATE_TRIAL:
            self._begin(entry)
        elif code in (_SET_STATE, _SET_REPORT, _SET_ATTRIBUTE):
            record = self._trials.get(count(entry.get("trial_id")) or 0)
            if record is not None and not record.is_finished:
                _change(record, entry)

    def _begin(self, entry: dict[str, Any]) -> None:
        study = self._studies.get(count(entry.get("study_id")) or 0)
        if study is None:
            return
        record = None
        if study == self._name:
            record = TrialRecord(len(self._records), started=timestamp_of(entry.get("datetime_start")))
            self._records.append(record)
        self._trials[len(self._trials)] = record


def _change(record: TrialRecord, entry: dict[str, Any]) -> None:
    if entry["op_code"] == _SET_STATE:
        state = count(entry.get("state"))
        record.state = _STATES[state] if state is not None and state < len(_STATES) else record.state
        if record.is_finished:
            record.finished = timestamp_of(entry.get("datetime_complete"))
        elif entry.get("datetime_start") is not None:
            record.started = timestamp_of(entry["datetime_start"])
    elif entry["op_code"] == _SET_REPORT:
        step, value = count(entry.get("step")), number(entry.get("intermediate_value"))
        if step is not None and value is not None:
            record.reports[step] = value
    elif isinstance(entry.get("user_attr"), dict):
        record.attributes.update(entry["user_attr"])


def _entries(lines: Iterable[bytes]) -> Iterable[dict[str, Any]]:
    for line in lines:
        if not line or line.startswith(_PARAMETER):
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            yield entry
