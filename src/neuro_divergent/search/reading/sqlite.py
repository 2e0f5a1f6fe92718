"""Trials of an SQLite database, opened for reading only."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from neuro_divergent.core.errors import StorageError
from neuro_divergent.search.reading.trial_record import TrialRecord, timestamp_of

_SECONDS_TO_WAIT = 2.0  # for a transaction of a worker


class SQLiteReader:
    """Reads the trials of one study from a database, again only when the file has changed.

    Args:
        path: The file.
        study: Name of the study in it.
    """

    def __init__(self, path: Path, study: str) -> None:
        self._path, self._name = path, study
        self._stamp: tuple[int, int] | None = None
        self._records: list[TrialRecord] = []

    def read(self) -> list[TrialRecord]:
        """Return all trials as they are now, in the order in which they were begun.

        Raises:
            StorageError: If the file is missing, a link, or no database of Optuna.
        """
        try:
            found = os.lstat(self._path)
        except OSError as error:
            raise StorageError(f"{self._path}: cannot be read: {error.strerror}.") from error
        if not stat.S_ISREG(found.st_mode):
            raise StorageError(f"{self._path}: is not a regular file.")
        stamp = (found.st_mtime_ns, found.st_size)
        if stamp != self._stamp:
            try:
                self._records = self._query()
            except sqlite3.Error as error:
                raise StorageError(f"{self._path}: cannot be read: {error}.") from error
            self._stamp = stamp
        return self._records

    def _query(self) -> list[TrialRecord]:
        address = f"file:{quote(str(self._path.absolute()))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=_SECONDS_TO_WAIT)) as database:
            own = "trial_id IN (SELECT trial_id FROM trials JOIN studies USING (study_id) WHERE study_name = ?)"
            rows = database.execute(
                f"SELECT trial_id, number, state, datetime_start, datetime_complete FROM trials WHERE {own} "
                "ORDER BY number",
                (self._name,),
            )
            records = {
                row[0]: TrialRecord(row[1], str(row[2]), started=_time(row[3]), finished=_time(row[4])) for row in rows
            }
            attributes = f"SELECT trial_id, key, value_json FROM trial_user_attributes WHERE {own}"
            for trial, key, value in database.execute(attributes, (self._name,)):
                if trial in records:
                    records[trial].attributes[str(key)] = _json(value)
            reports = f"SELECT trial_id, step, intermediate_value FROM trial_intermediate_values WHERE {own}"
            for trial, step, value in database.execute(reports, (self._name,)):
                if trial in records and isinstance(step, int) and isinstance(value, (int, float)):
                    records[trial].reports[step] = float(value)
        return list(records.values())


def _time(value: object) -> float | None:
    return None if value is None else timestamp_of(value)


def _json(text: object) -> Any:
    try:
        return json.loads(str(text))
    except (ValueError, RecursionError):
        return None
