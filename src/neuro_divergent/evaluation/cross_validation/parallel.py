"""Processes that share a panel: workers on this machine, or those of an executor."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import WorkerDiedError
from neuro_divergent.core.executor import Executor, TaskPool
from neuro_divergent.core.parallel import WorkerPool, threads_per_worker

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.evaluation.cross_validation.fold_task import FoldResult, FoldTask


@contextmanager
def panel_pool(
    function: Callable[..., Any],
    panel: Panel,
    *,
    jobs: int,
    threads: int | None = None,
    executor: Executor | None = None,
) -> Iterator[TaskPool]:
    """Give a pool whose workers call ``function(task, panel, threads)``.

    On this machine the panel is written to a temporary directory, from which every worker maps it, so that it is in
    memory once. All workers together use ``threads`` threads; unset, as many as there are cores. An executor sends the
    panel to its machines; unset, each of its tasks uses one thread.
    """
    if executor is not None:
        each = 1 if threads is None else threads_per_worker(jobs, threads)
        with executor.pool(partial(function, threads=each), panel, workers=jobs, threads=each) as elsewhere:
            yield elsewhere
        return
    with tempfile.TemporaryDirectory(prefix="neuro-divergent-") as directory:
        path = Path(directory) / "panel"
        panel.save(path)
        call = partial(function, threads=threads_per_worker(jobs, threads))
        with WorkerPool[Any, Any](call, workers=jobs, threads=threads, initializer=partial(_open, path)) as pool:
            yield pool


def run_parallel(
    tasks: list[FoldTask], panel: Panel, *, jobs: int, threads: int | None, executor: Executor | None = None
) -> Iterator[tuple[FoldTask, list[FoldResult]]]:
    """Run the tasks of folds in several processes and give results as they come; what a task raises is raised here."""
    from neuro_divergent.evaluation.cross_validation.fold_task import fit_fold

    with panel_pool(fit_fold, panel, jobs=jobs, threads=threads, executor=executor) as pool:
        for result in pool.run(tasks):
            if isinstance(result.error, WorkerDiedError):
                numbers = ", ".join(str(fold.number + 1) for fold in result.task.folds)
                raise WorkerDiedError(f"{result.task.model}, fold {numbers}: {result.error}")
            yield result.task, result.get()


def _open(path: Path) -> Panel:
    from neuro_divergent.data.panel import Panel

    return Panel.open(path)
