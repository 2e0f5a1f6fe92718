"""Workers of a study: on this machine, or in processes that an executor starts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import InputError, WorkerDiedError
from neuro_divergent.core.executor import Executor
from neuro_divergent.core.threads import available_cores
from neuro_divergent.search.limits import Limits
from neuro_divergent.search.progress import watching

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.search.study import Study


def run_workers(
    study: Study,
    panel: Panel,
    limits: Limits,
    *,
    jobs: int,
    threads: int | None,
    deadline: float,
    executor: Executor | None = None,
) -> None:
    """Run trials in this process, or in several that share the data and the cores, until ``deadline`` at most.

    A worker that dies is replaced at once; its trial is taken over from its last checkpoint.
    """
    if jobs == 0 or jobs < -1:
        raise InputError(f"jobs: {jobs!r} must be a number of processes, or -1 for one per core.")
    if jobs == -1 and executor is not None:
        raise InputError("jobs: say how many workers the cluster is to run; -1 is for the cores of this machine.")
    count = available_cores() if jobs == -1 else jobs
    if count == 1 and executor is None:
        study.work(panel, limits, threads=threads, deadline=deadline)
        return
    from neuro_divergent.evaluation.cross_validation.parallel import panel_pool

    _ = study.store  # the storage is created once, before workers open it
    with (
        watching(study, limits),
        panel_pool(_work, panel, jobs=count, threads=threads, executor=executor) as pool,
    ):
        ends = time.time() + deadline - time.monotonic()
        task = str(study.directory.resolve()), limits.to_dict(), ends, count
        done = 0
        while done < count:
            tasks = [task] * (count - done)
            for result in pool.run(tasks):
                if isinstance(result.error, WorkerDiedError):
                    # The pool takes what is added until a worker has come to its end and there is nothing more.
                    tasks.append(task)
                elif result.error is not None:
                    raise result.error
                else:
                    done += 1


def _work(task: tuple[str, dict[str, Any], float, int], panel: Panel, threads: int) -> str:
    """Run trials in a worker process; its task ends with the deadline, in seconds since 1970, and the workers."""
    from neuro_divergent.search.study import Study

    directory, limits, ends, count = task
    deadline = time.monotonic() + ends - time.time()
    study = Study.load(Path(directory))
    return study.work(panel, Limits(**limits), threads=threads, deadline=deadline, num_workers=count)
