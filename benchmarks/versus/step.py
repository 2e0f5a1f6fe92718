"""The time of a training step."""

from __future__ import annotations

from timing import in_turns
from versus.cell import Cell, Options
from versus.products import replay_seconds
from versus.series import SMALL, WINDOWS

SECTION = "training step: 100 series x 500 steps, windows 96 -> 24"
# Architecture, windows a step, steps per round, how many times faster it is to be. The LSTM has NeuralForecast's own
# default of 128 windows: with 1,024 a step takes seconds, all of them inside the same kernel of torch.
ROWS = (
    ("NLinear", WINDOWS, 205, 6.0),
    ("DLinear", WINDOWS, 205, 6.0),
    ("MLP", WINDOWS, 35, 1.3),
    ("NHITS", WINDOWS, 25, 1.15),
    ("NBEATS", WINDOWS, 25, 1.15),
    ("LSTM", 128, 25, 1.15),
)
ABOVE_PRODUCTS = 1.35


def measure(options: Options) -> list[Cell]:
    """Compare a step of each architecture, and the one of NHITS with its matrix products alone."""
    cells = []
    for name, windows, steps, goal in ROWS:
        cells += _compare(name, windows, steps, goal, options)
        if name == "NHITS":
            cells += _limits(name, cells[-2].ours, options)
    return cells


def _compare(name: str, windows: int, steps: int, goal: float, options: Options) -> list[Cell]:
    """Measure one architecture on both sides; ours also with our default optimizer and clipping."""
    counts = [side("num_parameters", name) for side in (options.ours, options.theirs)]
    assert counts[0] == counts[1], f"{name}: parameters differ, ours {counts[0]:,}, theirs {counts[1]:,}"
    arguments = (name, SMALL, steps, windows)
    mine, other, usual = in_turns(
        options.rounds,
        lambda: options.ours("step_seconds", *arguments),
        lambda: options.theirs("step_seconds", *arguments),
        lambda: options.ours("step_seconds", *arguments, True),
    )
    return [
        Cell(
            section=SECTION,
            name=f"{name}, {windows:,} windows",
            ours=mine * 1e3,
            theirs=other * 1e3,
            unit="ms",
            goal=goal,
            note=f"parameters {counts[0]:,} = {counts[1]:,}",
        ),
        Cell(
            section=SECTION,
            name="  with AdamW and clipping, our defaults",
            ours=usual * 1e3,
            theirs=other * 1e3,
            unit="ms",
        ),
    ]


def _limits(name: str, milliseconds: float, options: Options) -> list[Cell]:
    """Hold our step against matrix products: those of the layers as published, and those that we compute."""
    layers, computed = options.theirs("matrix_products", name), options.ours("matrix_products", name)
    bare, fewer = in_turns(options.rounds, lambda: replay_seconds(layers), lambda: replay_seconds(computed))
    return [
        Cell(
            section=SECTION,
            name=f"  {name} beside the bare products of its layers",
            ours=milliseconds,
            theirs=bare * 1e3,
            unit="ms",
            goal=ABOVE_PRODUCTS,
            limit=True,
            note=f"limit: {len(layers)} products, forward and backward",
        ),
        Cell(
            section=SECTION,
            name=f"  {name} beside the bare products that we compute",
            ours=milliseconds,
            theirs=fewer * 1e3,
            unit="ms",
            limit=True,
            note=f"{len(computed)} smaller products: layers without activation between them are merged",
        ),
    ]
