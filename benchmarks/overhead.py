"""What ``nd train`` costs beside a bare torch loop: the same network, windows, optimizer, clipping and schedule.

The bare loop is written by hand and does nothing else: it keeps no history, shows nothing, checks nothing. Ours has the
default settings and all that ``nd train`` adds: early stopping, progress, checkpoints, an ear for signals. Validation
comes after the clock has stopped. Each side runs in a process of its own, and they are measured in turns. That both end
with the same weights is checked. The trainer also keeps freed memory between steps; the third side is the bare loop
with that one help. Results go to benchmarks/results/overhead.json.

    python benchmarks/overhead.py
    python benchmarks/overhead.py --quick              # few steps and rounds: shows that it runs, measures little
    python benchmarks/overhead.py --clock processor    # on a busy machine: time on the processor, with one thread only
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

from timing import CLOCKS, WARM_UP, mean_step

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "overhead.json"
LIMIT = 1.05
MODELS = ("NLinear", "NHITS")
BATCHES = (32, 128, 1024)
SIDES = ("ours", "bare", "bare, memory kept")
MOST_STEPS = 400
MADE = 20  # batches made before the clock starts, taken again and again

Residuals = tuple[float, float, int]  # seconds of a step, a sum over the weights at the end, threads


def main() -> None:
    """Measure, print and keep."""
    arguments = _parse()
    cores = str(len(os.sched_getaffinity(0)))
    os.environ |= {"OMP_NUM_THREADS": cores, "MKL_NUM_THREADS": cores}  # each measurement takes as many as it says
    context = multiprocessing.get_context("spawn")
    pools = {side: ProcessPoolExecutor(1, mp_context=context) for side in SIDES}
    cells: list[dict[str, Any]] = []
    try:
        print(f"{'':58}{'ours':>9}{'bare':>10}{'ratio':>8}{'quarter to three quarters':>27}{'memory kept':>13}")
        for model in MODELS:
            for batch_size in arguments.batches:
                cells += _compare(model, batch_size, arguments, pools)
    finally:
        for pool in pools.values():
            pool.shutdown()
    over = [cell["name"] for cell in cells if cell["ratio"] > LIMIT]
    print(f"{len(over)} of {len(cells)} cost more than {LIMIT - 1:.0%}", *over, sep="\n  ")
    _write(cells, arguments)


def _compare(
    model: str, batch_size: int, arguments: argparse.Namespace, pools: dict[str, ProcessPoolExecutor]
) -> Iterator[dict[str, Any]]:
    """Measure one network and batch size with one thread, and with as many as ours chooses if those are more."""

    def measure(side: str, threads: int | str, made: bool, steps: int) -> Residuals:
        return pools[side].submit(step_seconds, side, model, batch_size, threads, made, steps, arguments.clock).result()

    chosen = measure("ours", "auto", False, 2 * WARM_UP)[2]
    for threads in dict.fromkeys((1, chosen) if arguments.clock == "wall" else (1,)):
        for made in (False, True):
            trial = measure("bare", threads, made, 2 * WARM_UP)[0]
            steps = min(max(round(arguments.seconds / trial, -1), 20), MOST_STEPS) + 1 + WARM_UP
            cell = _cell(lambda side: measure(side, threads, made, steps), arguments.rounds)  # noqa: B023 - used here
            automatic = ", auto" if threads == chosen else ""
            source = "made batches" if made else "windows gathered"
            cell["name"] = f"{model}, {batch_size} windows, {threads} thread{'s'[: threads > 1]}{automatic}, {source}"
            low, high = cell["quartiles"]
            print(f"{cell['name']:58}{1000 * cell['ours']:7.3f} ms{1000 * cell['bare']:7.3f} ms", end="")
            print(f"{cell['ratio']:8.3f}{f'{low:.3f} .. {high:.3f}':>27}{cell['ratio_memory_kept']:13.3f}", flush=True)
            yield cell | {"steps": steps, "threads": threads, "model": model, "batch_size": batch_size, "made": made}


def _cell(measure: Callable[[str], Residuals], rounds: int) -> dict[str, Any]:
    """Measure all sides in turns; each round gives a ratio of steps that were close in time."""
    found: dict[str, list[float]] = {side: [] for side in SIDES}
    for number in range(rounds):
        sums = []
        for side in SIDES if number % 2 == 0 else reversed(SIDES):
            seconds, total, _ = measure(side)
            found[side].append(seconds)
            sums.append(total)
        assert max(sums) - min(sums) <= 1e-4 * max(sums), f"the sides do not learn the same: {sums}"
    ours, bare, kept = (found[side] for side in SIDES)
    ratios = sorted(mine / other for mine, other in zip(ours, bare, strict=True))
    return {
        "ours": median(ours),
        "bare": median(bare),
        "bare_memory_kept": median(kept),
        "ratio": median(ratios),
        "quartiles": [ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]],
        "ratio_memory_kept": median(mine / other for mine, other in zip(ours, kept, strict=True)),
        "ratios": ratios,
    }


def step_seconds(
    side: str, model: str, batch_size: int, threads: int | str, made: bool, steps: int, clock: str
) -> Residuals:
    """Train one side and return the mean time of a step after the warm-up."""
    import torch

    import neuro_divergent as nd
    from versus.series import HORIZON, INPUT_SIZE

    train, check = _loaders(batch_size)
    batches = _made(batch_size) if made else train
    with torch.random.fork_rng():
        torch.manual_seed(1)
        network = getattr(nd, model)().build(nd.models.TaskSpec(horizon=HORIZON, input_size=INPUT_SIZE))
    if side == "ours":
        times, used = _ours(network, batches, check, batch_size, threads, steps, CLOCKS[clock])
    else:
        assert isinstance(threads, int)
        times, used = _bare(network, batches, threads, steps, CLOCKS[clock], kept=side != "bare"), threads
    return mean_step(times), float(sum(weights.detach().abs().sum() for weights in network.parameters())), used


def _ours(
    network: Any, batches: Any, check: Any, batch_size: int, threads: int | str, steps: int, now: Callable[[], float]
) -> tuple[list[float], int]:
    """Train as ``nd train`` does when its output is not a terminal."""
    from rich.console import Console

    import neuro_divergent as nd
    from neuro_divergent.interfaces.cli.progress import progress_for
    from neuro_divergent.training.callbacks.checkpointing import Checkpointing
    from neuro_divergent.training.callbacks.stop_request import StopRequest

    config = nd.TrainingConfig(max_steps=steps, batch_size=batch_size, threads=threads, validate_every=steps + 1)
    clock = _clock(now)
    with tempfile.TemporaryDirectory() as directory, open(os.devnull, "w") as nowhere:  # noqa: PTH123 - a device
        callbacks = [
            *progress_for(Console(file=nowhere)),
            StopRequest(signals=("SIGUSR1",)),
            Checkpointing(directory=Path(directory), at_most_every=60).build(),
            clock,
        ]
        trainer = nd.Trainer(network, nd.losses.MAE(), config, callbacks=callbacks)
        trainer.fit(batches, check)
    return clock.times, trainer.threads


def _bare(network: Any, batches: Any, threads: int, steps: int, now: Callable[[], float], *, kept: bool) -> list[float]:
    """Train with as little as possible."""
    import torch

    import neuro_divergent as nd
    from neuro_divergent.core.memory import keeping_memory
    from neuro_divergent.training.schedules.base import Plan

    torch.set_num_threads(threads)
    parameters = list(network.parameters())
    rate, factor, plan = 1e-3, nd.WarmupCosine().factor, Plan(steps, len(batches))
    groups = [
        {"params": [weights for weights in parameters if weights.ndim >= 2], "weight_decay": 1e-2},
        {"params": [weights for weights in parameters if weights.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=rate * factor(0, plan), fused=True)
    times: list[float] = []
    network.train()
    with keeping_memory() if kept else nullcontext():
        for step, batch in enumerate(_forever(batches, steps), start=1):
            loss = (network(batch).squeeze(-1) - batch.future_y).abs().mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            optimizer.zero_grad()
            for group in optimizer.param_groups:
                group["lr"] = rate * factor(step, plan)
            times.append(now())
    return times


def _forever(batches: Any, steps: int) -> Iterator[Any]:
    """Yield the batches of one epoch after the other, so many as there are steps."""
    epoch = 0
    while True:
        for batch in batches.epoch(epoch) if hasattr(batches, "epoch") else batches:
            yield batch
            steps -= 1
            if not steps:
                return
        epoch += 1


def _clock(now: Callable[[], float]) -> Any:
    import neuro_divergent as nd

    class Clock(nd.callbacks.Callback):
        """Notes when each step ended."""

        def __init__(self) -> None:
            self.times: list[float] = []

        def step_end(self, trainer: nd.Trainer) -> None:
            """Note the time."""
            self.times.append(now())

    return Clock()


@lru_cache(maxsize=1)
def _windows() -> tuple[Any, Any]:
    """Return the windows of both parts and how they are cut, as ``Forecaster`` does by default."""
    import neuro_divergent as nd
    from neuro_divergent.data.batcher import WindowBatcher
    from neuro_divergent.data.panel_builder import build_panel
    from neuro_divergent.data.splits import split_by_time
    from versus.series import HORIZON, INPUT_SIZE, SMALL, daily_series

    panel = build_panel(daily_series(*SMALL))
    split = split_by_time(panel, input_size=INPUT_SIZE, horizon=HORIZON)
    return split, WindowBatcher(panel, INPUT_SIZE, HORIZON, nd.scalers.StandardScaler())


def _loaders(batch_size: int) -> tuple[Any, Any]:
    from neuro_divergent.data.loader import Order, WindowLoader

    split, batcher = _windows()
    train = WindowLoader(split.train, batcher, Order(batch_size=batch_size, seed=1))
    return train, WindowLoader(split.validation, batcher, Order(batch_size=1024, shuffle=False))


@lru_cache(maxsize=1)
def _made(batch_size: int) -> list[Any]:
    """Return full batches that are ready."""
    train, _ = _loaders(batch_size)
    return [batch for batch, _ in zip(train.epoch(0), range(MADE), strict=False) if len(batch.past_y) == batch_size]


def _write(cells: list[dict[str, Any]], arguments: argparse.Namespace) -> None:
    """Keep the measurements beside what they were measured with."""
    sys.path.insert(0, str(HERE.parent / "src"))
    from neuro_divergent.core.environment import describe_environment

    environment = describe_environment(threads=0, device="cpu")
    file = RESULTS.with_name("overhead_quick.json") if arguments.quick else RESULTS
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        json.dumps(
            {"rounds": arguments.rounds, "clock": arguments.clock, "environment": environment, "cells": cells}, indent=2
        )
    )
    print(f"written: {file}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=11, help="how often all sides are measured in turns")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long a measurement is to take")
    parser.add_argument("--batches", type=int, nargs="+", default=list(BATCHES), help="windows a step")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="what is measured")
    parser.add_argument("--quick", action="store_true", help="few steps and rounds")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.seconds = 3, 0.1
    return arguments


if __name__ == "__main__":
    main()
