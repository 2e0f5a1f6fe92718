"""Several processes that run one training together, on this machine or on those of a cluster.

The launcher loads neither torch nor data. It starts the processes, passes signals on, and when one fails it ends the
others and says which one it was and why.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

from neuro_divergent.core.call_counter import read_counters
from neuro_divergent.core.errors import ProcessLostError
from neuro_divergent.interfaces.cli.child_process import STOPPING, Child, Events, hearing, send, signal_name

_LOOK = 0.5
_SECONDS_TO_FOLLOW = 5.0  # that the others have to end by themselves, and say why, when one has failed
_SECONDS_AFTER_A_KILL = 1.0  # the same when one was killed, of which the others know nothing
_SECONDS_TO_DIE = 10.0  # between SIGTERM and SIGKILL where the state is to be saved
_SECONDS_TO_GIVE_UP = 2.0  # the same where one has failed, without which the others can save nothing
_START_PATIENCE = 10.0  # times as long before the processes have met
MESSAGE = 2000
"""Bytes of what a process said that are kept for a message."""


class Host(Protocol):
    """Where the processes of a training run.

    Attributes:
        size: How many there are.
        counters: File in which they count their calls, for finding one that hangs; ``None`` where nobody can see that.
    """

    size: int
    counters: Path | None

    def start(self, command: Sequence[str], rank: int, events: Events) -> AbstractContextManager[Child]:
        """Start one of them for the block; minus its rank is put among the events when it is gone."""
        ...

    def said(self, rank: int) -> str:
        """Return the end of what a process other than the first wrote to standard error."""
        ...

    def name(self, rank: int) -> str:
        """Return what a message calls a process."""
        ...


def launch_on(host: Host, command: Sequence[str], *, stall: float | None = None) -> int:
    """Run a command in several processes that find each other through the variables of ``torchrun``.

    Process 0 has the terminal; what the others say is shown only if one of them is the first to fail.

    Args:
        host: Where they run.
        command: What each of them runs.
        stall: Seconds after which processes that wait for one of them count as hung, and that one is aborted.

    Returns:
        The exit code of the process that failed first, or 0; 128 and the number of the signal if it was killed by one.
    """
    events: Events = SimpleQueue()
    with hearing(events):
        return run_group(host, command, events, stall)[0]


def run_group(host: Host, command: Sequence[str], events: Events, stall: float | None = None) -> tuple[int, int | None]:
    """Run a command in several processes, as ``launch_on`` does, with the signals that are among the events.

    Returns:
        The exit code, and the signal that asked for the end, if one did.
    """
    with ExitStack() as stack:
        group = _Group(host)
        for rank in range(host.size):
            group.add(stack.enter_context(host.start(command, rank, events)))
        try:
            group.watch(events, stall)
        finally:
            group.kill()
        code = group.conclude()
    for number in [event for _ in range(events.qsize()) if (event := events.get()) > 0]:
        events.put(number)  # signals are left there, ends of processes are not
    return code, group.requested


class _Group:
    """The processes of a training, and the order in which they ended.

    Attributes:
        requested: Signal that asked for the end, if one did.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._children: list[Child] = []
        self._ended: list[int] = []
        self.requested: int | None = None
        self._hung: list[int] = []

    def add(self, child: Child) -> None:
        """Add a process that was started."""
        self._children.append(child)

    def watch(self, events: Events, stall: float | None) -> None:
        """Wait until all have ended, by themselves or because one has failed."""
        deadline: float | None = None
        watch = _StallWatch(self._host.counters, stall)
        while len(self._ended) < self._host.size:
            try:
                event = events.get(timeout=_LOOK if deadline is None else max(deadline - time.monotonic(), 0.0))
            except Empty:
                event = None
            if event is not None and event > 0:
                if signal_name(event) in STOPPING:
                    self.requested = event
                send(event, *(self._alive if signal_name(event) != "SIGUSR1" else self._alive[:1]))
            elif event is not None:
                self._ended.append(-event)
                if self._children[-event].returncode or self.requested is not None:
                    later = time.monotonic() + self._patience(-event)
                    deadline = later if deadline is None else min(deadline, later)
            if not self._hung and not self._ended and (hung := watch.look()):
                self._hung = hung
                send(getattr(signal, "SIGABRT", signal.SIGTERM), *(self._children[rank] for rank in hung))
                deadline = time.monotonic() + _SECONDS_TO_FOLLOW
            if deadline is not None and time.monotonic() >= deadline:
                self._end_others()
                return

    def _patience(self, rank: int) -> float:
        """Return the seconds that the others have to end by themselves when one has ended."""
        if self.requested is not None:
            return _SECONDS_TO_DIE
        return _SECONDS_AFTER_A_KILL if self._children[rank].returncode < 0 else _SECONDS_TO_FOLLOW

    def _end_others(self) -> None:
        """Ask the processes that are left to end, and kill those that do not."""
        for rank in self._hung:
            self._children[rank].kill()
        send(signal.SIGTERM, *self._alive)
        until = time.monotonic() + (_SECONDS_TO_GIVE_UP if self.requested is None else _SECONDS_TO_DIE)
        while any(child.poll() is None for child in self._children) and time.monotonic() < until:
            time.sleep(0.05)

    def kill(self) -> None:
        """End what is left, whatever it does."""
        for child in self._alive:
            child.kill()

    def conclude(self) -> int:
        """Say which process failed and why, if one did, and return its exit code."""
        for child in self._children:
            child.wait()
        first = self._find_first()
        if first is None:
            return 0
        code = self._children[first].returncode
        if self.requested is not None and self._children[0].returncode >= 0:
            return int(self._children[0].returncode)
        if not self._hung and self._speaks_for_itself(self._children[0].returncode):
            return int(self._children[0].returncode)  # a mistake that all of them found
        if first > 0 or code < 0 or self._hung:
            sys.stderr.write(f"error: {self._host.name(first)} {self._reason(first)}\n")
        return int(code if code >= 0 else 128 - code)

    def _speaks_for_itself(self, code: int) -> bool:
        """Whether process 0 has failed with an error of its own, which it has shown."""
        return code > 0 and code not in (ProcessLostError.exit_code, 128 + signal.SIGTERM)

    def _find_first(self) -> int | None:
        """Return the process that failed first, not one that only lost contact with it or was asked to end."""
        failed = [rank for rank in self._ended if self._children[rank].returncode]
        failed += [rank for rank, child in enumerate(self._children) if child.returncode and rank not in failed]
        if self._hung:
            return self._hung[0]
        effects = (ProcessLostError.exit_code, 128 + signal.SIGTERM)
        causes = [rank for rank in failed if self._children[rank].returncode not in effects]
        return next(iter(causes or failed), None)

    def _reason(self, rank: int) -> str:
        code = self._children[rank].returncode
        if len(self._hung) == self._host.size:
            return "and all others hung in the same place, and were aborted; which one did first is not known."
        if rank in self._hung:
            return "hung: the others waited for it, and it was aborted."
        if code < 0:
            name = signal_name(-code)
            hint = " (the system does that when memory runs out)" if name == "SIGKILL" else ""
            return f"was killed by {name}{hint}."
        said = self._host.said(rank) if rank else ""
        lines = [line for line in said.splitlines() if line.startswith("error: ")] or said.splitlines()
        return f"failed: {lines[-1].removeprefix('error: ')}" if lines else f"ended with exit code {code}."

    @property
    def _alive(self) -> list[Child]:
        return [child for child in self._children if child.poll() is None]


class _StallWatch:
    """Finds processes that the others have been waiting for too long."""

    def __init__(self, counters: Path | None, stall: float | None) -> None:
        self._counters = counters
        self._stall = stall
        self._last: list[int] = []
        self._since = time.monotonic()

    def look(self) -> list[int]:
        """Return the processes that hang: those that have talked least, which may be all."""
        if self._stall is None or self._counters is None:
            return []
        now, counts = time.monotonic(), read_counters(self._counters)
        if counts != self._last:
            self._last, self._since = counts, now
            return []
        patience = self._stall * (1.0 if min(counts) else _START_PATIENCE)
        if now - self._since < patience:
            return []
        return [rank for rank, count in enumerate(counts) if count == min(counts)]
