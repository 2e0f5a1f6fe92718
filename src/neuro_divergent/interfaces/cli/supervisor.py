"""Training in processes of its own that are started again when one crashes or hangs.

The supervisor loads neither torch nor data. It forwards signals, waits, and watches the heartbeat of the run.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from neuro_divergent.core.errors import InputError
from neuro_divergent.interfaces.cli.child_process import ENDED, STOPPING, Events, hearing, send, signal_name, started
from neuro_divergent.interfaces.cli.forked_process import CAN_FORK, forked
from neuro_divergent.interfaces.cli.launcher import run_group
from neuro_divergent.interfaces.cli.this_machine import this_machine
from neuro_divergent.runs.directory import HEARTBEAT
from neuro_divergent.runs.status import describe_run, patience, read_heartbeat
from neuro_divergent.training.callbacks.heartbeat import ATTEMPT

COMMAND = (sys.executable, "-m", "neuro_divergent.interfaces.cli.supervised", "train")
FINAL = (0, 2, 3, 5, 130, 143)
"""Exit codes after which another attempt would end the same way, or is not wanted."""

_LONGEST_PAUSE = 60.0
_LONGEST_LOOK = 1.0
_SECONDS_TO_DIE = 10.0


@dataclass(frozen=True)
class _Ending:
    """How an attempt ended: its exit code, as a shell would give it, and where.

    Attributes:
        reason: The code as text.
        step: Steps done at its last heartbeat.
        checkpoint: Step of the last checkpoint there is now.
    """

    code: int
    reason: str
    step: int | None
    checkpoint: int | None


def supervise(
    arguments: Sequence[str],
    *,
    run: Path,
    retries: int,
    stall: float | None,
    processes: int = 1,
    command: Sequence[str] = COMMAND,
) -> int:
    """Train in a child process, or in several, and start again from the last checkpoint after a crash.

    Signals that ask this process to end are passed on to the children, once, and end this process, too. A child is in a
    process group of its own, so that Ctrl-C does not reach it a second time. It ends by itself when this process is
    killed.

    Args:
        arguments: Those of ``nd train``, without the options of the supervisor.
        run: Its run directory.
        retries: How often it is started again at most.
        stall: Seconds without a heartbeat after which it is taken to hang: it is aborted, which shows where it was, and
            counts as crashed. Ten times as many before the first heartbeat and when only results are to be written.
            ``None`` waits for ever. Of several children, the one that the others have waited for that long is aborted.
        processes: How many children train together, on this machine.
        command: What to start.

    Returns:
        The exit code of the last attempt, 128 and the number of the signal if that was killed by one.
    """
    if stall is not None and not stall > 0:
        raise InputError(f"--stall: {stall:g} is not a number of seconds; give more than there are between heartbeats.")
    command_line = [*command, *arguments, "--output", str(run), "--resume"]
    events: Events = SimpleQueue()
    before: _Ending | None = None
    in_a_row = 0  # endings without a checkpoint in between, each of which makes the pause longer
    with hearing(events):
        for attempt in range(1, retries + 2):
            pulse = _Pulse(run)
            environment = {ATTEMPT: str(attempt)}
            if processes > 1:
                code, requested, reason = _train_together(command_line, processes, environment, stall, events)
            else:
                code, requested, reason = _train_alone(command_line, environment, pulse, stall, events)
            ending = _describe(code, reason, pulse, run)
            if requested is not None and ending.code not in FINAL:
                return 128 + requested
            if ending.code in FINAL:
                return ending.code
            say = f"attempt {attempt} of {retries + 1} ended: {ending.reason}"
            if ending == before:
                say += ", as before, with no checkpoint in between; it will probably do so again"
            is_new = before is None or ending.checkpoint != before.checkpoint
            in_a_row = 0 if is_new else in_a_row + 1
            before = ending
            if attempt > retries:
                _say(f"{say}; giving up")
                return ending.code
            has_progressed = in_a_row == 0 and ending.checkpoint is not None
            pause = 0.0 if has_progressed else min(2.0**in_a_row, _LONGEST_PAUSE)
            place = "the start" if ending.checkpoint is None else f"the checkpoint of step {ending.checkpoint:,}"
            _say(f"{say}; restarting from {place}" + (f" in {pause:g} s" if pause else ""))
            requested = _pause(events, pause)
            if requested is not None:
                return 128 + requested
    raise AssertionError("the last attempt returns")


def _train_alone(
    command: Sequence[str], environment: Mapping[str, str], pulse: _Pulse, stall: float | None, events: Events
) -> tuple[int, int | None, str]:
    """Run the child once; return its exit code, the signal that requested its end, and the code as text."""
    with started(command, environment, events) as child:
        requested, hangs = _watch(child, events, pulse, stall)
    code = child.returncode
    reason = hangs or (f"killed by {signal_name(-code)}" if code < 0 else f"exit code {code}")
    return code if code >= 0 else 128 - code, requested, reason


def _train_together(
    command: Sequence[str], processes: int, environment: Mapping[str, str], stall: float | None, events: Events
) -> tuple[int, int | None, str]:
    """Run several children once; return what ``_train_alone`` does."""
    with this_machine(processes, environment=environment, start=forked if CAN_FORK else started) as host:
        code, requested = run_group(host, command, events, stall)
    return code, requested, f"exit code {code}"


def _describe(code: int, reason: str, pulse: _Pulse, run: Path) -> _Ending:
    step = pulse.step
    where = "before its first step" if step is None else f"at step {step:,}"
    steps = [item.step for item in describe_run(run).checkpoints if item.is_complete]
    return _Ending(code, f"{reason} {where}", step, max(steps, default=None))


def _watch(
    child: subprocess.Popen[bytes], events: Events, pulse: _Pulse, stall: float | None
) -> tuple[int | None, str | None]:
    """Wait until the child is gone; return the signal that requested it, and how it hung."""
    requested: int | None = None
    hangs: str | None = None
    interval = _LONGEST_LOOK if stall is None else min(stall / 4, _LONGEST_LOOK)
    silent = 0.0
    while True:
        try:
            event = events.get(timeout=None if stall is None else interval)
        except Empty:
            # Checks are counted, not seconds: nothing stalls while the machine sleeps.
            silent = 0.0 if hangs is None and pulse.has_beaten() else silent + interval
            if hangs is None and silent >= patience(stall or 0.0, pulse.phase):
                hangs, silent = f"no heartbeat for {silent:g} s, aborted", 0.0
                child.send_signal(getattr(signal, "SIGABRT", signal.SIGTERM))
            elif hangs is not None and silent >= _SECONDS_TO_DIE:
                child.kill()
            continue
        if event == ENDED:
            return requested, hangs
        if signal_name(event) in STOPPING:
            requested = event
        send(event, child)


def _pause(events: Events, seconds: float) -> int | None:
    """Wait, unless a signal asks to end, and return that."""
    try:
        event = events.get(timeout=seconds)
    except Empty:
        return None
    return event if signal_name(event) in STOPPING else None


class _Pulse:
    """The heartbeat of one attempt, distinguished from that of earlier attempts by its changes."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._last = self._first = self._mark()

    def has_beaten(self) -> bool:
        """Whether there was a heartbeat since the last call."""
        before, self._last = self._last, self._mark()
        return self._last != before

    @property
    def phase(self) -> str | None:
        """What the attempt does; ``None`` before its first heartbeat."""
        phase = self._read().get("phase")
        return phase if isinstance(phase, str) else None

    @property
    def step(self) -> int | None:
        """Steps done; ``None`` before the first heartbeat."""
        step = self._read().get("step")
        return step if isinstance(step, int) else None

    def _read(self) -> dict[str, Any]:
        return read_heartbeat(self._run) if self._mark() != self._first else {}

    def _mark(self) -> tuple[int, int] | None:
        try:
            found = (self._run / HEARTBEAT).lstat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns


def _say(message: str) -> None:
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()
