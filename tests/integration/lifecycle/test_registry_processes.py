"""Processes that register and promote at the same time and are killed at random moments."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from neuro_divergent.lifecycle.registry.registry import Registry
from tests.postgresql import new_database
from tests.unit.lifecycle.registry.models import forecaster, table

PROGRAM = Path(__file__).parents[3] / "benchmarks" / "registry.py"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks and kills as POSIX systems do")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a small model."""
    path = tmp_path_factory.mktemp("base") / "model"
    forecaster().fit(table()).save(path)
    return path


def trial(place: Path, base: Path, address: str | None = None, *, processes: int, count: int, kills: int) -> None:
    """Run the benchmark with few processes; it raises where something acknowledged was lost, and so do models here."""
    address, blobs = address or str(place / "registry.db"), place / "blobs"
    numbers = {"--processes": processes, "--count": count, "--kills": kills}
    options = [text for name, number in numbers.items() for text in (name, str(number))]
    options += ["--address", address, "--blobs", str(blobs), "--base", str(base), "--files-only", "--json"]
    command = [sys.executable, str(PROGRAM), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["problems"] == []
    assert result["versions"] == processes * count
    assert result["kills"] == kills
    with Registry(address, blobs=blobs, create=False) as registry:
        for version in registry.list("sales"):
            assert version.load().is_fitted


def test_processes_and_kills_on_sqlite_lose_nothing(tmp_path: Path, base: Path) -> None:
    trial(tmp_path, base, processes=4, count=15, kills=5)


@pytest.mark.long
def test_many_processes_and_kills_on_sqlite_lose_nothing(tmp_path: Path, base: Path) -> None:
    trial(tmp_path, base, processes=8, count=60, kills=40)


@pytest.mark.long
def test_many_processes_and_kills_on_postgresql_lose_nothing(tmp_path: Path, base: Path, postgresql: str) -> None:
    address = new_database(postgresql, "registry_processes")
    trial(tmp_path, base, address, processes=8, count=60, kills=40)
