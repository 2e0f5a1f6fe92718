"""``nd pipeline status`` and ``nd pipeline graph``: what became of the stages, and how they are connected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from neuro_divergent.lifecycle.pipeline.reading import PipelineSummary

EXAMPLES = """\b
Examples:
  nd pipeline status pipeline.toml
  nd pipeline status pipeline-pipeline --json
"""
GRAPH_EXAMPLES = """\b
Examples:
  nd pipeline graph pipeline.toml
"""


def status_command(
    place: Annotated[Path, typer.Argument(help="Pipeline file, or directory of a pipeline.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print everything that is known as JSON.")] = False,
) -> None:
    """Show what became of each stage; also while the pipeline runs."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.lifecycle.pipeline.reading import is_pipeline, read_pipeline_state

    path = find_directory(place)
    if not is_pipeline(path):
        what = "has not been run" if place.is_file() else "is not a pipeline" if path.exists() else "not found"
        raise InputError(f"{place}: {what}; 'nd pipeline run FILE' runs one.")
    found, screen = read_pipeline_state(path), Screen(as_json=as_json)
    rows = [("pipeline", found.name), ("directory", str(found.path)), ("state", found.state)]
    if found.message:
        rows.append(("message", found.message))
    if found.holder is not None:
        rows.append(("process", str(found.holder)))
    screen.facts(rows)
    screen.say("", _stage_table(found))
    screen.result(found.to_dict())


def graph_command(
    file: Annotated[Path, typer.Argument(help="Pipeline file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the connections as JSON.")] = False,
) -> None:
    """Show the stages in the order in which they run, and where their inputs come from; runs nothing."""
    from neuro_divergent.interfaces.cli.screen import Screen, new_table
    from neuro_divergent.lifecycle.pipeline.pipeline import Pipeline

    graph, screen = Pipeline.from_toml(file).graph, Screen(as_json=as_json)
    table = new_table("stage", "inputs", "outputs", overflow="fold")
    for name in graph.order:
        inputs = (f"{port} from {reference}" for port, reference in graph.inputs[name].items())
        table.add_row(name, ", ".join(inputs), ", ".join(graph.steps[name].work.outputs))
    screen.say(table)
    screen.result({"order": graph.order, "edges": [list(edge) for edge in graph.edges]})


def find_directory(place: Path) -> Path:
    """Return the directory of a pipeline, which may be given as its file."""
    if not place.is_file():
        return place
    from neuro_divergent.lifecycle.pipeline.pipeline_file import directory_of

    return directory_of(place)


def _stage_table(found: PipelineSummary) -> Table:
    from rich.text import Text

    from neuro_divergent.core.formatting import format_bytes, format_duration
    from neuro_divergent.interfaces.cli.screen import new_table

    colors = {"done": "green", "cached": "green", "failed": "bold red", "running": "yellow", "interrupted": "yellow"}
    table = new_table(
        "stage",
        "state",
        "time",
        "size",
        "",
        right=("time", "size"),
        fixed=("stage", "state", "time", "size"),
        overflow="fold",
    )
    for stage in found.stages:
        size = sum(output["bytes"] or 0 for output in stage.outputs)
        table.add_row(
            Text(stage.name),
            Text(stage.state, colors.get(stage.state, "dim")),
            "" if stage.seconds is None else format_duration(stage.seconds),
            format_bytes(size) if stage.outputs else "",
            Text(stage.message or " ".join(stage.notes)),
        )
    return table
