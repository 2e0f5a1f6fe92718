"""Child processes that get the signals of this one, end with it, and say when they have ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, Protocol

from neuro_divergent.interfaces.cli.supervised import PARENT

ENDED = 0
"""What is put among the events when a child is gone; others use negative numbers. No signal has these numbers."""
STOPPING = ("SIGINT", "SIGTERM")
"""Signals that ask for the end."""

_FORWARDED = (*STOPPING, "SIGUSR1", "SIGTSTP")

Events = SimpleQueue[int]


@contextmanager
def started(
    command: Sequence[str], environment: Mapping[str, str], events: Events, *, mark: int = ENDED, **streams: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a child for the block, which lasts until it has ended.

    It is in a process group of its own, so that Ctrl-C does not reach it twice, and ends by itself when this process
    is killed.

    Args:
        command: What to start.
        environment: Its variables, in addition to those of this process.
        events: Where ``mark`` is put when it is gone.
        mark: Zero or less.
        streams: ``stdout``, ``stderr`` and ``cwd`` of ``subprocess.Popen``.
    """
    known = {**os.environ, **environment}
    options: dict[str, Any] = {}
    reading = writing = None
    if os.name == "posix":
        reading, writing = os.pipe()
        known[PARENT] = str(reading)
        options = {"pass_fds": (reading,), "process_group": 0}
    try:
        child = subprocess.Popen(command, env=known, stdin=subprocess.DEVNULL, **streams, **options)
        waiter = threading.Thread(target=_wait, args=(child, events, mark), daemon=True)
        waiter.start()
        try:
            yield child
        except BaseException:
            child.kill()
            raise
        finally:
            waiter.join()
    finally:
        for end in (reading, writing):
            if end is not None:
                os.close(end)


def _wait(child: subprocess.Popen[bytes], events: Events, mark: int) -> None:
    child.wait()
    events.put(mark)


class Child(Protocol):
    """A process as ``subprocess.Popen`` shows it, on this machine or on another."""

    returncode: Any

    def poll(self) -> int | None:
        """Return the exit code, or ``None`` while it runs; negative for the signal that killed it."""
        ...

    def wait(self) -> int:
        """Wait for its end, and return the exit code."""
        ...

    def send_signal(self, sig: int, /) -> None:
        """Send a signal."""
        ...

    def terminate(self) -> None:
        """Ask it to end."""
        ...

    def kill(self) -> None:
        """End it, whatever it does."""
        ...


def send(number: int, *children: Child) -> None:
    """Pass a signal on; one that stops this process until it is continued stops the children for as long."""
    if sys.platform == "win32":
        if number == signal.SIGTERM:  # Ctrl-C reaches all processes of a console by itself
            for child in children:
                child.terminate()
    elif number == signal.SIGTSTP:
        send(signal.SIGSTOP, *children)
        os.kill(os.getpid(), signal.SIGSTOP)
        send(signal.SIGCONT, *children)  # here this process goes on too
    else:
        for child in children:
            child.send_signal(number)


@contextmanager
def hearing(events: Events) -> Iterator[None]:
    """Put signals among the events instead of ending by them."""
    numbers = [getattr(signal, name) for name in _FORWARDED if hasattr(signal, name)]
    # To put something into a simple queue is safe in a signal handler.
    previous = {number: signal.signal(number, lambda number, _: events.put(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def signal_name(number: int) -> str:
    """Return the name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
