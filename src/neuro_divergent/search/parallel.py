"""Workers of a study on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import InputError, WorkerDiedError
from neuro_divergent.core.threads import available_cores
from neuro_divergent.search.limits import Limits

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.search.study import Study


def run_workers(study: Study, panel: Panel, limits: Limits, *, jobs: int, threads: int | None) -> None:
    """Run trials in this process, or in several that share the data and the cores.

    A worker that dies is replaced; its trial is taken over from its last checkpoint.
    """
    if jobs == 0 or jobs < -1:
        raise InputError(f"jobs: {jobs!r} must be a number of processes, or -1 for one per core.")
    count = available_cores() if jobs == -1 else jobs
    if count == 1:
        study.work(panel, limits, threads)
        return
    from neuro_divergent.evaluation.cross_validation.parallel import panel_pool

    _ = study.store  # the storage is created once, before workers open it
    with panel_pool(_work, panel, jobs=count, threads=threads) as pool:
        missing = count
        while missing:
            results = list(pool.run([(str(study.directory), limits.to_dict())] * missing))
            for result in results:
                if result.error is not None and not isinstance(result.error, WorkerDiedError):
                    raise result.error
            missing = sum(result.error is not None for result in results)


def _work(task: tuple[str, dict[str, Any]], panel: Panel, threads: int) -> str:
    """Run trials in a worker process."""
    from neuro_divergent.search.study import Study

    directory, limits = task
    return Study.load(Path(directory)).work(panel, Limits(**limits), threads)
