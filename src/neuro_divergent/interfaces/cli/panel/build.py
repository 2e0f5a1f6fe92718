"""``nd panel build``: from CSV or Parquet files of any size to a panel on disk."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuro_divergent.core.errors import InputError
from neuro_divergent.interfaces.cli.config_options import DATA_OPTIONS, with_config_options
from neuro_divergent.interfaces.cli.options import AsJson, Quiet, option

if TYPE_CHECKING:
    from neuro_divergent.core.progress import Task
    from neuro_divergent.data.conversion.progress import Progress, Report

EXAMPLES = """\b
Examples:
  nd panel build sales.parquet --output panel/
  nd panel build "in/*.parquet" --output panel/ --target units --time date --id store
  nd panel build "days/*.csv.gz" --output panel/ --missing mask --gaps mask --memory 2GB
"""
# What is applied when a panel is used, and not when it is built.
_LATER = ("data.short", "data.unknown_category")
_OPTIONS = tuple(item for item in DATA_OPTIONS if item.key not in _LATER)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kMGT]?)(i?)B?", re.IGNORECASE)


@with_config_options(_OPTIONS)
def build(
    source: Annotated[str, typer.Argument(metavar="FILES", help="CSV or Parquet file of any size, or a quoted glob.")],
    fields: dict[str, Any],
    output: Annotated[
        Path | None, option("--output", "-o", metavar="DIRECTORY", text="Where to write the panel (required).")
    ] = None,
    memory: Annotated[
        str | None,
        option("--memory", metavar="SIZE", text="Memory to plan with, such as 512MB or 2GB; 512 MiB, or less."),
    ] = None,
    restart: Annotated[
        bool, option("--restart", text="Begin again instead of going on with a conversion that was stopped.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Convert tables of any size and order to a panel, for 'nd train DIRECTORY'. Call it again if it was stopped."""
    if output is None:
        raise InputError("--output: name the directory to write the panel to.")
    bound = None if memory is None else parse_size(memory)
    from neuro_divergent.core.formatting import format_bytes, format_count, format_duration
    from neuro_divergent.data.conversion.conversion import convert
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.data.schema import Schema
    from neuro_divergent.interfaces.cli.interruption import ends_with
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.screen import Screen

    screen = Screen(quiet=quiet, as_json=as_json)
    schema = Schema.from_dict({key.removeprefix("data."): value for key, value in fields.items()})
    began = time.monotonic()
    again = f"Interrupted; the same command goes on with what is in {output}. --restart begins again."
    with ends_with(again), shown_progress(screen.messages), stages() as progress:
        convert(source, output, schema, memory=bound, progress=progress, restart=restart)
    seconds = time.monotonic() - began
    panel = Panel.open(output)
    size = sum(path.stat().st_size for path in output.iterdir())
    screen.say(
        f"{output}: {format_count(len(panel), 'row')} of {panel.num_series:,} series every {panel.frequency}, "
        f"{format_bytes(size)}, in {format_duration(seconds)}."
    )
    screen.result(
        {
            "panel": str(output),
            "rows": len(panel),
            "series": panel.num_series,
            "frequency": str(panel.frequency),
            "bytes": size,
            "seconds": seconds,
        }
    )


def parse_size(text: str) -> int:
    """Read a number of bytes such as ``512MB``, ``2 GiB`` or ``1.5g``."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InputError(f"--memory: {text!r} is not a size; write a number and a unit, such as 512MB or 2GB.")
    base = 1024 if match[3] else 1000
    return int(float(match[1]) * base ** " KMGT".index(match[2].upper() or " "))


@contextmanager
def stages() -> Iterator[Report]:
    """Yield a function that shows each stage of a conversion as a task, with rows or bytes, rate and time left."""
    from neuro_divergent.core.progress import track

    with ExitStack() as open_task:
        task: Task | None = None
        stage = ""

        def show(progress: Progress) -> None:
            nonlocal task, stage
            if task is None or stage != progress.stage:
                open_task.close()
                stage = progress.stage
                is_text = stage == "reading text"
                task = track(f"{stage[:1].upper()}{stage[1:]}", progress.total or None, "bytes" if is_text else "row")
                open_task.enter_context(task)
            task.total = progress.total or None
            task.seconds_left = progress.seconds_left
            task.update(progress.rows, _rate(progress))

        yield show


def _rate(progress: Progress) -> str:
    from neuro_divergent.core.formatting import format_bytes, format_number

    if not progress.rate:
        return ""
    if progress.stage == "reading text":
        return f"{format_bytes(progress.rate)}/s"
    return f"{format_number(progress.rate / 1e6)} M rows/s"
