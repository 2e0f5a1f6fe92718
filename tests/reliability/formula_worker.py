"""Workers of studies whose trials are formulas, killed at a call of a function that was drawn.

``multiprocessing`` forks them from a process that has everything imported, so that a kill costs milliseconds.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
import sys
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Literal

from neuro_divergent.search.dependency import load_optuna
from neuro_divergent.search.limits import Limits
from neuro_divergent.search.trial import Trial
from neuro_divergent.search.worker import Worker
from tests.unit.search.function_study import FunctionStudy

Place = Literal["call", "storage", "append"]
_STORAGE = (
    "/optuna/storages/",
    "/search/storage/",
    "/core/storage/",
    "/sqlalchemy/",
    "/alembic/",
    "/psycopg/",
    "/sqlite3/",
)
_IMPORTED = (
    "cmaes",
    "psycopg",
    "sqlalchemy",
    "alembic",
    "scipy.stats",
    *(["torch"] if os.environ.get("ND_SOAK") else []),
)
_METHODS: dict[str, dict[str, Any]] = {
    "nsga2": {"population": 4},
    "nsga3": {"population": 4},
    "tpe": {"startup": 3},
    "gp": {"startup": 4, "noise": False},
}

load_optuna()


@dataclass(frozen=True)
class Aim:
    """A moment to be killed at.

    Attributes:
        place: What is counted: calls and returns of any function, those in the code of storages, locks and databases,
            or appends to the journal, which are then cut off in the middle of a line.
        count: Which of them.
        after: Trials that this process finishes before it begins to count.
    """

    place: Place
    count: int
    after: int = 0


@dataclass(frozen=True)
class FormulaJob:
    """Work on a study until its trials are complete, or until a moment.

    Attributes:
        directory: Directory of the study.
        storage: Storage of the study.
        method: Name of the method.
        trials: Trials of the study.
        aim: When to be killed, or ``None`` for never; then the moments are counted into ``counts.json``.
    """

    directory: Path
    storage: str
    method: str
    trials: int
    aim: Aim | None = None

    def open(self) -> FunctionStudy:
        """Open the study."""
        method = {"name": self.method, **_METHODS.get(self.method, {})}
        return FunctionStudy(self.directory, method=method, storage=self.storage)

    def start(self) -> BaseProcess:
        """Start a process that does it."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__, *_IMPORTED])
        process = context.Process(target=work, args=(self,))
        process.start()
        return process

    def begun(self) -> list[tuple[int, int]]:
        """Return process and number of all trials that were begun, in that order."""
        path = self.directory / "begun"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(pid), int(number)) for pid, number in map(str.split, lines)]


@dataclass
class Watch:
    """Counts what this process does, and kills it at a moment; a profile function of Python."""

    job: FormulaJob
    counts: dict[Place, int] = field(default_factory=lambda: {"call": 0, "storage": 0, "append": 0})
    finished: int = 0
    _known: dict[CodeType, bool] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        aim, code = self.job.aim, frame.f_code
        if aim is not None and self.finished < aim.after:
            return
        if code not in self._known:
            self._known[code] = any(part in code.co_filename for part in _STORAGE)
        self.counts["call"] += 1
        self.counts["storage"] += self._known[code]
        self.counts["append"] += event == "call" and code.co_name == "append_logs"
        if aim is not None and self.counts[aim.place] == aim.count:
            if aim.place == "append":
                self._cut_next_line(aim.count)
            else:
                os.kill(os.getpid(), signal.SIGKILL)

    def _cut_next_line(self, count: int) -> None:
        """Have the kernel end this process in the middle of the next line that it writes."""
        size = (self.job.directory / "journal.log").stat().st_size
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1 + 7 * count % 40,) * 2)


def work(job: FormulaJob) -> None:
    """Run trials in this process."""
    watch = Watch(job)
    opening: dict[str, int] = {}
    sys.setprofile(watch)
    study = job.open()

    def run(trial: Trial) -> None:
        opening.update(opening or watch.counts)
        log = os.open(job.directory / "begun", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(log, f"{os.getpid()} {trial.number}\n".encode())
        os.close(log)
        study.evaluate(trial)
        watch.finished += 1

    worker = Worker(study.config, study.store, study.start, run=run, check=lambda point: point)
    worker.work(Limits(trials=job.trials))
    study.store.close()
    sys.setprofile(None)
    if job.aim is None:
        text = json.dumps({"opening": opening, "all": watch.counts})
        (job.directory / "counts.json").write_text(text)
