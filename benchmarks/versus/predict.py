"""The latency of a forecast after training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from timing import call_seconds, in_turns
from versus import ours, theirs
from versus.cell import Cell, Options
from versus.series import daily_series

SECTION = "predict after fit: NHITS, 96 -> 24"
GOALS = {1: 15.0, 100: 10.0}
CALLS = 30


def measure(options: Options) -> list[Cell]:
    """Compare the latency for one and for many series, with the stored series and with new ones."""
    return [cell for count, goal in GOALS.items() for cell in _compare(count, goal, options)]


def _compare(count: int, goal: float, options: Options) -> list[Cell]:
    """Measure both sides; theirs with pandas and with polars, of which the faster counts."""
    frame = daily_series(count, 500)
    table = frame.to_pandas()
    mine, _ = ours.fit("NHITS", frame, ours.step_config(7, options.threads, windows=128))
    other = {
        "pandas": theirs.fit("NHITS", table, 7, options.threads)[0],
        "polars": theirs.fit("NHITS", frame, 7, options.threads)[0],
    }
    torch.set_num_threads(options.threads)
    label = f"{count} series"
    stored = {kind: model.predict for kind, model in other.items()}
    new = {
        "pandas": lambda: other["pandas"].predict(table),
        "polars": lambda: other["polars"].predict(frame),
    }
    return [
        _cell(label, goal, mine.predict, stored, options),
        _cell(f"  {label}, passed in again", None, lambda: mine.predict(frame), new, options),
    ]


def _cell(
    name: str, goal: float | None, mine: Callable[[], Any], other: dict[str, Callable[[], Any]], options: Options
) -> Cell:
    measures = [lambda call=call: call_seconds(call, CALLS) for call in (mine, *other.values())]
    seconds, *rest = in_turns(options.rounds, *measures)
    best = min(range(len(rest)), key=rest.__getitem__)
    note = f"ours polars; theirs {list(other)[best]}, the faster of two"
    return Cell(
        section=SECTION, name=name, ours=seconds * 1e3, theirs=rest[best] * 1e3, unit="ms", goal=goal, note=note
    )
