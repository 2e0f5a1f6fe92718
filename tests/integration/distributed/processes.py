"""Processes that wait for work, so that many tests share the time it takes to start them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

_SECONDS = 240
_ANSWER = "answer: "


class Processes:
    """A group of processes that call functions of test modules together and return what each of them returned."""

    def __init__(self, size: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        common = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
        sizes = {"WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size)}
        self._running = [
            subprocess.Popen(
                [sys.executable, "-W", "error", "-m", __name__],
                env={**common, **sizes, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                cwd=Path(__file__).parents[3],
            )
            for rank in range(size)
        ]

    def call(self, module: str, function: str, *arguments: Any) -> list[Any]:
        """Call a function of a module in all processes; arguments and results are plain values."""
        told: list[str] = ["" for _ in self._running]
        limit = threading.Timer(_SECONDS, self.close)
        limit.start()
        try:
            for process in self._running:
                assert process.stdin is not None
                process.stdin.write(json.dumps([module, function, arguments]) + "\n")
                process.stdin.flush()
            results = [self._answer(process, told, rank) for rank, process in enumerate(self._running)]
        finally:
            limit.cancel()
        return results

    def close(self) -> None:
        """End the processes."""
        for process in self._running:
            with process:  # closes its pipes
                process.kill()

    def _answer(self, process: subprocess.Popen[str], told: list[str], rank: int) -> Any:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(_ANSWER):
                return json.loads(line.removeprefix(_ANSWER))
            told[rank] += line
        self.close()
        raise AssertionError(f"process {rank} ended: {told[rank]}")


def main() -> None:
    """Do what the parent asks for, until it goes."""
    for line in sys.stdin:
        module, function, arguments = json.loads(line)
        result = getattr(import_module(module), function)(*arguments)
        sys.stdout.write(_ANSWER + json.dumps(result) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
