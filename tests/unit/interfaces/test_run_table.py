"""The table of runs on a terminal."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from neuro_divergent.interfaces.cli.runs.display import run_table
from neuro_divergent.runs.status import list_runs
from tests.unit.runs.runs import make_run


def test_a_narrow_terminal_leaves_out_columns_and_never_breaks_a_name(tmp_path: Path) -> None:
    names = [f"sales-nhits-20261118-2117{number}" for number in (53, 54)]
    for name in names:
        make_run(tmp_path / name)
    found = list_runs(tmp_path)
    for width, has_checkpoints in ((120, True), (80, False)):
        console = Console(file=io.StringIO(), width=width)
        console.print(run_table(found, width))
        text = console.file.getvalue()
        assert all(name in text for name in names)
        assert len(text.splitlines()) == 3
        assert ("checkpoints" in text) is has_checkpoints
