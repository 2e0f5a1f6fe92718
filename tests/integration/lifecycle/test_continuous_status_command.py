"""``nd continuous status --stale``: whether continuous training still ticks, as an exit code."""

from __future__ import annotations

import os
import shlex
import sys
import time
from datetime import date, timedelta
from pathlib import Path

import pytest

from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.interfaces.cli import main
from neuro_divergent.lifecycle.continuous.continuous import LAST_TICK, LOCK


@pytest.fixture
def nd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)

    def run(call: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["nd", *shlex.split(call)])
        return main._run(), "".join(capsys.readouterr())

    return run


def write_source(path: Path, rows: int) -> None:
    """Write the first rows of a series of days."""
    days = [date(2024, 1, 1) + timedelta(days=day) for day in range(rows)]
    path.write_text("ds,y\n" + "".join(f"{day},{place * 37 % 11}\n" for place, day in enumerate(days)))


def test_a_tick_that_is_too_long_ago_is_exit_code_1(nd, tmp_path: Path) -> None:
    assert nd("continuous init load --source load.csv --horizon 7")[0] == 0
    settings = tmp_path / "load" / "continuous.toml"
    settings.write_text(
        settings.read_text().replace('name = "nhits"', 'name = "nlinear"').replace("max_steps = 1000", "max_steps = 5")
    )
    code, text = nd("continuous status load --stale 2h")
    assert (code, "none yet" in text) == (1, True)
    with RunLock(tmp_path / "load" / LOCK):
        assert nd("continuous status load --stale 2h")[0] == 0  # the first one is under way
    assert nd("continuous tick load")[0] == 2  # there is no load.csv
    assert nd("continuous status load --stale 2h")[0] == 1
    write_source(tmp_path / "load.csv", 10)
    code, text = nd("continuous tick load")
    assert (code, "Begin with more rows" in text) == (0, True)  # a decision, after which more rows are tried
    write_source(tmp_path / "load.csv", 90)
    assert nd("continuous tick load")[0] == 0
    assert nd("continuous status load --stale 2h")[0] == 0
    before = time.time() - 3 * 3600
    os.utime(tmp_path / "load" / LAST_TICK, (before, before))
    with RunLock(tmp_path / "load" / LOCK):  # and one that hangs does not count
        assert nd("continuous status load --stale 2h")[0] == 1
    code, text = nd("continuous status load --stale 2h")
    assert (code, "3 h ago" in text) == (1, True)
    assert nd("continuous status load --stale 4h")[0] == 0
    assert nd("continuous status load")[0] == 0


def test_health_of_continuous_training_names_the_command_for_it(nd) -> None:
    nd("continuous init load --source load.csv --horizon 7")
    code, text = nd("health load")
    assert code == 2
    assert "'nd continuous status load --stale 2h'" in text
