"""``nd continuous status``."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.continuous.status import ContinuousStatus

EXAMPLES = """\b
Examples:
  nd continuous status load
  nd continuous status load --json
  nd continuous status load --stale 2h || mail -s 'load needs a look' me@example.org
"""


def status_command(
    directory: Annotated[Path, typer.Argument(help="Directory that 'nd continuous init' has made.")],
    decisions: Annotated[int, typer.Option(help="Decisions to show.", min=1)] = 10,
    stale: Annotated[
        str | None,
        typer.Option(
            "--stale",
            metavar="2h",
            help="Exit with 1 if the last tick is longer ago, or a hook failed.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show the champion, the comparison that is under way, incidents, and the latest decisions with their reasons."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.interfaces.cli.screen import Screen, new_table
    from neuro_divergent.lifecycle.continuous.settings import parse_duration
    from neuro_divergent.lifecycle.continuous.status import is_continuous, read_status

    if not is_continuous(directory):
        what = "is no directory of continuous training" if directory.exists() else "not found"
        raise InputError(f"{directory}: {what}; make one with: nd continuous init {directory}")
    limit = None if stale is None else parse_duration(stale).total_seconds()
    found, screen = read_status(directory), Screen(as_json=as_json)
    screen.facts(_facts(found))
    if found.decisions:
        from rich.text import Text

        table = new_table("when", "decision", "", fixed=("when", "decision"), overflow="fold")
        for decision in found.decisions[-decisions:]:
            when = decision["at"][:16].replace("T", " ")
            table.add_row(when, Text(decision["kind"]), Text(decision["sentence"]))
        screen.say("", table)
    screen.result(found.to_dict())
    if limit is not None and (found.waiting_hooks or _age(found) > limit):
        raise typer.Exit(1)


def _age(found: ContinuousStatus) -> float:
    """Return the seconds since the last tick."""
    return math.inf if found.last_tick is None else max(time.time() - found.last_tick, 0.0)


def _facts(found: ContinuousStatus) -> list[tuple[str, str]]:
    from neuro_divergent.core.formatting import format_count, format_duration

    age = "none yet" if found.last_tick is None else f"{format_duration(_age(found))} ago"
    batches = format_count(found.batches, "batch", "batches")
    rows = [
        ("model", f"{found.name} in {found.registry}"),
        ("last tick", age),
        ("state", "a tick is under way" if found.is_running else "waiting for the next tick"),
        ("data", "none yet" if found.end is None else f"{batches}, up to {found.end}"),
    ]
    champions = [item for item in found.attempts if item["state"] == "champion"]
    if champions:
        rows.append(("champion", f"version {champions[-1]['version']} ({champions[-1]['mode']} training)"))
    if found.comparison is not None:
        rows.append(("comparison", found.comparison["sentence"]))
    quarantined = [item for item in found.incidents if item["state"] == "quarantined"]
    if quarantined:
        numbers = ", ".join(str(item["number"]) for item in quarantined[-5:])
        count = format_count(len(quarantined), "incident")
        rows.append(("quarantine", f"{count}: {numbers}; see 'nd continuous accept --help'"))
    if found.looks:
        last = found.looks[-1]
        ratio = "" if last["ratio"] is None else f"errors {last['ratio']:.2f} times those of the back-test"
        rows.append(("last test", ", ".join(text for text in (str(last["at"]), ratio) if text)))
    if found.requested:
        rows.append(("requested", found.requested))
    if found.waiting_hooks:
        rows.append(("hooks", f"{format_count(found.waiting_hooks, 'decision')} not told yet"))
    return rows
