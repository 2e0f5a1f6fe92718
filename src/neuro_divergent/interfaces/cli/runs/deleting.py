"""``nd runs delete``: deletes runs, or only checkpoints that are not needed."""

from __future__ import annotations

from typing import Annotated

import typer

from neuro_divergent.interfaces.cli.options import AsJson
from neuro_divergent.interfaces.cli.runs.naming import find_runs
from neuro_divergent.interfaces.cli.runs.options import ROOT, Names, Root

EXAMPLES = """\b
Examples:
  nd runs delete first second
  nd runs delete first --yes
  nd runs delete first --checkpoints
"""


def delete_command(
    names: Names,
    checkpoints: Annotated[
        bool, typer.Option("--checkpoints", help="Delete only checkpoints, and keep the best and the last.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    root: Root = ROOT,
    as_json: AsJson = False,
) -> None:
    """Delete runs with their models; runs in training are kept."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.core.formatting import format_bytes
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.runs.remove import check_removable, delete_checkpoints, delete_run, size_of

    paths = find_runs(names, root)
    for path in paths:
        check_removable(path)
    what = "old checkpoints of " if checkpoints else ""
    if not yes:
        if as_json:
            raise InputError("--json asks no questions; say --yes to delete.")
        for path in paths:
            typer.echo(f"  {path} ({format_bytes(size_of(path))})", err=True)
        runs = "this run" if len(paths) == 1 else f"these {len(paths)} runs"
        typer.confirm(f"Delete {what}{runs} for good?", abort=True, err=True)
    screen = Screen(as_json=as_json)
    deleted = []
    for path in paths:
        freed = delete_checkpoints(path) if checkpoints else delete_run(path)
        deleted.append({"path": str(path), "bytes": freed})
        screen.say(f"Deleted {what}{path}; {format_bytes(freed)} are free.")
    screen.result({"deleted": deleted})
