"""``nd runs show``: everything about one run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from neuro_divergent.interfaces.cli.options import AsJson
from neuro_divergent.interfaces.cli.runs.display import next_step, show_run
from neuro_divergent.interfaces.cli.runs.naming import find_run
from neuro_divergent.interfaces.cli.runs.options import ROOT, Root, Stale

if TYPE_CHECKING:
    from neuro_divergent.interfaces.cli.screen import Screen

EXAMPLES = """\b
Examples:
  nd runs show sales-nhits-20260101-120000
  nd runs show runs/sales-nhits-20260101-120000 --json
"""


def show_command(
    name: Annotated[str, typer.Argument(metavar="RUN", help="A run: its path, or its name in the directory of runs.")],
    root: Root = ROOT,
    stale: Stale = 300.0,
    as_json: AsJson = False,
) -> None:
    """Show one run: its state, scores, processes, checkpoints and what to do next."""
    from neuro_divergent.interfaces.cli.screen import Screen

    show_one(find_run(name, root), stale, Screen(as_json=as_json))


def show_one(path: Path, stale: float, screen: Screen) -> None:
    """Show everything about the run in a directory."""
    from neuro_divergent.runs.events import read_events
    from neuro_divergent.runs.processes import KINDS, processes_of, summarize_processes
    from neuro_divergent.runs.status import describe_run

    run = describe_run(path, stale=stale)
    processes = summarize_processes(processes_of(read_events(path, *KINDS)))
    show_run(run, processes, screen)
    told = [process.to_dict() for process in processes]
    screen.result({**run.to_dict(), "processes": told, "next": next_step(run)})
