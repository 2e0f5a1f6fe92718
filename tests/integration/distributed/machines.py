"""Machines that train together, as network namespaces or addresses of this one, and the commands that run on them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from neuro_divergent.runs.status import describe_run
from tests.integration.distributed import cable
from tests.integration.distributed.together import ROOT

PATIENCE = 300.0
"""Seconds to wait for something that takes seconds on a machine that does nothing else."""
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(ROOT / "src"),
    "OMP_NUM_THREADS": "1",
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # where torchrun is
}


class Member(NamedTuple):
    """A process that trains: its rank, the number of processes that it knows of, and its number."""

    rank: int
    world_size: int
    process: int


def members(run: Path) -> list[Member]:
    """Return the processes that train in a run directory, by rank."""
    found = []
    for path in Path("/proc").iterdir():
        if not path.name.isdecimal():
            continue
        try:
            told = dict(item.split(b"=", 1) for item in (path / "environ").read_bytes().split(b"\0") if b"=" in item)
            is_ours = str(run).encode() in (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if is_ours and b"RANK" in told:
            found.append(Member(int(told[b"RANK"]), int(told[b"WORLD_SIZE"]), int(path.name)))
    return sorted(found)


def last_step(run: Path) -> int:
    """Return the step of the last complete checkpoint."""
    return max((item.step for item in describe_run(run).checkpoints if item.is_complete), default=0)


def wait_until(condition: Callable[[], bool], agents: Iterable[Agent] = (), what: str = "") -> float:
    """Return the seconds until a condition holds, while some agents go on."""
    began = time.monotonic()
    while not condition():
        for agent in agents:
            assert agent.process.poll() is None, agent.said()
        if time.monotonic() - began > PATIENCE:
            raise AssertionError(
                f"{what or condition.__name__} did not come about\n" + "\n".join(a.said() for a in agents)
            )
        time.sleep(0.1)
    return time.monotonic() - began


def wait_for_world(run: Path, size: int, agents: Iterable[Agent]) -> float:
    """Return the seconds until so many processes train together and have written a checkpoint."""
    before: int | None = None

    def trains() -> bool:
        nonlocal before
        found = members(run)
        if [(member.rank, member.world_size) for member in found] != [(rank, size) for rank in range(size)]:
            before = None
            return False
        before = last_step(run) if before is None else before
        return last_step(run) > before

    return wait_until(trains, agents, f"training in {size} processes")


class Agent:
    """The command of one machine, running.

    Args:
        command: What ``nd launch`` printed for it.
        log: Where its output goes.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log
        with log.open("w") as output:
            self.process = subprocess.Popen(command, env=ENVIRONMENT, stdout=output, stderr=subprocess.STDOUT)

    def said(self) -> str:
        """Return its output."""
        return self._log.read_text("utf-8", "replace")

    def wait(self, seconds: float = PATIENCE) -> int:
        """Return the exit code."""
        return self.process.wait(seconds)

    def kill(self) -> None:
        """Kill it and the processes that it started, as a machine that loses its power."""
        self.process.send_signal(signal.SIGSTOP)  # so that it starts no other
        for number in _children(self.process.pid):
            os.kill(number, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End it if it still runs."""
        if self.process.poll() is None:
            self.kill()


def _children(number: int) -> list[int]:
    """Return the processes that a process started."""
    found = (Path("/proc") / str(number) / "task" / str(number) / "children").read_text().split()
    return [int(child) for child in found]


def launch_commands(file: Path, run: Path, *more: str) -> dict[str, list[str]]:
    """Return what ``nd launch`` prints for each machine of a file."""
    command = [sys.executable, "-m", "neuro_divergent", "launch", str(file), "-o", str(run), "--json", *more]
    made = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return {item["address"]: item["command"] for item in json.loads(made.stdout)}


class Namespaces:
    """Two machines as two network namespaces with a cable between them; nothing leaves them.

    Args:
        delay: Seconds that a packet travels.
        loss: Fraction of the packets of the second machine that are lost.

    Attributes:
        addresses: Their addresses, the main machine first.
    """

    addresses = ("10.201.0.1", "10.201.0.2")

    def __init__(self, delay: float = 0.0, loss: float = 0.0) -> None:
        self._names = tuple(f"neuro-divergent-{os.getpid()}-{place}" for place in range(2))
        self._delay, self._loss = delay, loss
        self._cable: subprocess.Popen[str] | None = None

    @staticmethod
    def missing() -> str | None:
        """Return why there can be none, or ``None``."""
        if shutil.which("ip") is None:
            return "the command ip is missing (package iproute2)"
        if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
            return "there is no /dev/net/tun that may be used"
        name = f"neuro-divergent-{os.getpid()}-try"
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
        if made.returncode:
            return f"network namespaces may not be made: {made.stderr.strip()}"
        _run("ip", "netns", "delete", name)
        return None

    def __enter__(self) -> Namespaces:
        try:
            for name in self._names:
                _run("ip", "netns", "add", name)
            self._connect(*self._names)
            for name, address in zip(self._names, self.addresses, strict=True):
                _run("ip", "-n", name, "address", "add", f"{address}/24", "dev", cable.DEVICE)
                _run("ip", "-n", name, "link", "set", "lo", "up")
                _run("ip", "-n", name, "link", "set", cable.DEVICE, "up")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _connect(self, first: str, second: str) -> None:
        if not self._delay and not self._loss:
            pair = (cable.DEVICE, "netns", first, "type", "veth", "peer", "name", cable.DEVICE, "netns", second)
            _run("ip", "link", "add", *pair)
            return
        command = [sys.executable, cable.__file__, first, second, str(self._delay), str(self._loss)]
        self._cable = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._cable.stdout is not None
        assert self._cable.stdout.readline() == cable.READY

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._cable is not None:
            with self._cable:  # closes its pipe
                self._cable.kill()
        for name in self._names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)

    def cut(self) -> None:
        """Pull the cable."""
        _run("ip", "-n", self._names[1], "link", "set", cable.DEVICE, "down")

    def mend(self) -> None:
        """Plug the cable in again."""
        _run("ip", "-n", self._names[1], "link", "set", cable.DEVICE, "up")

    def inside(self, address: str, command: Sequence[str]) -> list[str]:
        """Return a command that runs on one of the machines."""
        return ["ip", "netns", "exec", self._names[self.addresses.index(address)], *command]


def _run(*command: str) -> None:
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
