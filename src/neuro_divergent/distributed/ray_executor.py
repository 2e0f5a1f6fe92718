"""Folds and search workers as Ray tasks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from neuro_divergent.core.errors import InputError, NeuroDivergentError, WorkerDiedError
from neuro_divergent.core.executor import Executor, TaskPool
from neuro_divergent.core.parallel import TaskResult
from neuro_divergent.core.task_message import perform, pickled, unpacked, unpickled
from neuro_divergent.distributed.ray_cluster import check_address, connected

_SECONDS_TO_SAVE = 30.0  # that tasks have to end when they are interrupted


class RayExecutor(Executor):
    """Runs tasks in the processes of a Ray cluster: the folds of a cross-validation, or the workers of a study.

    Ray only starts the processes. What a fold returns comes back to this process; trials are recorded in the storage of
    their study, which must be reachable from all machines.

    Args:
        address: ``auto`` for the cluster that this machine belongs to, ``host:port`` or ``ray://host:port`` for
            another, ``local`` for a Ray of its own on this machine.

    Raises:
        InputError: If this is no address.

    Examples:
        >>> import neuro_divergent as nd
        >>> nd.distributed.RayExecutor("ray://head-node:10001")
        RayExecutor('ray://head-node:10001')
        >>> nd.distributed.RayExecutor("http://head-node")
        Traceback (most recent call last):
            ...
        neuro_divergent.core.errors.InputError: ray: 'http://head-node' is no address of a cluster; write auto, ...
    """

    def __init__(self, address: str = "auto") -> None:
        self.address = check_address(address)

    def __repr__(self) -> str:
        return f"RayExecutor({self.address!r})"

    @contextmanager
    def pool(self, function: Callable[..., Any], shared: Any, *, workers: int, threads: int) -> Iterator[RayPool]:
        """Give a pool for the block: so many tasks at once that call a function with a task and what they share.

        Raises:
            InputError: If there is no such cluster, or the function cannot be sent to it.
        """
        if workers < 1:
            raise InputError(f"workers: {workers!r} must be an integer of at least 1.")
        setup = pickled(function, "function")
        with connected(self.address, cpus=workers * threads) as ray:
            _require_cpus(ray, threads)
            yield RayPool(ray, setup, ray.put(shared), workers=workers, threads=threads)


class RayPool(TaskPool):
    """Runs a function on tasks, each as a Ray task.

    Args:
        ray: Ray, connected to a cluster.
        setup: The function, pickled.
        shared: Reference to what all tasks share.
        workers: Tasks at the same time.
        threads: CPUs that each of them asks for.
    """

    def __init__(self, ray: Any, setup: bytes, shared: Any, *, workers: int, threads: int) -> None:
        self._ray, self._setup, self._shared, self._size = ray, setup, shared, workers
        # A task that died is for the caller to repeat: the study knows where its trial was.
        self._remote = ray.remote(_run).options(num_cpus=threads, max_retries=0, name="neuro-divergent")

    def run(self, tasks: Iterable[Any]) -> Iterator[TaskResult[Any, Any]]:
        """Run the function on every task and give results as they come; a task is taken when there is room for it.

        Tasks that still run when the iterator is closed are interrupted, and ended if they do not end by themselves.
        """
        waiting = enumerate(tasks)
        running: dict[Any, tuple[int, Any]] = {}
        exhausted = False
        try:
            while True:
                if not exhausted and len(running) < self._size:
                    index, task = next(waiting, (-1, None))
                    if index < 0:
                        exhausted = True
                        continue
                    try:
                        message = pickled(task, f"task {index}")
                    except InputError as error:
                        yield TaskResult(index, task, error=error)
                        continue
                    running[self._remote.remote(self._setup, message, self._shared)] = index, task
                elif running:
                    (done,), _ = self._ray.wait(list(running))
                    index, task = running.pop(done)
                    yield self._result(done, index, task)
                else:
                    return
        finally:
            self._end(list(running))

    def _result(self, done: Any, index: int, task: Any) -> TaskResult[Any, Any]:
        exceptions = self._ray.exceptions
        try:
            value, error, caught = unpacked(self._ray.get(done))
        except (exceptions.WorkerCrashedError, exceptions.NodeDiedError, exceptions.OutOfMemoryError) as died:
            reason = str(died).strip().splitlines()[0]
            return TaskResult(index, task, error=WorkerDiedError(f"task {index}: its Ray worker died: {reason}"))
        except exceptions.RayError as refused:
            # What goes wrong before the function is called: often the package is missing on a machine.
            reason = str(refused).strip().splitlines()[-1]
            return TaskResult(index, task, error=NeuroDivergentError(f"task {index}: Ray could not run it: {reason}"))
        for category, text in caught:
            warnings.warn(text, category, stacklevel=2)
        return TaskResult(index, task, value, error)

    def _end(self, running: list[Any]) -> None:
        for is_last in (False, True):
            if running and self._ray.is_initialized():
                for task in running:
                    self._ray.cancel(task, force=is_last)
                _, running = self._ray.wait(running, num_returns=len(running), timeout=_SECONDS_TO_SAVE)


def _run(function: bytes, message: bytes, shared: Any) -> bytes:
    """Run a task in a Ray worker, and return its outcome as a message."""
    return perform(unpickled(function), message, (shared,))


def _require_cpus(ray: Any, threads: int) -> None:
    """Refuse tasks that no machine of the cluster has room for, which Ray would let wait for ever."""
    most = max((node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]), default=0)
    if most < threads:
        raise InputError(
            f"threads: a task asks for {threads} CPUs, and no machine of the cluster has more than {most:g}."
        )
