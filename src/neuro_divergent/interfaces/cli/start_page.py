"""What ``nd`` says when no command is given: the commands that fit what is in the current directory."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from neuro_divergent import __version__
from neuro_divergent.interfaces.cli.found_runs import runs_here, tables_here

if TYPE_CHECKING:
    from neuro_divergent.runs.status import RunSummary

_TABLE = "sales.csv"  # of the example, where there is no table


def show_start() -> None:
    """Say what to do next, by the latest run if there is one."""
    found = runs_here()
    typer.echo(f"Neuro-Divergent {__version__} trains neural forecasting models.\n")
    if not found:
        table = next((shlex.quote(path.name) for path in tables_here()), _TABLE)
        typer.echo("There is no run here yet. Next:")
        _show(
            [
                ("nd demo", "a complete run on data that come with the package"),
                (f"nd train {table} --horizon 24", "train on a table of times and values, and forecast 24 steps"),
            ]
        )
    else:
        from neuro_divergent.runs.status import describe_run

        run = describe_run(found[0])
        typer.echo(f"Latest run: {_describe(run)}. Next:")
        _show([*next_commands(run), *([("nd runs", f"all {len(found):,} runs")] if len(found) > 1 else [])])
    typer.echo("\nAll commands: nd --help. Of one command: nd train --help. Names by TAB: nd completion --help.")


def next_commands(run: RunSummary) -> list[tuple[str, str]]:
    """Return the commands that fit the state of a run, the most useful first, and what each of them does."""
    place = shlex.quote(str(run.path))
    show = (f"nd runs {place}", "what is known of it")
    doctor = (f"nd doctor {place}", "findings, with settings to change")
    if run.state == "finished":
        return [
            (f"nd predict {place}", "forecasts as a table"),
            (f"nd report {place}", "scores, curves and forecasts as a page"),
            doctor,
            (f"nd export {place}", "one file for other systems and for nd serve"),
        ]
    if run.state == "running":
        return [show, (f"nd dashboard {place} --open", "its losses live in the browser"), doctor]
    if run.state == "stalled":
        return [(f"nd health {place}", "since when it gives no sign of life, and how to end it"), show]
    if run.state == "damaged":
        return [show, train_again(run)]
    if run.state == "diverged":
        return [doctor, show]
    return [(f"nd train {place} --resume", "go on from the last checkpoint"), show, doctor]


def train_again(run: RunSummary) -> tuple[str, str]:
    """Return the command that trains a run again, from its settings."""
    config = Path(run.path) / "config.toml"
    return f"nd train {shlex.quote(str(config))}", "train it again"


def _describe(run: RunSummary) -> str:
    """Return what a run is in a few words: ``runs/sales (nhits), finished, 12 % better than seasonal naive``."""
    from neuro_divergent.core.formatting import format_percent

    parts = [f"{run.path} ({run.model})" if run.model else str(run.path), run.state]
    if run.state not in ("finished", "damaged") and run.step is not None:
        parts.append(f"step {run.step:,}" + (f" of {run.total_steps:,}" if run.total_steps else ""))
    skill = None if run.score is None else run.score["skill"]
    if run.state == "finished" and skill is not None:
        parts.append(f"{format_percent(abs(skill))} {'better' if skill >= 0 else 'worse'} than the seasonal naive")
    return ", ".join(parts)


def _show(commands: list[tuple[str, str]]) -> None:
    width = max(len(command) for command, _ in commands) + 3
    for command, meaning in commands:
        typer.echo(f"  {command:{width}}{meaning}")
