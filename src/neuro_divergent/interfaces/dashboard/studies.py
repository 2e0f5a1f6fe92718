"""Studies among the runs: what a list shows of them, and what their page shows."""

from __future__ import annotations

import os
import shlex
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.search.figures import StudyFigures
from neuro_divergent.search.progress import best_so_far, time_left
from neuro_divergent.search.reading.recorded_study import RecordedStudy
from neuro_divergent.search.retention import TRIALS
from neuro_divergent.search.storage.open import DATABASE, JOURNAL
from neuro_divergent.search.study import BEST, STUDY
from neuro_divergent.search.trial import Trial

_DAMAGES = (NeuroDivergentError, TypeError, ValueError, KeyError, AttributeError, IndexError, ArithmeticError)
_FILES = (STUDY, JOURNAL, DATABASE, TRIALS)
_MOST_FIGURES = 4  # studies whose figures are kept

Json = dict[str, Any]
Stamp = tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True)
class StudyEntry:
    """A study, as it was when it was last read; without ``study`` it cannot be read, and its row says why."""

    id: str
    path: Path
    row: Json
    stamp: Stamp
    study: RecordedStudy | None

    @property
    def is_held(self) -> bool:
        """Whether a process works on it."""
        return bool(self.row["state"] == "running")


def describe_study(key: str, path: Path, known: StudyEntry | None) -> StudyEntry:
    """Describe the study in a directory, unless its files are unchanged since it was ``known``."""
    stamp = _stamp(path)
    if known is not None and known.stamp == stamp and not known.is_held:
        return known
    is_same = known is not None and known.study is not None and known.stamp[0] == stamp[0]
    try:
        study = known.study if is_same and known is not None and known.study is not None else RecordedStudy.load(path)
        return StudyEntry(key, path, _row(key, study), stamp, study)
    except _DAMAGES as error:
        message = str(error) if isinstance(error, NeuroDivergentError) else f"{STUDY} is damaged."
        return StudyEntry(key, path, {**_EMPTY, "id": key, "name": path.name, "message": message}, stamp, None)


class StudyView:
    """What the page of a study shows, from one reading of its trials.

    Args:
        study: The study.
        id_of: Gives the id of a run directory.
    """

    def __init__(self, study: RecordedStudy, id_of: Callable[[Path], str]) -> None:
        self.study, self._id_of = study, id_of
        self.trials = study.trials

    def details(self) -> Json:
        """Return how is searched, and for what."""
        config, limits = self.study.config, self.study.limits
        best = self.study.directory / BEST
        return {
            "path": str(self.study.directory),
            "command": f"nd search resume {shlex.quote(str(self.study.directory))}",
            "note": self.study.note,
            "objectives": [goal.to_dict() for goal in config.objectives],
            "constraints": config.constraints,
            "method": config.method.name,
            "pruner": None if config.pruner is None else config.pruner.name,
            "splitter": None if config.splitter is None else config.splitter.to_dict(),
            "seeds": config.seeds,
            "seed": config.seed,
            "storage": config.storage,
            "limits": {key: value for key, value in limits.to_dict().items() if value is not None},
            "space": [
                {"setting": item.setting, "values": str(item.dimension), "only": list(item.only)}
                for item in self.study.space
            ],
            "best_run": self._id_of(best) if best.is_dir() and not best.is_symlink() else None,
            **self.progress(),
        }

    def progress(self) -> Json:
        """Return what changes with every trial, without the trials."""
        best, front = self.study.best, self.study.front
        course = best_so_far(self.trials, self.study.config)
        return {
            "counts": dict(Counter(trial.state for trial in self.trials)),
            "best_trial": None if best is None else best.number,
            "front": [trial.number for trial in front] if len(self.study.config.objectives) > 1 else [],
            "course": course,
        }

    @cached_property
    def rows(self) -> dict[int, Json]:
        """The trials by number, as plain values, with the ids of their runs."""
        runs = self.study.run_directories
        return {trial.number: self._trial(trial, runs.get(trial.number, ())) for trial in self.trials}

    def _trial(self, trial: Trial, runs: Sequence[Path]) -> Json:
        last = max(trial.reports.items(), default=None)
        return {
            "number": trial.number,
            "state": trial.state,
            "values": trial.values,
            "settings": trial.settings,
            "reason": trial.reason,
            "origin": trial.origin,
            "is_feasible": trial.is_feasible,
            "attempts": trial.attempts,
            "started": trial.started,
            "seconds": trial.seconds,
            "report": None if last is None else {"step": last[0], "value": last[1]},
            "runs": [{"id": self._id_of(run), "name": run.name} for run in runs],
        }


class FiguresOfStudies:
    """Cache of the figures of studies, valid while no trial ends."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Path, tuple[int, StudyFigures]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, study: RecordedStudy) -> StudyFigures:
        """Return the figures of a study as it is now."""
        done = sum(trial.is_done for trial in study.trials)
        with self._lock:
            known = self._kept.get(study.directory)
            if known is None or known[0] != done or known[1].study is not study:
                known = (done, StudyFigures(study))
            self._kept[study.directory] = known
            self._kept.move_to_end(study.directory)
            if len(self._kept) > _MOST_FIGURES:
                self._kept.popitem(last=False)
        return known[1]


def _row(key: str, study: RecordedStudy) -> Json:
    """Return what a list shows of a study, with the fields that it shows of a run."""
    trials, config, state = study.trials, study.config, study.state
    goal, best = config.objectives[0], study.best
    counted = [trial for trial in trials if trial.counts]
    running = sum(trial.state == "running" for trial in counted)
    models = next((item.dimension.grid() for item in study.space if item.setting == "model"), [])
    names = [str(item["name"] if isinstance(item, dict) else item) for item in models]
    return {
        **_EMPTY,
        "id": key,
        "name": study.directory.name,
        "state": state,
        "message": "",
        "step": len(counted) - running,
        "total_steps": study.limits.trials,
        "phase": None if not running else f"{running} running",
        "time": study.changed,
        "model": ", ".join(names or [str(config.run.model["name"])]),
        "data": config.run.data.path,
        "horizon": config.run.task.horizon,
        "metric": goal.name,
        "best": None if best is None else best.values.get(goal.name),
        "seconds_left": time_left(trials, study.limits, max(running, 1)) if state == "running" else None,
    }


_EMPTY: Json = {
    "kind": "study", "name": "", "state": "damaged", "message": "", "step": None, "total_steps": None, "phase": None,
    "quiet": None, "time": 0.0, "model": None, "data": None, "horizon": None, "metric": None, "best": None,
    "score": None, "seconds_left": None, "samples_per_second": None,
}  # fmt: skip


def _stamp(path: Path) -> Stamp:
    found = (_stat(f"{path}/{name}") for name in _FILES)
    return tuple(None if item is None else (item.st_mtime_ns, item.st_size) for item in found)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None
