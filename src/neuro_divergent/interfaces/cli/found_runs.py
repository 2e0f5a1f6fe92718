"""Runs and tables in the current directory, found by the names of files alone, without loading what reads them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

PLACES = (Path("runs"), Path("studies"))
DEMO = Path("demo")
TABLES = (
    ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq", ".xlsx", ".xlsm", ".jsonl", ".jsonl.gz", ".ndjson",
    ".arrow", ".feather", ".ipc",
)  # fmt: skip
_MARKS = ("run.json", "status.json", "config.toml")  # as in runs.directory, which takes longer to import
_FEDERATION = "federation.json"
_MODEL = "model"


def looks_like_run(path: Path) -> bool:
    """Whether a directory has the files of a run."""
    return any((path / mark).is_file() for mark in _MARKS) and not (path / _FEDERATION).exists()


def runs_here() -> list[Path]:
    """Return the runs in ``runs/`` and the demo, the one that began or ended last first."""
    found = [path for path in (*_inside(PLACES[0]), DEMO) if looks_like_run(path)]
    return sorted(found, key=_changed, reverse=True)


def latest_run() -> str | None:
    """Return the run that began or ended last, as a shell needs it written; ``None`` if there is none here."""
    found = runs_here()
    return shlex.quote(str(found[0])) if found else None


def latest_model() -> str | None:
    """Return the latest of the runs that have a model, as a shell needs it written; ``None`` if there is none here."""
    found = [path for path in runs_here() if (path / _MODEL).is_dir()]
    return shlex.quote(str(found[0])) if found else None


def tables_here(directory: Path = Path()) -> list[Path]:
    """Return the tables in a directory, sorted by name."""
    return sorted(path for path in _inside(directory) if path.name.lower().endswith(TABLES) and path.is_file())


def _inside(directory: Path) -> list[Path]:
    try:
        with os.scandir(directory) as found:
            return [directory / item.name for item in found if not item.name.startswith(".")]
    except OSError:
        return []


def _changed(path: Path) -> float:
    """Return when the latest of the files of a run was written."""
    times = []
    for mark in _MARKS:
        try:
            times.append((path / mark).stat().st_mtime)
        except OSError:
            continue
    return max(times, default=0.0)
