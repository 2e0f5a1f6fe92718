"""Runs on the terminal: a table of several, everything about one."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from neuro_divergent.core.formatting import format_bytes, format_count, format_duration, format_number

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.runs.processes import ProcessSummary
    from neuro_divergent.runs.status import RunSummary

_STYLES = {"running": "green", "finished": "", "interrupted": "yellow"}


def next_step(run: RunSummary) -> str | None:
    """Return the command to run next, if there is one."""
    place = shlex.quote(str(run.path))
    if run.state == "running":
        return None
    if run.state == "stalled":
        return None if run.holder is None or run.holder.pid is None else f"kill {run.holder.pid}"
    return f"nd predict {place}" if run.state == "finished" else f"nd train {place} --resume"


def show_progress(run: RunSummary) -> str:
    """Return the progress of a run: ``step 1,200 of 5,000``."""
    if run.step is None:
        return "before the first step"
    return f"step {run.step:,}" + (f" of {run.total_steps:,}" if run.total_steps else "")


def run_table(found: list[RunSummary]) -> Table:
    """Return a table with a line for each run."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("run", overflow="fold")
    for title in ("state", "step", "model", "horizon", "validation", "checkpoints", "age"):
        right = title in ("step", "horizon", "validation", "age")
        table.add_column(title, justify="right" if right else "left", no_wrap=True)
    now = time.time()
    for run in found:
        size = sum(item.bytes for item in run.checkpoints)
        table.add_row(
            Text(run.name),
            Text(run.state, style=_STYLES.get(run.state, "red")),
            "" if run.step is None else f"{run.step:,}" + (f"/{run.total_steps:,}" if run.total_steps else ""),
            Text(run.model or ""),
            "" if run.horizon is None else f"{run.horizon:,}",
            "" if run.best is None else format_number(run.best),
            f"{len(run.checkpoints)} ({format_bytes(size)})" if run.checkpoints else "none",
            format_duration(now - run.time),
        )
    return table


def show_run(run: RunSummary, processes: Sequence[ProcessSummary], screen: Screen) -> None:
    """Show everything about a run, with its processes, its checkpoints and what to do next."""
    ahead = "" if run.horizon is None else f", {format_count(run.horizon, 'step')} ahead"
    rows = [
        ("run", str(run.path)),
        ("state", f"{run.state}, {show_progress(run)}" + (f": {run.message}" if run.message else "")),
        ("model", f"{run.model or 'unknown'}{ahead}" + (f", from {run.data}" if run.data else "")),
    ]
    if run.holder is not None:
        sign = "" if run.quiet is None else f"; last heartbeat {format_duration(run.quiet)} ago"
        rows.append(("process", f"{run.holder}{sign}" + (f" ({run.phase})" if run.phase else "")))
    if run.best is not None:
        rows.append(("best", f"{format_number(run.best)} ({run.metric or 'validation'})"))
    if run.score is not None:
        known = (key for key in ("mae", "mase", "skill") if run.score[key] is not None)
        scores = [f"{key} {format_number(run.score[key])}" for key in known]
        rows.append(("score", ", ".join([f"{run.score['part']} part", *scores])))
    if run.damaged:
        rows.append(("damaged", ", ".join(run.damaged)))
    screen.facts(rows)
    if processes:
        screen.say("", *_process_lines(processes))
    if run.checkpoints or run.quarantined:
        screen.say("", _checkpoint_table(run))
    if following := next_step(run):
        screen.say("")
        screen.facts([("next", following)])


def _process_lines(processes: Sequence[ProcessSummary]) -> list[RenderableType]:
    from rich.text import Text

    from neuro_divergent.interfaces.cli.screen import new_table
    from neuro_divergent.reporting.process_rows import COLUMNS, process_rows
    from neuro_divergent.runs.processes import describe_straggler, stragglers_of

    table = new_table(*COLUMNS, right=COLUMNS[3:-1], fixed=("device", ""), overflow="fold")
    for row in process_rows(processes):
        table.add_row(*map(Text, row))
    slow = [Text(describe_straggler(process), style="yellow") for process in stragglers_of(processes)]
    return [table, *slow]


def _checkpoint_table(run: RunSummary) -> Table:
    from neuro_divergent.interfaces.cli.screen import new_table

    table = new_table("checkpoint", "size", "age", "", right=("size", "age"), fixed=("checkpoint", "size", "age"))
    notes = ["best" if item.is_best else "" if item.is_complete else "incomplete" for item in run.checkpoints]
    notes += ["damaged, set aside"] * len(run.quarantined)
    now = time.time()
    for item, note in zip((*run.checkpoints, *run.quarantined), notes, strict=True):
        table.add_row(item.name, format_bytes(item.bytes), format_duration(now - item.time), note)
    return table
