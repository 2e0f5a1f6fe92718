"""``nd auto show`` and ``nd auto resume``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuro_divergent.interfaces.cli.options import AsJson, Quiet, option

if TYPE_CHECKING:
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.search.auto.forecaster import AutoForecaster

EXAMPLES = """\b
Examples:
  nd auto show runs/sales-auto-20260101-120000
  nd auto show runs/sales-auto-20260101-120000 --toml > run.toml
  nd auto resume runs/sales-auto-20260101-120000
"""
AutoPath = Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Directory of an automatic search.")]


def show_command(
    directory: AutoPath,
    toml: Annotated[bool, option("--toml", text="Write its plan as TOML, for 'nd auto FILE.toml'.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the leaderboard of a search, or its plan as TOML."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.search.auto.files import PLAN
    from neuro_divergent.search.auto.forecaster import AutoForecaster
    from neuro_divergent.search.auto.store import SearchDirectory

    found = SearchDirectory(directory)
    found.settings()
    if toml:
        path = directory / PLAN
        if not path.is_file():
            raise InputError(f"{directory}: the search has not come to its end; 'nd auto resume {directory}' goes on.")
        typer.echo(path.read_text("utf-8"), nl=False)
        return
    screen, forecaster = Screen(as_json=as_json), AutoForecaster.load(directory)
    show_results(forecaster, screen)
    screen.result({"run": str(directory), "leaderboard": forecaster.results.to_dict()})


def resume_command(directory: AutoPath, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Go on with a search that was interrupted or killed, with what is left of its budget."""
    began = time.monotonic()
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.core.storage.atomic import read_json
    from neuro_divergent.interfaces.cli.auto.running import AutoOptions, run_auto
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.search.auto.files import COMMAND

    path = directory / COMMAND
    if not path.is_file():
        raise InputError(f"{directory}: there is no search to go on with; 'nd auto FILE --horizon 28' begins one.")
    found: dict[str, Any] = read_json(path)
    options = AutoOptions(
        data=found["data"],
        settings=found["settings"],
        plan=found["plan"],
        levels=tuple(found["levels"]),
        future=found["future"],
        output=directory,
        began=began,
    )
    run_auto(options, Screen(quiet=quiet, as_json=as_json))


def show_results(forecaster: AutoForecaster, screen: Screen) -> None:
    """Show the leaderboard, why the winner won, and what else there is to say."""
    from neuro_divergent.core.formatting import format_duration, format_number, format_p_value, format_percent
    from neuro_divergent.interfaces.cli.screen import new_table

    results = forecaster.results
    names = ("candidate", results.metric.upper(), "weight", "p", "processor", "note")
    table = new_table(*names, right=names[1:5])
    for row in results.rows:
        table.add_row(
            row.candidate,
            format_number(row.score),
            format_percent(row.weight) if row.weight else "",
            "" if row.p_value is None else format_p_value(row.p_value),
            format_duration(row.processor_seconds) if row.processor_seconds >= 1 else "",
            row.note if row.round == "full" or row.note else row.round,
            style="bold" if row.candidate == "combination" else "",
        )
    if results.rows:
        screen.say(table, "")
    screen.say(results.reason, *results.notes)
    for finding in forecaster.diagnose().findings:
        screen.warn(str(finding), is_severe=False)
