"""Processes that work on folds side by side.

Nothing that loads torch is imported here: a process learns how many threads it may use before it loads anything.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from multiprocessing.connection import wait
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import TYPE_CHECKING

from neuro_divergent.core.errors import InputError, NeuroDivergentError

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.evaluation.cross_validation.fold_task import FoldResult, FoldTask

_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")


def run_parallel(
    assignments: Sequence[FoldTask], panel: Panel, *, jobs: int, threads: int
) -> Iterator[tuple[FoldTask, list[FoldResult]]]:
    """Work on assignments in several processes and give results as they come.

    The panel lies in a temporary directory, from which every process maps it into its memory, so that it is there once.
    The processes end with this one, however it ends.

    Args:
        assignments: What to do.
        panel: The whole data.
        jobs: Number of processes.
        threads: Threads of each.

    Raises:
        InputError: If a forecaster cannot be sent to another process.
        NeuroDivergentError: If a process was killed.
    """
    for assignment in assignments:
        _require_movable(assignment)
    with tempfile.TemporaryDirectory(prefix="neuro-divergent-") as place:
        panel.save(Path(place) / "panel")
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(
            min(jobs, len(assignments)), mp_context=context, initializer=_begin, initargs=(threads,)
        )
        try:
            futures = {pool.submit(_work, item, str(Path(place) / "panel"), threads): item for item in assignments}
            for future in as_completed(futures):
                results, heard = future.result()
                for kind, message in heard:
                    warnings.warn(message, kind, stacklevel=2)
                yield futures[future], results
        except BrokenProcessPool:
            raise NeuroDivergentError(
                "a process that worked on folds ended without a word: killed, out of memory, or the script that called "
                "this has no `if __name__ == '__main__':` around it. Use fewer jobs, or jobs=1."
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(threads: int) -> None:
    """Prepare a process, before anything is loaded."""
    os.environ |= dict.fromkeys(_VARIABLES, str(threads))
    if "torch" in sys.modules:  # the script of the user was faster
        sys.modules["torch"].set_num_threads(threads)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Wait for the parent to end; without this, a process whose parent was killed would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _work(assignment: FoldTask, place: str, threads: int) -> tuple[list[FoldResult], list[tuple[type[Warning], str]]]:
    """Do the work, and bring its warnings along, which nobody would hear in this process."""
    from neuro_divergent.evaluation.cross_validation.fold_task import work

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        results = work(assignment, _opened(place), threads)
    return results, [(item.category, str(item.message)) for item in heard]


@lru_cache(maxsize=1)
def _opened(place: str) -> Panel:
    from neuro_divergent.data.panel import Panel

    return Panel.open(place)


def _require_movable(assignment: FoldTask) -> None:
    try:
        ForkingPickler.dumps(assignment)
    except Exception as error:  # noqa: BLE001 (every type of object refuses in its own way)
        raise InputError(
            f"{assignment.model}: cannot be sent to another process ({error}). Define functions and classes in a "
            "module of their own, or use jobs=1."
        ) from None
