"""Runs a function of a test module in several processes that train together."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


def free_port() -> int:
    """Return a port of this machine that nobody uses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def environment(rank: int, processes: int, port: int) -> dict[str, str]:
    """Return the variables of one of some processes, as torchrun would set them."""
    return {
        **os.environ,
        "RANK": str(rank),
        "WORLD_SIZE": str(processes),
        "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": str(processes),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
    }


def run_together(function: str, processes: int = 2, *arguments: Any, timeout: float = 600) -> list[Any]:
    """Call ``module:function`` with some arguments in each of several processes, and return what each returned.

    Arguments and results are plain values.
    """
    module, _, name = function.partition(":")
    script = (
        f"import json, os, sys\nfrom {module} import {name}\n"
        f"result = {name}(*json.loads(sys.argv[1]))\nprint('RESULT' + json.dumps(result), flush=True)\n"
        "os._exit(0)\n"  # torch aborts one in some dozen processes when the interpreter is torn down
    )
    port = free_port()
    running = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", script, json.dumps(arguments)],
            env=environment(rank, processes, port),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for rank in range(processes)
    ]
    try:
        spoken = [process.communicate(timeout=timeout) for process in running]
    finally:
        for process in running:
            process.kill()
    failed = [said for process, (_, said) in zip(running, spoken, strict=True) if process.returncode]
    assert not failed, min(failed, key=lambda said: "ProcessLostError" in said)[-3000:]
    lines = [next(line for line in heard.splitlines() if line.startswith("RESULT")) for heard, _ in spoken]
    return [json.loads(line.removeprefix("RESULT")) for line in lines]


def largest_difference(ours: Mapping[str, list[float]], theirs: Mapping[str, list[float]]) -> float:
    """Return the largest difference of weights, relative to the largest weight of their tensor."""
    assert ours.keys() == theirs.keys()
    found = 0.0
    for name, values in ours.items():
        scale = max((abs(value) for value in theirs[name]), default=0.0) or 1.0
        apart = max((abs(a - b) for a, b in zip(values, theirs[name], strict=True)), default=0.0)
        found = max(found, apart / scale)
    return found
