"""``nd train`` in several processes of which one runs out of memory or disk. Real processes, limited by the system."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from neuro_divergent.core.errors import StorageError
from tests.integration.distributed.test_training_command import ENVIRONMENT, command, ranks_of, table, wait_for_step

resource = pytest.importorskip("resource")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="sets limits of other processes, as Linux does"),
]

__all__ = ["table"]  # the fixture


def limited(table: Path, run: Path, rank: int, limit: int, value: int) -> subprocess.CompletedProcess[str]:
    """Train, set a limit of one of the processes after some steps, and return how it ended."""
    given = command(table, run, "--processes", "2", "--max-steps", "100000")
    with subprocess.Popen(given, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        wait_for_step(run, 10, process)
        resource.prlimit(ranks_of(run)[rank], limit, (value, value))
        said = process.communicate(timeout=120)[1]
    return subprocess.CompletedProcess(given, process.returncode, "", said)


def test_full_disk_of_the_process_that_writes_ends_all_with_one_message(table: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    made = limited(table, run, 0, resource.RLIMIT_FSIZE, 2000)  # of a file: a checkpoint has more
    assert made.returncode == StorageError.exit_code, made.stderr
    assert made.stderr.count("error:") == 1
    assert "Traceback" not in made.stderr
    assert not ranks_of(run)


@pytest.mark.parametrize("rank", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_process_without_memory_ends_all_with_one_message(table: Path, tmp_path: Path, rank: int) -> None:
    run = tmp_path / "run"
    made = limited(table, run, rank, resource.RLIMIT_AS, 1)
    assert made.returncode not in (0, 130, 143), made.stderr
    assert made.stderr.count("error:") == 1, made.stderr
    assert "memory" in made.stderr
    assert "Traceback" not in made.stderr
    assert not ranks_of(run)
