"""The time of a training step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import neuro_divergent as nd
from timing import call_seconds, in_turns
from versus import ours, theirs
from versus.cell import Cell, Options
from versus.series import WINDOWS, daily_series

SECTION = "training step: 100 series x 500 steps, windows 96 -> 24"
# Architecture, windows a step, steps per round, how many times faster it is to be.
ROWS = (
    ("NLinear", WINDOWS, 205, 6.0),
    ("DLinear", WINDOWS, 205, 6.0),
    ("MLP", WINDOWS, 35, 1.3),
    ("NHITS", WINDOWS, 25, 1.15),
    ("NBEATS", WINDOWS, 25, 1.15),
    ("LSTM", 128, 15, 1.15),
    ("LSTM", WINDOWS, 8, 1.15),
)
PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")
ABOVE_PRODUCTS = 1.35
Shape = tuple[int, ...]


def measure(options: Options) -> list[Cell]:
    """Compare a step of each architecture, and the one of NHITS with its matrix products alone."""
    frame = daily_series(100, 500)
    cells = []
    for name, windows, steps, goal in ROWS:
        cells += _compare(name, frame, windows, steps, goal, options)
        if name == "NHITS":
            cells += _limits(frame, cells[-2].ours, options)
    return cells


def _compare(name: str, frame: object, windows: int, steps: int, goal: float, options: Options) -> list[Cell]:
    """Measure one architecture on both sides; ours also with our default optimizer and clipping."""
    threads = options.threads
    plain = ours.step_config(steps, threads, windows)
    usual = plain.replace(optimizer=nd.AdamW(), clip=nd.ClipNorm(1.0))
    counts = {
        "ours": ours.fit(name, frame, ours.step_config(7, threads, windows))[0].num_parameters,
        "theirs": theirs.num_parameters(theirs.fit(name, frame, 7, threads, windows)[0]),
    }
    assert counts["ours"] == counts["theirs"], f"{name}: parameters differ: {counts}"
    mine, other, clipped = in_turns(
        options.rounds,
        lambda: ours.fit(name, frame, plain)[1],
        lambda: theirs.fit(name, frame, steps, threads, windows)[1],
        lambda: ours.fit(name, frame, usual)[1],
    )
    label = f"{name}, {windows:,} windows"
    note = f"parameters {counts['ours']:,} = {counts['theirs']:,}"
    return [
        Cell(section=SECTION, name=label, ours=mine * 1e3, theirs=other * 1e3, unit="ms", goal=goal, note=note),
        Cell(
            section=SECTION,
            name="  with AdamW and clipping, our defaults",
            ours=clipped * 1e3,
            theirs=other * 1e3,
            unit="ms",
        ),
    ]


def _limits(frame: object, seconds: float, options: Options) -> list[Cell]:
    """Hold our step of NHITS against its matrix products: those of its layers, and those that we really compute."""
    batch = _windows()
    network = nd.NHITS().build(nd.TaskSpec(horizon=24, input_size=96))
    other = theirs.network(theirs.fit("NHITS", frame, 7, options.threads)[0])
    layers = products_of(lambda: other(_their_batch(batch)).abs().mean().backward())
    computed = products_of(lambda: network(batch).abs().mean().backward())
    torch.set_num_threads(options.threads)
    bare, fewer = in_turns(options.rounds, lambda: replay(layers), lambda: replay(computed))
    return [
        Cell(
            section=SECTION,
            name="  NHITS beside the products of its layers",
            ours=seconds,
            theirs=bare * 1e3,
            unit="ms",
            goal=ABOVE_PRODUCTS,
            limit=True,
            note=f"limit: {len(layers)} products, forward and backward",
        ),
        Cell(
            section=SECTION,
            name="  NHITS beside the products that we compute",
            ours=seconds,
            theirs=fewer * 1e3,
            unit="ms",
            limit=True,
            note=f"{len(computed)} products: two layers without activation between them are multiplied first",
        ),
    ]


class _Recorder(TorchDispatchMode):
    """Notes the shapes of all matrix products."""

    def __init__(self) -> None:
        super().__init__()
        self.products: list[list[tuple[Shape, Shape]]] = []  # shape and strides of both matrices

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        """Note the two matrices of a product, and compute it."""
        if function.name().split(".")[0] in PRODUCTS:
            matrices = [item for item in arguments if isinstance(item, Tensor)][-2:]
            self.products.append([(item.shape, item.stride()) for item in matrices])
        return function(*arguments, **(named or {}))


def products_of(work: Callable[[], object]) -> list[tuple[Tensor, Tensor]]:
    """Return pairs of matrices of the shapes and layouts that are multiplied in some work."""
    with _Recorder() as recorder:
        work()
    return [(_like(*first), _like(*second)) for first, second in recorder.products]


def _like(shape: Shape, stride: Shape) -> Tensor:
    """Return random numbers in the shape of a matrix, transposed in memory if it was."""
    if stride[-1] <= stride[-2]:
        return torch.randn(shape)
    return torch.randn((*shape[:-2], shape[-1], shape[-2])).transpose(-1, -2)


def replay(products: list[tuple[Tensor, Tensor]]) -> float:
    """Return the time of the products alone."""
    with torch.no_grad():
        return call_seconds(lambda: [first @ second for first, second in products], 15)


def _windows() -> nd.Batch:
    return nd.Batch(past_y=torch.randn(WINDOWS, 96, 1), past_mask=torch.ones(1, 1, 1).expand(WINDOWS, 96, 1))


def _their_batch(batch: nd.Batch) -> dict[str, Tensor | None]:
    return {
        "insample_y": batch.past_y,
        "insample_mask": batch.past_mask,
        "futr_exog": None,
        "hist_exog": None,
        "stat_exog": None,
    }
