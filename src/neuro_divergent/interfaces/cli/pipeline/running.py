"""``nd pipeline run``: runs the stages whose results are not there."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.lifecycle.pipeline.pipeline_result import PipelineResult

EXAMPLES = """\b
Examples:
  nd pipeline init && nd pipeline run pipeline.toml
  nd pipeline run pipeline.toml --stage training
  nd pipeline run pipeline.toml --force evaluation --directory /data/pipelines/sales

\b
Exit codes: 0 all stages are done, 7 a stage failed, 2 the file or the data, 130 and 143 interrupted.
"""


def run_command(
    file: Annotated[Path, typer.Argument(help="Pipeline in TOML. Functions that it names are run: trust it.")],
    stage: Annotated[
        str | None, typer.Option(help="Run this stage, and what it needs that is not there.", show_default=False)
    ] = None,
    only: Annotated[
        bool, typer.Option("--only", help="With --stage: refuse if another stage would have to run.")
    ] = False,
    force: Annotated[
        list[str] | None, typer.Option(help="Run a stage although nothing has changed; may be repeated.")
    ] = None,
    directory: Annotated[
        Path | None, typer.Option(help="Directory for results; what the file says if left out.", show_default=False)
    ] = None,
    wait: Annotated[
        float, typer.Option(help="Seconds to wait for another process that runs the same pipeline.", min=0)
    ] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Run a pipeline; one that was interrupted, killed or has failed goes on where it was."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.interfaces.cli.interruption import interruptible
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.lifecycle.pipeline.pipeline import Pipeline

    if only and stage is None:
        raise InputError("--only says that one stage is run; name it with --stage.")
    pipeline = Pipeline.from_toml(file, directory=directory)
    screen, place = Screen(quiet=quiet, as_json=as_json), pipeline.directory.path
    lines = StageLines(screen, len(pipeline.steps), [("pipeline", str(file)), ("directory", str(place))])
    with interruptible("nd pipeline run", file), shown_progress(screen.messages):
        result = pipeline.run(
            stage=stage,
            only=only,
            force=force or (),
            wait=wait,
            observe=lines,
        )
    show_result(screen, result)


class StageLines:
    """Says what becomes of each stage, on one line each.

    Args:
        screen: Where to say it.
        total: How many stages there are.
        facts: What to say before the first stage.
    """

    def __init__(self, screen: Screen, total: int, facts: list[tuple[str, str]]) -> None:
        self._screen = screen
        self._total = total
        self._facts = facts

    def __call__(self, event: dict[str, Any]) -> None:
        from neuro_divergent.core.formatting import format_duration

        if self._facts:
            self._screen.facts(self._facts)
            self._facts = []
        kind, name = event["event"], event.get("stage")
        count = f"[{event['step']}/{self._total}]"
        if kind == "stage_start":
            again = f", attempt {event['attempt']}" if event["attempt"] > 1 else ""
            self._screen.say(f"{name}: running{again}")
        elif kind == "stage_end":
            self._screen.say(f"{count} {name}: done in {format_duration(event['seconds'])}")
        elif kind == "stage_cached":
            self._screen.say(f"{count} {name}: nothing has changed")
        elif kind == "stage_skipped":
            self._screen.say(f"{count} {name}: skipped, {event['message']}")
        elif kind == "stage_failed":
            self._screen.warn(f"{count} {name}: failed: {event['message']}", is_severe=True)
        elif kind == "stage_retry":
            wait = format_duration(event["wait"])
            self._screen.warn(f"{name}: failed, tried again in {wait}: {event['message']}", is_severe=False)


def show_result(screen: Screen, result: PipelineResult) -> None:
    """Show what came out, or write it as JSON."""
    report = result.directory / "report.html"
    screen.say("")
    screen.facts([("report", str(report)), ("status", f"nd pipeline status {shlex.quote(str(result.directory))}")])
    outputs = {
        f"{outcome.name}.{name}": {**item.describe(), "path": str(item.file)}
        for outcome in result.stages
        for name, item in (outcome.outputs or {}).items()
    }
    screen.result(
        {
            "directory": str(result.directory),
            "stages": result.states,
            "seconds": result.seconds,
            "outputs": outputs,
            "report": str(report),
        }
    )
