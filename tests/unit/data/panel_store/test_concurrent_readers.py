"""Readers of a panel that another process writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl

from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel

WRITER = """
import sys
import numpy as np, polars as pl
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_store.compaction import compact
for step in range(1, 16):
    times = np.arange(10 * step, 10 * step + 10)
    Panel.append(sys.argv[1], pl.DataFrame({"ds": times, "y": times.astype(float)}))
    if step % 3 == 0:
        compact(sys.argv[1])
"""


def test_who_opens_a_panel_while_another_appends_and_compacts_sees_all_or_nothing_of_a_part(tmp_path: Path) -> None:
    directory = tmp_path / "panel"
    build_panel(pl.DataFrame({"ds": range(10), "y": np.arange(10.0)})).save(directory)
    sizes = []
    with subprocess.Popen([sys.executable, "-c", WRITER, str(directory)]) as writer:
        while writer.poll() is None:
            panel = Panel.open(directory)
            assert len(panel) % 10 == 0
            np.testing.assert_array_equal(np.asarray(panel.y), np.arange(len(panel)))
            sizes.append(len(panel))
    assert writer.returncode == 0
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 2
    assert len(Panel.open(directory)) == 160
