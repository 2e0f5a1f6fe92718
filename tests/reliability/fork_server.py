"""Processes that train and can be ended at any moment, forked from one that has imported everything already.

``python -m tests.reliability.fork_server PLACE`` trains all there is, so that what is loaded late is there, and
then forks a process for each line that it reads. Whoever asked gets its number, ends it when he likes, and hears how it
ended.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import NoReturn, Self

import torch

from neuro_divergent.core.errors import Interrupted
from tests.reliability.moment import Moment
from tests.reliability.trained import VARIANTS, PreparedData, train

ROOT = Path(__file__).parents[2]
_MEMORY = Path("/dev/shm")


class Process:
    """A process that the server has forked; ``wait`` before the next one is asked for."""

    def __init__(self, server: ForkServer, job: PreparedData) -> None:
        self._server = server
        self.moment = Moment(job.moment)
        self.moment.clear()
        self.pid = int(server.ask(json.dumps(asdict(job))))

    def send(self, number: signal.Signals) -> None:
        """Send a signal; one that has ended does not mind, for the server keeps its number until ``wait``."""
        os.kill(self.pid, number)

    def await_start(self) -> None:
        """Wait until training has begun."""
        self._await(lambda: self.moment.phase != "starting")

    def await_slow_pass(self) -> None:
        """Wait until the pass has begun that takes long."""
        self._await(lambda: self.moment.is_slow)

    def await_hearing(self) -> None:
        """Wait until a signal is heard."""
        self._await(lambda: self.moment.heard > 0)

    def _await(self, happens: Callable[[], bool]) -> None:
        end = time.monotonic() + 30
        while not happens():
            time.sleep(0.001)
            assert time.monotonic() < end, self._server.errors()

    def wait(self) -> int:
        """Return the exit code, or the negative number of the signal that ended it."""
        return int(self._server.ask("wait"))


class ForkServer:
    """The server, and what it says.

    Args:
        place: Where it trains each variant itself, which nothing interrupts.
    """

    def __init__(self, place: Path) -> None:
        self.whole = {name: PreparedData(str(place / name), name) for name in VARIANTS}
        self._place = place

    def __enter__(self) -> Self:
        """Start it."""
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", __name__, str(self._place)],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        assert self._read() == "ready"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def ask(self, line: str) -> str:
        """Say something and return the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._read()

    def errors(self) -> str:
        """Return all that was written to standard error, by all processes."""
        self._errors.seek(0)
        return self._errors.read()

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line, self.errors()
        return line


@contextmanager
def running_server() -> Iterator[tuple[ForkServer, Path]]:
    """Run a server, and give a directory with it.

    The directory is in memory where there is such a thing: what a killed process wrote is there, synced or not.
    """
    with TemporaryDirectory(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None) as made:
        place = Path(made).resolve()
        with ForkServer(place / "whole") as server:
            yield server, place


def _warm_up(place: Path) -> None:
    """Train each variant to its end, and take it up again there, so that nothing is left to import."""
    for name in VARIANTS:
        job = PreparedData(str(place / name), name)
        Path(job.place).mkdir(parents=True)
        train(job)
        train(job)


def _child(job: PreparedData) -> NoReturn:
    """Train in this process and end it the way the command line does."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let what runs behind them ignore it
        os.close(0)
        os.dup2(2, 1)
        try:
            train(job)
            code = 0
        except Interrupted as interruption:
            code = interruption.exit_code
        except KeyboardInterrupt:
            code = 130
        except BaseException:  # noqa: BLE001 - the test shows it
            traceback.print_exc()
            sys.stderr.flush()
    finally:
        os._exit(code)


def _serve() -> None:
    torch.set_num_threads(1)
    _warm_up(Path(sys.argv[1]))
    _say("ready")
    child = 0
    while line := sys.stdin.readline().strip():
        if line == "wait":
            _say(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
            continue
        with warnings.catch_warnings():
            # No other thread does anything any more; Python from 3.12 on cannot know that.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            _child(PreparedData(**json.loads(line)))
        _say(str(child))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _serve()
    os._exit(0)  # there is nothing to tidy up, and torch takes its time for that
