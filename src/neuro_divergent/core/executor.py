"""What starts the processes that run tasks, where they are not the worker processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

from neuro_divergent.core.parallel import TaskResult


class TaskPool(Protocol):
    """Runs a function on tasks, as ``core.parallel.WorkerPool`` does."""

    def run(self, tasks: Iterable[Any]) -> Iterator[TaskResult[Any, Any]]:
        """Run the function on every task and give results as they come; a task is taken when there is room for it."""
        ...


class Executor(Protocol):
    """Starts pools of processes, such as those of a cluster."""

    def pool(
        self, function: Callable[..., Any], shared: Any, *, workers: int, threads: int
    ) -> AbstractContextManager[TaskPool]:
        """Give a pool for the block; leaving the block ends what still runs.

        Args:
            function: Called with a task and ``shared``. It must be importable where the tasks run.
            shared: What all tasks share; it is sent to each machine once.
            workers: Tasks at the same time.
            threads: Threads that a task uses.
        """
        ...
