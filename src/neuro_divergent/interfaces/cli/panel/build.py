"""``nd panel build``: from CSV or Parquet files of any size to a panel on disk."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuro_divergent.core.errors import InputError
from neuro_divergent.interfaces.cli.config_options import DATA_OPTIONS, with_config_options
from neuro_divergent.interfaces.cli.options import AsJson, Quiet, option

if TYPE_CHECKING:
    from rich.console import Console

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
_SECONDS_BETWEEN_LINES = 10.0


@with_config_options(_OPTIONS)
def build(
    source: Annotated[str, typer.Argument(metavar="FILES", help="CSV or Parquet file, or a quoted glob.")],
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
    from neuro_divergent.interfaces.cli.screen import Screen

    screen = Screen(quiet=quiet, as_json=as_json)
    schema = Schema.from_dict({key.removeprefix("data."): value for key, value in fields.items()})
    began = time.monotonic()
    with row_progress(screen.messages) as progress:
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
def row_progress(console: Console) -> Iterator[Report | None]:
    """Yield a function that shows rows, rate and time left: one line that is redrawn, or lines in a pipe."""
    if console.quiet:
        yield None
        return
    if not console.is_terminal:
        yield _Lines(console)
        return
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[numbers]}"),
        TimeRemainingColumn(compact=True),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("reading", total=None, numbers="")

        def show(progress: Progress) -> None:
            if bar.tasks[0].description != progress.stage:
                bar.reset(task, description=progress.stage)
            bar.update(task, completed=progress.rows, total=progress.total or None, numbers=_numbers(progress))

        yield show


class _Lines:
    """Prints a line for each stage, and one every ten seconds."""

    def __init__(self, console: Console) -> None:
        self._console, self._stage, self._last = console, "", 0.0

    def __call__(self, progress: Progress) -> None:
        from neuro_divergent.core.formatting import format_duration

        now = time.monotonic()
        if progress.stage == self._stage and now - self._last < _SECONDS_BETWEEN_LINES:
            return
        self._stage, self._last = progress.stage, now
        left = progress.seconds_left
        ending = "" if not left else f", {format_duration(left)} left"
        self._console.print(f"{progress.stage}: {_numbers(progress)}{ending}", markup=False, soft_wrap=True)


def _numbers(progress: Progress) -> str:
    from neuro_divergent.core.formatting import format_bytes, format_number

    if progress.stage == "reading text":
        return f"{format_bytes(progress.rows)} of {format_bytes(progress.total)}"
    rate = f" {format_number(progress.rate / 1e6)} M rows/s" if progress.rate else ""
    return f"{progress.rows:,} of {progress.total:,} rows{rate}"
