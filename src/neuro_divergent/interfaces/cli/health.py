"""``nd health``: the state of a run as an exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neuro_divergent.core.formatting import format_duration
from neuro_divergent.interfaces.cli.options import AsJson
from neuro_divergent.interfaces.cli.runs import Stale, next_step, show_progress

EXAMPLES = """\b
Examples:
  nd health runs/sales
  nd health runs/sales --stale 60 --json
  nd health runs/sales || mail -s 'sales needs a look' me@example.org
"""
_CONTINUOUS = "continuous.toml"


def health(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.")],
    stale: Stale = 300.0,
    as_json: AsJson = False,
) -> None:
    """Exit with 0 if a run trains or is finished, with 1 if not."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.runs.status import describe_run, is_run

    if (run / _CONTINUOUS).is_file():
        raise InputError(f"{run}: is no run but continuous training; see 'nd continuous status {run} --stale 2h'.")
    if not is_run(run):
        raise InputError(f"{run}: {'is not a run' if run.exists() else 'not found'}; give a directory of 'nd train'.")
    found = describe_run(run, stale=stale)
    parts = [f"{run}: {found.state}", show_progress(found)]
    if found.quiet is not None:
        parts.append(f"last heartbeat {format_duration(found.quiet)} ago")
    following = None if found.is_healthy else next_step(found)
    screen = Screen(as_json=as_json)
    screen.say(", ".join(parts) + ("" if following is None else f"; next: {following}"))
    screen.result({**found.to_dict(), "healthy": found.is_healthy, "next": next_step(found)})
    if not found.is_healthy:
        raise typer.Exit(1)
