"""Trials as their run directories show them, for a study whose database is elsewhere."""

from __future__ import annotations

import os
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.regular_file import read_file
from neuro_divergent.runs.directory import CONFIG
from neuro_divergent.runs.events import read_events
from neuro_divergent.runs.status import RunSummary, describe_run
from neuro_divergent.runs.values import number, read_object
from neuro_divergent.search.dimension import plain_value
from neuro_divergent.search.trial import State, Trial
from neuro_divergent.search.trial_part import RESULT

_NAME = re.compile(r"(\d{5,9})(?:-fold-\d+)?(?:-seed-\d+)?")
_LIMIT = 1 << 20
_FAILED = ("failed", "diverged", "damaged")


def find_runs(trials: Path) -> dict[int, list[Path]]:
    """Return the run directories of each trial by its number: one, or one for each fold and seed."""
    found: dict[int, list[Path]] = defaultdict(list)
    if trials.is_symlink():  # its target is not part of the study
        return {}
    try:
        with os.scandir(trials) as items:
            for item in items:
                match = _NAME.fullmatch(item.name)
                if match is not None and item.is_dir(follow_symlinks=False):
                    found[int(match[1])].append(Path(item.path))
    except OSError:
        return {}
    return {key: sorted(found[key]) for key in sorted(found)}


class RunDirectoryReader:
    """Reads trials from their runs: settings, state and what was scored. Reasons of failures are those of the runs.

    Args:
        trials: Directory of the runs.
        settings: Names of the settings that are searched.
        parts: Trainings of a trial; ``None`` if that is not known.
    """

    def __init__(self, trials: Path, settings: Iterable[str], parts: int | None) -> None:
        self._trials, self._settings, self._parts = trials, list(settings), parts
        self._done: dict[int, Trial] = {}

    def read(self, constraints: Mapping[str, float]) -> list[Trial]:
        """Return the trials that have a run here."""
        found = []
        for key, runs in find_runs(self._trials).items():
            trial = self._done.get(key) or self._read(key, runs, constraints)
            if trial.is_done:
                self._done[key] = trial
            found.append(trial)
        return found

    def _read(self, key: int, runs: list[Path], constraints: Mapping[str, float]) -> Trial:
        summaries = [describe_run(run) for run in runs]
        results = [values for run in runs if (values := _result(run))]
        state, reason = _state(summaries, len(results), self._parts)
        values = _mean(results) if state == "complete" else {}
        return Trial(
            number=key,
            state=state,
            settings=_settings(runs[0], self._settings),
            origin="",
            values=values,
            reason=reason,
            is_feasible=all(values.get(name, 0.0) <= limit for name, limit in constraints.items()),
            finished=None if state == "running" else max(item.time for item in summaries),
        )


def _state(runs: list[RunSummary], scored: int, parts: int | None) -> tuple[State, str]:
    if scored and scored >= (parts or len(runs)):
        return "complete", ""
    failed = next((run for run in runs if run.state in _FAILED), None)
    if failed is not None:
        return "failed", failed.message
    for run in runs:
        ends = read_events(run.path, "end") if run.state == "finished" else []
        if ends and str(ends[-1].get("reason", "")).startswith("pruned"):
            return "pruned", str(ends[-1]["reason"])
    return "running", ""


def _result(run: Path) -> dict[str, float]:
    found = {str(key): number(value) for key, value in (read_object(run / RESULT, _LIMIT) or {}).items()}
    return {key: value for key, value in found.items() if value is not None}


def _mean(results: list[dict[str, float]]) -> dict[str, float]:
    """Return means over the trainings of a trial; seconds are added up."""
    names = [name for name in results[0] if all(name in item for item in results)]
    total = {name: sum(item[name] for item in results) for name in names}
    return {name: value if name == "seconds" else value / len(results) for name, value in total.items()}


def _settings(run: Path, names: list[str]) -> dict[str, Any]:
    try:
        config: Any = tomllib.loads(read_file(run / CONFIG, limit=_LIMIT).decode("utf-8"))
    except (NeuroDivergentError, ValueError, RecursionError):
        return {}
    found = {}
    for name in names:
        value = config
        for key in name.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            found[name] = value["name"] if isinstance(value, dict) and "name" in value else plain_value(value)
    return found
