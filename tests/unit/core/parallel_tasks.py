"""Functions that run in the worker processes of the tests of ``core.parallel``."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any


class TwoArgumentsError(Exception):
    """Can be pickled but not unpickled, because its constructor takes two arguments."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


class Payload:
    """Holds anything."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def square(number: int) -> int:
    return number * number


def act(task: str) -> str:
    """Do what the name of the task says."""
    if task == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "exit":
        os._exit(7)
    if task == "sys.exit":
        sys.exit(3)
    if task == "raise":
        raise ValueError("raised by the task")
    if task == "two arguments":
        raise TwoArgumentsError("one", "two")
    if task == "lambda":
        return Payload(inner=[1, lambda: 2])  # type: ignore[return-value]
    if task == "warn":
        warnings.warn("a warning of the task", UserWarning, stacklevel=1)
    return f"done {task}"


def wait_for(paths: tuple[Path, Path]) -> str:
    """Leave a file, and wait for another one."""
    left, awaited = paths
    left.touch()
    while not awaited.exists():
        time.sleep(0.005)
    return left.name


def process_of(task: int) -> int:
    del task
    return os.getpid()


def thread_variables(task: int) -> dict[str, str]:
    del task
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
    return {name: os.environ[name] for name in names}


def torch_threads(task: int) -> int:
    del task
    import torch

    return torch.get_num_threads()


def record_start(directory: Path) -> tuple[int, bytes]:
    """Leave a file for this process, and return something large."""
    with (directory / "starts").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return os.getpid(), bytes(1_000_000)


def use_shared(task: int, shared: tuple[int, bytes]) -> tuple[int, int, int]:
    return task, shared[0], len(shared[1])


def fail_to_start() -> None:
    raise ValueError("raised by the initializer")


def sleep_for_ever(directory: Path) -> None:
    (directory / f"worker-{os.getpid()}").touch()
    while True:
        time.sleep(1)


def ignore_termination(directory: Path | None) -> None:
    if directory is None:
        return
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleep_for_ever(directory)


def nested(count: int) -> list[int]:
    from neuro_divergent.core.parallel import WorkerPool

    with WorkerPool[int, int](square, workers=2) as pool:
        return sorted(result.get() for result in pool.run(range(count)))
