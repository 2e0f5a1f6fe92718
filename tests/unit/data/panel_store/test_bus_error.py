"""Real processes whose mapped file is cut off between the check and the read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from neuro_divergent.data.panel_builder import build_panel

BEGIN = """
import os, sys, threading
from neuro_divergent.data.panel import Panel
panel = Panel.open(sys.argv[1])
assert panel.y[:10].sum() == 45
panel.check_files()
os.truncate(sys.argv[1] + "/y.float32", 4096)
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows refuses to cut off a mapped file")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    build_panel(pl.DataFrame({"ds": range(100_000), "y": np.arange(100_000.0)})).save(tmp_path / "panel")
    return tmp_path / "panel"


def run(code: str, directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, str(directory)], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    "read",
    [
        "panel.y[50_000:].sum()",
        "panel.lengthened(100_003).y[60_000:60_010].sum()",
        "thread = threading.Thread(target=lambda: panel.y[50_000:].sum()); thread.start(); thread.join()",
    ],
)
def test_a_file_cut_off_while_it_is_read_is_one_line_and_exit_code_4(read: str, directory: Path) -> None:
    done = run(BEGIN + read, directory)
    assert done.returncode == 4
    assert done.stderr == (
        f"error: {directory}: a file was cut off, or its disk failed, while its values were read. Check it with: nd "
        "panel check, or build it again.\n"
    )


def test_the_handler_is_gone_when_no_panel_is_open(directory: Path) -> None:
    code = "import gc, os, signal\n" + BEGIN.replace("os.truncate", "del panel; gc.collect(); os.truncate")
    done = run(code + "os.kill(os.getpid(), signal.SIGBUS)", directory)
    assert done.returncode == -7
    assert done.stderr == ""


def test_a_handler_of_somebody_else_stays(directory: Path) -> None:
    code = "import faulthandler; faulthandler.enable()\n" + BEGIN + "panel.y[50_000:].sum()"
    done = run(code, directory)
    assert done.returncode == -7
    assert "Fatal Python error: Bus error" in done.stderr
