"""Child processes that are forked from one that has torch loaded, so that starting them again takes little time.

The process they are forked from is the fork server of ``multiprocessing``. It has a single thread, so that forking is
safe: that is why polars, which starts threads when it is imported, is loaded after it. Linux only: elsewhere libraries
of the system do not survive a fork.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from neuro_divergent.core.launched import LAUNCHER
from neuro_divergent.interfaces.cli.child_process import ENDED, Child, Events

CAN_FORK = sys.platform == "linux"
PRELOADED = ("torch", "torch._dynamo", "torch.distributed", "neuro_divergent.interfaces.cli.session")
"""Modules that are loaded before the fork; none of them may start a thread."""

_UNKNOWN = 255  # exit code of a process whose end nobody has seen
_SINGLE_THREADED = {"OPENBLAS_NUM_THREADS": "1"}  # NumPy's library starts its threads when it is loaded


@contextmanager
def forked(
    command: Sequence[str], environment: Mapping[str, str], events: Events, *, mark: int = ENDED, **streams: Any
) -> Iterator[Child]:
    """Start a child for the block, as ``child_process.started`` does.

    Args:
        command: A Python, ``-m``, a module that has a function ``main``, and its arguments.
        environment: Its variables, in addition to those of this process.
        events: Where ``mark`` is put when it is gone.
        mark: Zero or less.
        streams: ``stdout`` and ``stderr`` of ``subprocess.Popen``, as files.
    """
    _, _, module, *arguments = command
    places = {name: file.name for name, file in streams.items()}
    _start_server({**os.environ, **environment})
    process = get_context("forkserver").Process(
        target=_run, args=(module, arguments, {**os.environ, **environment}, places)
    )
    process.start()
    child = _Forked(process, events, mark)
    try:
        yield child
    except BaseException:
        child.kill()
        raise
    finally:
        child.wait()


def _start_server(environment: Mapping[str, str]) -> None:
    """Start the process to fork from, unless it runs: libraries read some variables when they are loaded."""
    before = dict(os.environ)
    os.environ.update({**environment, **_SINGLE_THREADED})
    try:
        forkserver.set_forkserver_preload(list(PRELOADED))
        forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)


class _Forked(Child):
    """A forked process, whose end one thread waits for: ``multiprocessing`` tells it only once."""

    def __init__(self, process: BaseProcess, events: Events, mark: int) -> None:
        self._process = process
        self.returncode: int | None = None
        self._waiter = threading.Thread(target=self._wait, args=(events, mark), daemon=True)
        self._waiter.start()

    def _wait(self, events: Events, mark: int) -> None:
        self._process.join()
        code = self._process.exitcode
        if code == _UNKNOWN:  # the server was killed; a child that it has left behind may still be at work
            self.kill()
            code = -signal.SIGKILL
        self.returncode = code
        events.put(mark)

    def poll(self) -> int | None:
        return self.returncode

    def wait(self) -> int:
        self._waiter.join()
        return self.returncode or 0

    def send_signal(self, sig: int, /) -> None:
        if self.returncode is None and self._process.pid is not None:
            try:
                os.kill(self._process.pid, sig)
            except ProcessLookupError:  # it has just ended
                return

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _run(module: str, arguments: Sequence[str], environment: Mapping[str, str], places: Mapping[str, str]) -> None:
    """Run a module as a program in this process, just after the fork."""
    os.setpgid(0, 0)  # so that Ctrl-C does not reach it twice
    os.environ.clear()
    os.environ.update({**environment, LAUNCHER: str(os.getpid())})
    for name, place in places.items():
        with Path(place).open("ab") as file:
            os.dup2(file.fileno(), getattr(sys, name).fileno())
    sys.argv[1:] = arguments
    importlib.import_module(module).main()
