"""Runs the tasks of a search, in worker processes side by side or one after another in this one."""

from __future__ import annotations

import functools
import multiprocessing
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.parallel import WorkerPool
from neuro_divergent.core.threads import using_threads
from neuro_divergent.data.panel import Panel
from neuro_divergent.search.auto.backtest import FitResult, FitTask, run_task

Outcome = tuple[FitTask, FitResult | Exception]
_GRACE = 1.15  # times the limit of a training after which its process is ended
_MARGIN = 3.0  # seconds on top of that, for what follows the last step


class Executor:
    """Runs tasks on a panel; use it as a context manager.

    With several processes, each has one thread, and a task that takes much longer than it may is ended with its
    process. If processes cannot be started, as in a script without ``if __name__ == "__main__":``, tasks run here.

    Args:
        panel: The series.
        jobs: Processes; 1 for none but this one.
    """

    def __init__(self, panel: Panel, jobs: int) -> None:
        self._panel = panel
        self.jobs = jobs
        self._pool: WorkerPool[FitTask, FitResult] | None = None
        self._place: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        if multiprocessing.parent_process() is not None and not _is_importing_main():
            self.jobs = 1  # a worker of somebody else, who shares out the cores
        if self.jobs > 1:
            self._place = tempfile.TemporaryDirectory(prefix="neuro-divergent-auto-")
            place = Path(self._place.name) / "panel"
            self._panel.save(place)
            open_panel = functools.partial(Panel.open, str(place))
            self._pool = WorkerPool(run_task, workers=self.jobs, threads=self.jobs, initializer=open_panel)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.close()
        if self._place is not None:
            self._place.cleanup()

    def run(self, tasks: Iterable[FitTask]) -> Iterator[Outcome]:
        """Yield each task with its result, or the error that ended it; the next task is taken when there is room."""
        waiting = iter(tasks)
        if self._pool is not None:
            begun: list[FitTask] = []
            try:
                yield from self._in_workers(waiting, begun)
                return
            except NeuroDivergentError as error:
                warnings.warn(f"{error} The search goes on in one process.", stacklevel=2)
                self._pool.close()
                self._pool, self.jobs = None, 1
            yield from self._here(begun)
        yield from self._here(waiting)

    def _in_workers(self, waiting: Iterator[FitTask], begun: list[FitTask]) -> Iterator[Outcome]:
        """Run tasks in workers; those without an outcome yet are in ``begun``."""

        def taken() -> Iterator[FitTask]:
            for task in waiting:
                begun.append(task)
                yield task

        assert self._pool is not None
        for result in self._pool.run(taken(), limit=_limit):
            begun.remove(result.task)
            yield result.task, _outcome(result.value, result.error)

    def _here(self, waiting: Iterable[FitTask]) -> Iterator[Outcome]:
        for task in waiting:
            try:
                with using_threads(1):
                    result = run_task(task, self._panel)
            except Exception as error:  # noqa: BLE001 (a candidate that fails is recorded, and the rest goes on)
                yield task, error
            else:
                yield task, result


def _limit(task: FitTask) -> float | None:
    return None if task.seconds is None else task.seconds * _GRACE + _MARGIN


def _outcome(value: FitResult | None, error: BaseException | None) -> FitResult | Exception:
    if value is not None:
        return value
    if isinstance(error, Exception):
        return error
    return NeuroDivergentError(f"{type(error).__name__}: {error}")


def _is_importing_main() -> bool:
    """Whether a spawned process is still importing the script that spawned it, which lacks its guard then."""
    return bool(getattr(multiprocessing.current_process(), "_inheriting", False))
