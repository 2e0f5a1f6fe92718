"""Scoring in processes that end themselves with SIGKILL before a chosen change of the file system.

``python -m tests.unit.serving.scoring.killed_scoring`` imports everything and forks a process for each line that it
reads. Nothing of polars is used before the fork, since its threads would be missing after it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np

from neuro_divergent.core.arrays import Array, Floats32
from neuro_divergent.serving.description import Description
from neuro_divergent.serving.scoring.database import SqlQuery
from neuro_divergent.serving.scoring.score_files import score_files

ROOT = Path(__file__).parents[4]
MADE_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")


class LastValue:
    """A graph that repeats the last value of each series, without torch and onnxruntime."""

    def __init__(self, digest: str = "v1") -> None:
        self.description = Description(
            package="1",
            kind="Forecaster",
            architecture="naive",
            digest=digest,
            horizon=3,
            input_size=4,
            target="sales",
            time="day",
            id="store",
            time_type="datetime",
            time_unit="us",
            frequency="1d",
            quantiles=(0.1, 0.9),
        )

    def run(self, inputs: Mapping[str, Array]) -> Floats32:
        """Return the last value and 1 less and more."""
        point = np.repeat(inputs["past_y"][:, -1:], 3, axis=1)[..., None]
        return np.concatenate([point, point - 1, point + 1], axis=-1)


def run(job: dict[str, Any]) -> int:
    """Score, and die before a change of the file system below the output; return how many there were."""
    changes = 0

    def audit(name: str, arguments: tuple[Any, ...]) -> None:
        nonlocal changes
        if name == "open":
            is_change = isinstance(arguments[2], int) and bool(arguments[2] & _WRITING)
        else:
            is_change = name in _CHANGES
        if is_change and str(arguments[0]).startswith(job["output"]):
            if changes == job["dies_before"]:
                os.kill(os.getpid(), signal.SIGKILL)
            changes += 1

    sys.addaudithook(audit)
    source = SqlQuery(job["query"], job["source"]) if job.get("query") else job["source"]
    score_files(LastValue(), source, job["output"], levels=[80], made_at=MADE_AT)
    return changes


class ScoringServer:
    """The process that forks."""

    def __enter__(self) -> Self:
        """Start it."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            cwd=ROOT,
            env={**os.environ, "POLARS_MAX_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *exception: object) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def run(self, **job: Any) -> int | None:
        """Return how many changes of the file system a run made; ``None`` if it died."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"dies_before": -1, **job}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert answer["code"] in (0, -signal.SIGKILL), answer
        return answer["changes"] if answer["code"] == 0 else None


def _child(line: str, answer: int) -> NoReturn:
    code = 1
    try:
        signal.alarm(120)
        os.write(answer, str(run(json.loads(line))).encode())
        code = 0
    except BaseException:  # noqa: BLE001 - the test shows it
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _serve() -> None:
    while line := sys.stdin.readline().strip():
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # no thread does anything here
            child = os.fork()
        if not child:
            _child(line, writing)
        os.close(writing)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        changes = os.read(reading, 100).decode()
        os.close(reading)
        sys.stdout.write(json.dumps({"code": code, "changes": int(changes) if changes else None}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
