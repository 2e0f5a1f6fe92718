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

# Of the table of runs, where the terminal is narrow.
_DISPENSABLE = ("checkpoints", "horizon", "validation loss", "MAE")
_STYLES = {"running": "green", "finished": "", "interrupted": "yellow"}


def next_step(run: RunSummary) -> str | None:
    """Return the command to run next, if there is one."""
    place = shlex.quote(str(run.path))
    if run.state == "running":
        return None
    if run.state == "stalled":
        return None if run.holder is None or run.holder.pid is None else f"kill {run.holder.pid}"
    if run.state == "finished":
        return f"nd predict {place}"
    return f"nd auto resume {place}" if run.is_search else f"nd train {place} --resume"


def show_progress(run: RunSummary) -> str:
    """Return the progress of a run: ``step 1,200 of 5,000``."""
    if run.is_search:
        return "a search by nd auto"
    if run.step is None:
        return "before the first step"
    return f"step {run.step:,}" + (f" of {run.total_steps:,}" if run.total_steps else "")


def run_table(found: list[RunSummary], width: int) -> Table:
    """Return a table with a line for each run; columns are left out where names would be broken over lines."""
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    now = time.time()
    rows = [_cells(run, now) for run in found]
    widths = {title: max(cell_len(text) for text in (title, *(row[title] for row in rows))) for title in rows[0]}
    for title in _DISPENSABLE:
        if sum(widths.values()) + 2 * (len(widths) - 1) > width:
            del widths[title]
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in widths:
        right = title in ("step", "horizon", "validation loss", "MAE", "age")
        if title == "run":
            table.add_column(title, overflow="fold")
        else:
            table.add_column(title, justify="right" if right else "left", no_wrap=True)
    for row in rows:
        styles = {"state": _STYLES.get(row["state"], "red")}
        table.add_row(*(Text(row[title], style=styles.get(title, "")) for title in widths))
    return table


def _cells(run: RunSummary, now: float) -> dict[str, str]:
    """Return what the table says about a run, by the titles of the columns."""
    size = sum(item.bytes for item in run.checkpoints)
    return {
        "run": run.name,
        "state": run.state,
        "step": "" if run.step is None else f"{run.step:,}" + (f"/{run.total_steps:,}" if run.total_steps else ""),
        "model": run.model or "",
        "horizon": "" if run.horizon is None else f"{run.horizon:,}",
        "validation loss": "" if run.best is None else format_number(run.best),
        "MAE": "" if run.score is None or run.score["mae"] is None else format_number(run.score["mae"]),
        "checkpoints": f"{len(run.checkpoints)} ({format_bytes(size)})" if run.checkpoints else "none",
        "age": format_duration(now - run.time),
    }


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
        rows.append(
            (
                "best",
                f"{format_number(run.best)} ({(run.metric or 'validation loss').replace('_', ' ')}, of scaled windows)",
            )
        )
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
