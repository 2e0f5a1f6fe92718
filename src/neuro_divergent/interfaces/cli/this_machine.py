"""The processes of a training that all run on this machine."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from neuro_divergent.core.call_counter import COUNTERS, create_counters
from neuro_divergent.core.launched import LAUNCHER
from neuro_divergent.core.threads import available_cores
from neuro_divergent.interfaces.cli.child_process import Child, Events, started
from neuro_divergent.interfaces.cli.launcher import MESSAGE, Host


class Start(Protocol):
    """Starts a process for a block, as ``child_process.started`` does."""

    def __call__(
        self, command: Sequence[str], environment: Mapping[str, str], events: Events, *, mark: int, **streams: Any
    ) -> AbstractContextManager[Child]:
        """Start it; ``mark`` is put among the events when it is gone."""
        ...


@contextmanager
def this_machine(
    processes: int, *, environment: Mapping[str, str] | None = None, start: Start = started
) -> Iterator[Host]:
    """Open this machine for a block, for one group of processes.

    Args:
        processes: How many.
        environment: Variables of theirs, in addition to those of this process.
        start: How each of them is started.
    """
    with tempfile.TemporaryDirectory(prefix="neuro-divergent-") as place:
        yield _ThisMachine(Path(place), processes, environment or {}, start)


class _ThisMachine(Host):
    def __init__(self, place: Path, processes: int, environment: Mapping[str, str], start: Start) -> None:
        self._place = place
        self._environment = environment
        self._start = start
        self.size = processes
        self.counters: Path | None = place / "calls"
        create_counters(self.counters, processes)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = str(free.getsockname()[1])

    @contextmanager
    def start(self, command: Sequence[str], rank: int, events: Events) -> Iterator[Child]:
        size = str(self.size)
        environment = {
            **self._environment,
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": size,
            "LOCAL_WORLD_SIZE": size,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": self._port,
            "OMP_NUM_THREADS": str(max(available_cores() // self.size, 1)),
            COUNTERS: str(self.counters),
            LAUNCHER: "1",
        }
        with self._log(rank).open("wb") as log, Path(os.devnull).open("wb") as nowhere:
            streams = {} if rank == 0 else {"stdout": nowhere, "stderr": log}
            with self._start(command, environment, events, mark=-rank, **streams) as child:
                yield child

    def said(self, rank: int) -> str:
        return self._log(rank).read_bytes()[-MESSAGE:].decode("utf-8", "replace")

    def name(self, rank: int) -> str:
        return f"process {rank} of {self.size}"

    def _log(self, rank: int) -> Path:
        return self._place / f"{rank}.log"
