"""What several commands of ``nd runs`` take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ROOT = Path("runs")

Root = Annotated[Path, typer.Option("--runs", help="Directory in which runs are looked for by name.")]
Names = Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs: paths, or names in the directory of runs.")]
Stale = Annotated[
    float, typer.Option("--stale", help="Seconds without a heartbeat that make a run count as stalled.", min=1)
]
