"""A pool of worker processes.

Each worker has a pipe of its own, so that the pool knows which task a dead worker was running: that task fails, another
worker takes the place of the dead one, and the other tasks go on. Workers are spawned, because a process in which torch
or polars has started threads cannot be forked safely. Nothing heavy is imported here: a worker learns how many threads
it may use before it imports anything else.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker, util
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from neuro_divergent.core import threads as thread_budget
from neuro_divergent.core.errors import InputError, NeuroDivergentError, TaskTimeoutError, WorkerDiedError
from neuro_divergent.core.task_message import packed, perform, pickled, unpacked, unpickled

T = TypeVar("T")
R = TypeVar("R")

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
_POLL_SECONDS = 1.0  # a pipe does not close with its worker if a process that the worker forked still holds it
_GRACE_SECONDS = 5.0  # between SIGTERM and SIGKILL
_MAX_FAILED_STARTS = 3
_GUARD = "the script that called this needs `if __name__ == '__main__':` around what it does"


@dataclass(frozen=True, eq=False)
class TaskResult(Generic[T, R]):
    """Outcome of one task: a value, or the error that ended it.

    Attributes:
        index: Position of the task among those given.
        task: The task.
        value: What the function returned; ``None`` after an error.
        error: What the function raised, ``WorkerDiedError`` if its process died, ``TaskTimeoutError`` if it took longer
            than it may, or ``InputError`` if the task or the value cannot be pickled; ``None`` after success.
    """

    index: int
    task: T
    value: R | None = None
    error: BaseException | None = None

    def get(self) -> R:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]


class WorkerPool(Generic[T, R]):
    """Runs a function on tasks in several processes.

    Use it as a context manager: leaving the block, by an exception or Ctrl-C too, ends all workers. They also end when
    this process is killed. Warnings of a task are issued again in this process. Workers start when there are tasks for
    them, stay for the next call of ``run``, and ignore Ctrl-C, which is for this process to handle.

    Args:
        function: Called with a task, and with what ``initializer`` returned if there is one. It must be importable.
        workers: Number of processes.
        threads: Threads of all workers together; unset, as many as there are cores. Each worker gets an equal part, at
            least one.
        initializer: Called once in each worker. Use it for large arguments that all tasks share.

    Raises:
        InputError: If ``function`` or ``initializer`` cannot be pickled.
    """

    def __init__(
        self,
        function: Callable[..., R],
        *,
        workers: int,
        threads: int | None = None,
        initializer: Callable[[], Any] | None = None,
    ) -> None:
        if workers < 1:
            raise InputError(f"workers: {workers!r} must be an integer of at least 1.")
        self._size = workers
        self.threads = threads_per_worker(workers, threads)
        self._setup = pickled(function, "function"), pickled(initializer, "initializer")
        self._workers: list[_Worker] = []
        self._started = False  # whether any worker has come as far as to ask for a task
        self._failed_starts = 0
        # Runs when the pool is garbage, and when the interpreter exits before it would wait for the workers.
        self._finalizer = util.Finalize(self, _stop, (self._workers,), exitpriority=10)

    def __enter__(self) -> WorkerPool[T, R]:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers, whatever they are doing."""
        _stop(self._workers)

    def run(
        self,
        tasks: Iterable[T],
        progress: Callable[[int, int | None], None] | None = None,
        limit: Callable[[T], float | None] | None = None,
    ) -> Iterator[TaskResult[T, R]]:
        """Run the function on every task and give results as they come, in any order.

        A task is taken from the iterable when a worker is free for it. What is still running when the iterator is
        closed is ended.

        Args:
            tasks: Arguments of the function.
            progress: Called after each task with the number of finished tasks and of all tasks; the latter is ``None``
                if the iterable has no length.
            limit: Returns the seconds that a task may take; ``None`` for no limit. Its worker is ended after them, and
                the task has the error ``TaskTimeoutError``. A worker that has to be started for it may take as long
                for that.

        Raises:
            NeuroDivergentError: If no worker can be started.
            BaseException: What ``initializer`` raised.
        """
        total = len(tasks) if isinstance(tasks, Sized) else None
        done = 0
        try:
            for result in self._results(tasks, limit):
                done += 1
                if progress is not None:
                    progress(done, total)
                yield result
        finally:
            _stop([worker for worker in self._workers if worker.assignment is not None])
            self._workers[:] = [worker for worker in self._workers if worker.assignment is None]

    def _results(self, tasks: Iterable[T], limit: Callable[[T], float | None] | None) -> Iterator[TaskResult[T, R]]:
        waiting = enumerate(tasks)
        exhausted = False
        while True:
            busy = [worker for worker in self._workers if worker.assignment is not None]
            if not exhausted and len(busy) < self._size:
                index, task = next(waiting, (-1, None))
                if index < 0:
                    exhausted = True
                    continue
                try:
                    seconds = None if limit is None else limit(task)  # type: ignore[arg-type]
                    assignment = _Assignment(index, task, pickled(task, f"task {index}"), seconds)
                except InputError as error:
                    yield TaskResult(index, task, error=error)  # type: ignore[arg-type]
                    continue
                self._assign(assignment)
            elif busy:
                now = time.monotonic()
                soonest = min((worker.deadline for worker in busy), default=math.inf) - now
                wait([worker.connection for worker in busy], min(max(soonest, 0.0), _POLL_SECONDS))
                for worker in busy:
                    yield from self._collect(worker)
                    yield from self._end_late(worker)
            else:
                return

    def _assign(self, assignment: _Assignment) -> None:
        """Give a task to a worker that is free, or to a new one."""
        free = next((worker for worker in self._workers if worker.assignment is None), None)
        if free is not None and not free.process.is_alive():
            self._remove(free)
            return self._assign(assignment)
        if free is None:
            free = _Worker.create(self._setup, self.threads)
            self._workers.append(free)  # before it starts, so that no interrupt can come between
            free.start()
        free.assignment = assignment
        free.set_deadline()
        if free.is_ready:
            free.send()
        return None

    def _collect(self, worker: _Worker) -> Iterator[TaskResult[T, R]]:
        """Take what a busy worker has sent, if anything, and notice if it is dead."""
        assignment = worker.assignment
        assert assignment is not None
        try:
            if worker.connection.poll():
                message = worker.connection.recv_bytes()
            elif worker.process.is_alive():
                return
            else:
                raise EOFError
        except (EOFError, OSError):
            self._remove(worker)
            yield from self._died(worker, assignment)
            return
        if not worker.is_ready:
            if message and (failure := unpacked(message)[1]) is not None:
                raise failure
            worker.is_ready = self._started = True
            self._failed_starts = 0
            worker.set_deadline()
            worker.send()
            return
        worker.assignment = None
        value, error, caught = unpacked(message)
        for category, text in caught:
            warnings.warn(text, category, stacklevel=2)
        yield TaskResult(assignment.index, assignment.task, value, error)

    def _end_late(self, worker: _Worker) -> Iterator[TaskResult[T, R]]:
        """End a worker whose task takes longer than it may."""
        assignment = worker.assignment
        if assignment is not None and time.monotonic() >= worker.deadline:
            self._remove(worker)
            error = TaskTimeoutError(f"task {assignment.index} was ended after {assignment.seconds:g} s.")
            yield TaskResult(assignment.index, assignment.task, error=error)

    def _died(self, worker: _Worker, assignment: _Assignment) -> Iterator[TaskResult[T, R]]:
        code = worker.process.exitcode or 0
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        if worker.is_ready:
            error = WorkerDiedError(
                f"task {assignment.index}: its worker process {how}. The system kills processes when memory runs out: "
                "use fewer workers, or smaller tasks."
            )
            yield TaskResult(assignment.index, assignment.task, error=error)
            return
        self._failed_starts += 1
        if not self._started or self._failed_starts >= _MAX_FAILED_STARTS:
            raise NeuroDivergentError(
                f"a worker process {how} before its first task: out of memory, or {_GUARD}. Use one process only to "
                "see which."
            )
        self._assign(assignment)

    def _remove(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        _stop([worker])


def threads_per_worker(workers: int, threads: int | None = None) -> int:
    """Return how many threads each of several workers gets, of ``threads`` or else of the cores; at least one."""
    return max((thread_budget.available_cores() if threads is None else threads) // workers, 1)


@dataclass(frozen=True, eq=False)
class _Assignment:
    index: int
    task: Any
    message: bytes
    seconds: float | None = None  # that it may take


@dataclass(eq=False)
class _Worker:
    """A process, our end of its pipe, and the task it has; the task is sent when the worker is ready."""

    process: multiprocessing.process.BaseProcess
    connection: Connection
    theirs: Connection
    assignment: _Assignment | None = None
    is_ready: bool = False
    deadline: float = math.inf  # of its task, by the monotonic clock

    @classmethod
    def create(cls, setup: tuple[bytes, bytes], threads: int) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        name = "neuro-divergent-worker"
        return cls(context.Process(target=_serve, args=(theirs, setup, threads), name=name), ours, theirs)

    def start(self) -> None:
        # A worker that still imports modules must not die of the Ctrl-C that this process is to handle.
        can_mask = hasattr(signal, "pthread_sigmask")
        if can_mask:
            resource_tracker.ensure_running()  # which unblocks the signal again if the first worker has to start it
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if can_mask else set()
        try:
            self.process.start()
        finally:
            self.theirs.close()
            if can_mask:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def set_deadline(self) -> None:
        """Let the time of its task begin now."""
        assert self.assignment is not None
        seconds = self.assignment.seconds
        self.deadline = math.inf if seconds is None else time.monotonic() + seconds

    def send(self) -> None:
        assert self.assignment is not None
        with suppress(OSError):  # of a dead worker, which is noticed when its result is read
            self.connection.send_bytes(self.assignment.message)


def _stop(workers: list[_Worker]) -> None:
    """End workers: an idle one by closing its pipe, a busy one by a signal."""
    stopped = [worker for worker in workers if worker.process.pid is not None]
    workers.clear()
    try:
        for worker in stopped:
            worker.connection.close()
            if worker.assignment is not None:
                worker.process.terminate()
        for worker in stopped:
            worker.process.join(_GRACE_SECONDS)
    finally:
        for worker in stopped:
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()


def _serve(connection: Connection, setup: tuple[bytes, bytes], threads: int) -> None:
    """Run tasks in a worker until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    os.environ |= dict.fromkeys(_THREAD_VARIABLES, str(threads))
    if "torch" in sys.modules:  # the script that spawned this process imports it
        sys.modules["torch"].set_num_threads(threads)
    try:
        try:
            function, initializer = map(unpickled, setup)
            shared = () if initializer is None else (initializer(),)
        except BaseException as error:  # noqa: BLE001 (raised again in the parent)
            connection.send_bytes(packed(None, error, []))
            return
        connection.send_bytes(b"")
        while True:
            connection.send_bytes(perform(function, connection.recv_bytes(), shared))
    except (EOFError, OSError):  # the parent closed the pipe
        return


def _exit_with_parent() -> None:
    """Wait for the parent to end, and end this process with it, even in the middle of a task."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
