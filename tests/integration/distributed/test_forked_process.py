"""Processes that are forked from one that has torch loaded. Real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from neuro_divergent.interfaces.cli.forked_process import CAN_FORK
from tests.integration.distributed.test_launcher import is_alive, require_end
from tests.integration.distributed.together import ROOT

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="forks only on Linux")

PROGRAM = "tests.integration.distributed.forked_program"
STARTER = f"""
import os, sys
from queue import SimpleQueue
from neuro_divergent.interfaces.cli.forked_process import forked
place, *ways = sys.argv[1:]
for number, way in enumerate(ways):
    told = {{"RANK": "1", "WORLD_SIZE": "2", "ATEN_CPU_CAPABILITY": "default" if number else ""}}
    events = SimpleQueue()
    command = ["python", "-m", "{PROGRAM}", f"{{place}}/{{number}}", *way.split()]
    with open(f"{{place}}/said", "wb") as said, open(os.devnull, "wb") as nowhere:
        with forked(command, told, events, mark=-7, stdout=nowhere, stderr=said) as child:
            assert events.get() == -7
    print(child.returncode, child.poll(), child.wait())
assert "torch" not in sys.modules and os.environ.get("RANK") is None and os.environ.get("OPENBLAS_NUM_THREADS") is None
"""


def start(place: Path, *ways: str) -> subprocess.Popen[str]:
    told = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    for name in ("OPENBLAS_NUM_THREADS", "RANK"):
        told.pop(name, None)
    given = [sys.executable, "-c", STARTER, str(place), *ways]
    return subprocess.Popen(given, env=told, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def found(place: Path) -> dict[str, Any]:
    """Return what a process has written, once it has."""
    for _ in range(600):
        if place.exists():
            answer: dict[str, Any] = json.loads(place.read_text())
            return answer
        time.sleep(0.1)
    raise AssertionError("the process did not start")


def test_forked_processes_have_torch_loaded_their_own_variables_and_the_exit_codes_of_others(tmp_path: Path) -> None:
    said, wrong = (process := start(tmp_path, "exit 0", "exit 5", "signal SIGKILL")).communicate(timeout=120)
    assert process.returncode == 0, wrong
    assert wrong == ""
    assert said.splitlines() == ["0 0 0", "5 5 5", "-9 -9 -9"]
    first, second, third = (found(tmp_path / str(number)) for number in range(3))
    assert len({item.pop("process") for item in (first, second, third)}) == 3
    first.pop("instructions")  # whatever this processor has
    assert second.pop("instructions") == "DEFAULT"  # the variable is read after the fork
    assert first == {
        "has_torch": True,
        "has_polars": False,
        "threads_of_parent": 1,  # with more of them, a lock could be held for ever
        "leads_its_group": True,
        "launched": [1, 2, 1, 2],
    }
    assert second == first
    assert (tmp_path / "said").read_text() == "to the standard error\n"


@pytest.mark.long
def test_a_forked_process_ends_when_the_one_that_asked_for_it_is_killed(tmp_path: Path) -> None:
    process = start(tmp_path, "wait")
    number = found(tmp_path / "0")["process"]
    assert is_alive(number)
    process.kill()
    process.communicate()
    require_end([number])
