"""Worker processes of a study that are replaced."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from neuro_divergent.core.errors import WorkerDiedError
from neuro_divergent.core.parallel import WorkerPool


def act(task: tuple[str, str]) -> str:
    what, path = task
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "write":
        Path(path).touch()
    while what == "wait" and not Path(path).exists():
        time.sleep(0.01)
    return what


def test_task_that_is_added_for_a_dead_worker_is_run_while_the_others_are_still_busy(tmp_path: Path) -> None:
    """``run_workers`` relies on it: the first task does not end before the one that is added does."""
    path = str(tmp_path / "written")
    tasks, found = [("wait", path), ("die", path)], []
    with WorkerPool(act, workers=2) as pool:
        for result in pool.run(tasks):
            found.append(result.value)
            if isinstance(result.error, WorkerDiedError):
                tasks.append(("write", path))
    assert set(found) == {None, "write", "wait"}
