"""``nd runs list``: lists runs with their progress, or shows one in full."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from neuro_divergent.interfaces.cli.options import AsJson, option, split_list
from neuro_divergent.interfaces.cli.runs.display import run_table
from neuro_divergent.interfaces.cli.runs.options import ROOT, Stale
from neuro_divergent.interfaces.cli.runs.showing import show_one

EXAMPLES = """\b
Examples:
  nd runs
  nd runs runs/sales-nhits-20260101-120000
  nd runs --state finished --sort mae --limit 10
  nd runs --where 'training.optimizer.lr>0.001' --where model=nhits
  nd runs --json
"""


class Sort(StrEnum):
    """What runs are put in order by: those of ``runs.filter.SORTS``, without loading it."""

    time = "time"
    name = "name"
    state = "state"
    model = "model"
    best = "best"
    step = "step"
    mae = "mae"


def list_command(
    path: Annotated[
        Path, typer.Argument(metavar="DIR", help="Directory of runs, or one run.", show_default=True)
    ] = ROOT,
    sort: Annotated[Sort, typer.Option("--sort", help="What decides about the order.")] = Sort.time,
    reverse: Annotated[bool, typer.Option("--reverse", help="Turn the order round.")] = False,
    state: Annotated[list[str] | None, option("--state", text="Only runs in this state: running,failed.")] = None,
    model: Annotated[list[str] | None, option("--model", text="Only runs of this architecture: nhits,tft.")] = None,
    where: Annotated[
        list[str] | None,
        option(
            "--where", metavar="CONDITION", text="Only runs with such a setting, result or score: 'task.horizon>=24'."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", help="Show as many at most.", min=1)] = None,
    stale: Stale = 300.0,
    as_json: AsJson = False,
) -> None:
    """List runs, or show one with its checkpoints.

    The latest comes first, or the smallest if they are sorted by something else; what a run does not have comes last.
    """
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.runs.filter import Condition, filter_runs, sort_runs
    from neuro_divergent.runs.status import is_run, list_runs

    if not path.is_dir() and path != ROOT:
        what = "is not a directory" if path.exists() else "not found"
        raise InputError(f"{path}: {what}; give a directory that holds runs, such as runs, or one run.")
    conditions = [Condition.parse(text) for text in where or []]
    screen = Screen(as_json=as_json)
    if is_run(path):
        show_one(path, stale, screen)
        return
    found = list_runs(path, stale=stale)
    kept = filter_runs(found, states=split_list(state), models=split_list(model), conditions=conditions)
    shown = sort_runs(kept, sort.value, descending=(sort is Sort.time) is not reverse)[:limit]
    if shown:
        screen.say(run_table(shown, screen.output.width))
        if len(shown) < len(kept):
            screen.say(f"{len(kept) - len(shown):,} more; --limit says how many are shown.")
    elif found:
        screen.say(f"None of the {len(found):,} runs in {path} is like that.")
    else:
        screen.say(f"No runs in {path}. 'nd train FILE --horizon 24' starts one.")
    screen.result({"path": str(path), "runs": [run.to_dict() for run in shown]})
