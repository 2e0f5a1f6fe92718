"""A training in two processes, of which one is killed again and again, ends with the weights of one that was not."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median

import pytest

from neuro_divergent.data.datasets.synthetic import Synthetic
from tests.integration.distributed import test_training_command as commands

KILLS = 60
STEPS = 1500
MORE = ("--processes", "2", "--max-steps", str(STEPS))
LONGEST = 2.0  # seconds from the start of the processes to a kill, at most

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX systems do"),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes through /proc"),
]


def is_back(run: Path, before: int, process: subprocess.Popen[str]) -> float:
    """Return the seconds until a training has gone on after a kill: it has made new steps, or is over."""
    began = time.monotonic()
    while time.monotonic() - began < 120:
        if process.poll() is not None or starts(run) > before:
            return time.monotonic() - began
        time.sleep(0.05)
    raise AssertionError("training did not go on within two minutes")


def starts(run: Path) -> int:
    """Return how often training has begun."""
    try:
        return (run / "events.jsonl").read_text().count('"event":"start"')
    except OSError:
        return 0


def test_a_run_goes_on_after_each_kill_of_any_process_and_ends_with_the_same_weights(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    table = tmp_path / "series.csv"
    Synthetic(num_series=3, length=120, noise=0.3).frame().write_csv(table)
    commands.train(table, tmp_path / "whole", *MORE)
    draw, kills, waits, runs = Random(5), 0, [], 0
    while kills < KILLS:
        run = tmp_path / f"killed-{runs}"
        runs += 1
        given = commands.command(table, run, *MORE, "--retries", "1000")
        process = subprocess.Popen(given, env=commands.ENVIRONMENT, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and kills < KILLS:
            time.sleep(draw.uniform(0.2, LONGEST))
            found, before = commands.ranks_of(run), starts(run)
            if len(found) < 2 or not before:
                continue
            try:
                os.kill(found[draw.randint(0, 1)], signal.SIGKILL)
            except ProcessLookupError:
                continue
            kills += 1
            seconds = is_back(run, before, process)
            if process.poll() is None:  # else training was over, and only results were to be written
                waits.append(seconds)
        said = process.communicate(timeout=600)[1]
        assert process.returncode == 0, said
        assert not commands.ranks_of(run)
        named = re.findall(r"error: process [01] of 2 was killed by SIGKILL", said)
        assert said.count("error:") == len(named), said
        assert commands.weights(run) == commands.weights(tmp_path / "whole")
    record_property("kills", kills)
    record_property("median_seconds_until_it_goes_on", median(waits))
    record_property("longest_seconds_until_it_goes_on", max(waits))
