"""Real runs, and a real dashboard that shows them, as processes of their own."""

from __future__ import annotations

import json
import math
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

ND = (sys.executable, "-c", "from neuro_divergent.interfaces.cli.main import run; run()")
HOSTILE_SERIES = ("<script>alert('series')</script>", "<img src=x onerror=alert('series')>")
HOSTILE_RUN = "<img src=x onerror=alert('run')>"
HORIZON = 12
STORES = 60


def write_table(path: Path) -> None:
    """Write a table of hourly series; the names of two of them would be markup if somebody took them for it."""
    chance = random.Random(7)
    names = [*(f"store-{number:02d}" for number in range(STORES)), *HOSTILE_SERIES]
    begin = datetime(2024, 1, 1)
    with path.open("w", encoding="utf-8") as file:
        file.write("unique_id,ds,y\n")
        for place, name in enumerate(names):
            for hour in range(144):
                value = 50 + place + 10 * math.sin(2 * math.pi * hour / 24) + chance.gauss(0, 1)
                file.write(f'"{name}",{(begin + timedelta(hours=hour)).isoformat()},{value:.4f}\n')


def train_command(table: Path, run: Path, *options: str) -> list[str]:
    """Return the command that trains a small model."""
    task = ("--horizon", str(HORIZON), "--input-size", "24", "--threads", "1", "--quiet")
    return [*ND, "train", str(table), *task, "--output", str(run), *options]


@contextmanager
def training(table: Path, run: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Train without end in a process of its own; it is there once it logged something."""
    endless = ("--model", "nlinear", "--max-steps", "10000000", "--set", "training.early_stopping=none")
    log = run.parent.parent / "training.log"
    with log.open("wb") as output:
        command = train_command(
            table, run, *endless, "--set", "training.log_every=10", "--set", "training.validate_every=100"
        )
        # Politely: the browser, which is what is watched, may have only this core.
        process = subprocess.Popen(["nice", "-n", "15", *command], stdout=output, stderr=output)
        try:
            wait_for(lambda: bool(rows(run)) or process.poll() is not None, 90, "the first row of a training")
            assert process.poll() is None, log.read_text()
            yield process
        finally:
            process.terminate()
            process.wait(60)


class Dashboard:
    """A dashboard as a process of its own.

    Args:
        root: Directory of runs.
        port: Where to listen; 0 for anywhere.
        token: Given, so that one that is started again knows those who knew it before.
        options: More of the command line.
    """

    def __init__(
        self, root: Path, *, port: int = 0, token: str = "0123456789abcdef" * 2, options: Sequence[str] = ()
    ) -> None:
        command = [*ND, "dashboard", str(root), "--port", str(port), *options]
        environment = {**os.environ, "ND_DASHBOARD_TOKEN": token, "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
        assert self._process.stdout is not None
        seen = []
        for line in self._process.stdout:
            seen.append(line.decode())
            if found := re.search(r"(http://[^\s/]+)/#token=(\S+)", line.decode()):
                self.base, self.token = found.groups()
                self.port = int(self.base.rpartition(":")[2])
                return
        raise AssertionError(f"the dashboard does not start: {''.join(seen)}")

    def address(self, fragment: str = "#/") -> str:
        """Return where a part of the page is, for somebody without a token."""
        return f"{self.base}/{fragment}"

    @property
    def address_with_token(self) -> str:
        """What the dashboard prints."""
        return f"{self.base}/#token={self.token}"

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(20)
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def dashboard_of(root: Path, **options: Any) -> Iterator[Dashboard]:
    """Show the runs in a directory."""
    dashboard = Dashboard(root, **options)
    try:
        yield dashboard
    finally:
        dashboard.close()


def rows(run: Path) -> list[dict[str, Any]]:
    """Return what a run logged so far, read without the code that is tested."""
    try:
        lines = (run / "events.jsonl").read_bytes().split(b"\n")[:-1]
    except OSError:
        return []
    return [event for event in map(json.loads, lines) if event["event"] == "row"]


def wait_for(is_true: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait until something is true.

    Raises:
        AssertionError: If it is not after so many seconds.
    """
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.05)
