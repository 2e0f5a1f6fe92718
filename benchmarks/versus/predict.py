"""The latency of a forecast after training."""

from __future__ import annotations

from timing import in_turns
from versus.cell import Cell, Options

MODELS = ("NLinear", "NHITS")  # hardly any work in the network, and 2.6 million weights
GOALS = {1: 15.0, 100: 10.0}
CALLS = 30


def measure(options: Options) -> list[Cell]:
    """Compare the latency for one and for many series, with the series of training and with a table passed in."""
    cells = []
    for model in MODELS:
        for count, goal in GOALS.items():
            cells.append(_compare(model, f"{count} series", count, False, goal, options))
            cells.append(_compare(model, "  from a table passed in", count, True, None, options))
    return cells


def _compare(model: str, name: str, count: int, new: bool, goal: float | None, options: Options) -> Cell:
    """Measure both sides; theirs with pandas and with polars, of which the faster counts."""
    mine, pandas, polars = in_turns(
        options.rounds,
        lambda: options.ours("predict_seconds", model, count, "polars", new, CALLS),
        lambda: options.theirs("predict_seconds", model, count, "pandas", new, CALLS),
        lambda: options.theirs("predict_seconds", model, count, "polars", new, CALLS),
    )
    best = "polars" if polars < pandas else "pandas"
    return Cell(
        section=f"predict after fit: {model}, 96 -> 24",
        name=name,
        ours=mine * 1e3,
        theirs=min(pandas, polars) * 1e3,
        unit="ms",
        goal=goal,
        note=f"ours polars; theirs {best}, the faster of two",
    )
