"""What training in two processes costs beside one, and beside ``DistributedDataParallel`` written by hand.

Every measurement is a group of fresh processes with one thread each, on a global batch of 256 windows (history 96,
horizon 24): time of a step, the part of it that the shared decisions after a step take, and the bytes that a process
sends. Ours and the one written by hand take turns of twenty steps in the same processes, since the speed of a machine
drifts by more than they differ. The median over rounds is shown. Two processes need two cores with nothing else to do.
From these the time of a step is computed for 8, 64 and 512 processes: compute shrinks, the exchange does not.
The results go to benchmarks/results/distributed.json, and with --page into docs/guides/distributed.md.

    python benchmarks/distributed.py --page
    python benchmarks/distributed.py --rounds 1 --steps 20    # shows that it runs
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "distributed.json"
PAGE = HERE.parent / "docs" / "guides" / "distributed.md"
MARKS = ("<!-- measured -->", "<!-- end of measured -->")
MODELS = {"nlinear": {}, "nhits": {"hidden_size": 512}}
HORIZON, HISTORY, ROWS = 24, 96, 256
WARM, TURN = 10, 20
SLOWER, FLAG = 1.05, 0.01
LINK = {"latency": 50e-6, "bandwidth": 10e9 / 8}
"""Of the links that the computed times are for: seconds for a message, and bytes per second (10 Gbit/s)."""


def main() -> None:
    """Measure, print and store."""
    options = _parse()
    if options.side:
        print("RESULT" + json.dumps(_SIDES[options.side](options.model, options.steps)), flush=True)
        os._exit(0)  # torch aborts one in some dozen processes when the interpreter is torn down
    found = {model: _measure(model, options) for model in MODELS}
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=2))
    text = _text(found)
    print(text)
    if options.page:
        before, _, rest = PAGE.read_text("utf-8").partition(MARKS[0])
        _, _, after = rest.partition(MARKS[1])
        PAGE.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{after}", "utf-8")


def _measure(model: str, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Return medians over rounds, in which the sides take turns."""
    sides = {"alone": 1, "ours": 2, "ours_fp16": 2, "flag": 2}
    rounds: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    for _ in range(options.rounds):
        for side, processes in sides.items():
            rounds[side].append(_together(side, processes, model, options.steps))
    return {
        side: {name: median(item[name] for item in made) for name in made[0]} for side, made in rounds.items() if made
    }


def _together(side: str, processes: int, model: str, steps: int) -> dict[str, float]:
    """Run a side in some processes, and return what process 0 measured."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-W", "ignore", __file__, "--side", side, "--model", model, "--steps", str(steps)]
    running = []
    for rank in range(processes):
        told = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(processes)}
        told |= {"LOCAL_WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        environment = {**os.environ, **told, "OMP_NUM_THREADS": "1"}
        running.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
    spoken = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        raise RuntimeError(f"{side} failed for {model}.")
    line = next(line for line in spoken[0].splitlines() if line.startswith("RESULT"))
    return json.loads(line.removeprefix("RESULT"))


def _data(rows: int) -> Any:
    import torch

    from neuro_divergent.core.spec import Batch

    random = torch.Generator().manual_seed(0)
    return Batch(
        torch.randn(rows, HISTORY, 1, generator=random), future_y=torch.randn(rows, HORIZON, 1, generator=random)
    )


def _network(model: str) -> Any:
    import torch

    from neuro_divergent.core.spec import TaskSpec
    from neuro_divergent.models.base import Architecture

    torch.manual_seed(0)
    return Architecture.from_dict({"name": model, **MODELS[model]}).build(TaskSpec(HORIZON, HISTORY))


def _ours(model: str, steps: int, compression: str = "none", by_hand: bool = False) -> dict[str, float]:
    import neuro_divergent as nd

    times: list[float] = []
    other: list[float] = []

    class Clock(nd.callbacks.Callback):
        def __init__(self) -> None:
            self.hand = _ByHand(model) if by_hand else None
            self.began, self.sent, self.sent_by_hand = 0.0, _sent(), 0.0

        def step_end(self, trainer: Any) -> None:
            if trainer.state.step > WARM:
                times.append(time.perf_counter() - self.began)
            if self.hand is not None and trainer.state.step % TURN == 0:
                before = _sent()
                other.extend(self.hand.steps(TURN))
                self.sent_by_hand += _sent() - before
            self.began = time.perf_counter()

    strategy = {"name": "data_parallel", "compression": compression}
    config = nd.TrainingConfig(max_steps=WARM + steps, threads=1, log_every=10**6, strategy=strategy)
    clock = Clock()
    trainer = nd.Trainer(_network(model), nd.losses.MAE(), config, callbacks=[clock])
    trainer.fit([_data(ROWS)] * 8)
    sent = _sent() - clock.sent - clock.sent_by_hand
    found = {"seconds": median(times), "sent": sent / (WARM + steps)}
    if other:
        found["by_hand"] = median(other[WARM:])
        found["ratio"] = found["seconds"] / found["by_hand"]
    return found


class _ByHand:
    """Training with plain DDP, a mean of means, clipping and AdamW, and nothing else."""

    def __init__(self, model: str) -> None:
        import torch
        from torch import nn

        from neuro_divergent.distributed.group import join_group
        from neuro_divergent.training.optimizers.adam import AdamW

        group = join_group(torch.device("cpu"), 600.0)
        self.network = _network(model)
        self.wrapped = nn.parallel.DistributedDataParallel(
            self.network, gradient_as_bucket_view=True, forward_sync_buffers=False
        )
        self.optimizer = AdamW().build(self.network)
        batch, own = _data(ROWS), slice(group.rank, None, group.world_size)
        self.part = batch._replace(past_y=batch.past_y[own], future_y=batch.future_y[own])

    def steps(self, number: int) -> list[float]:
        """Make some steps, and return the seconds of each."""
        from torch import nn

        gaps = []
        for _ in range(number):
            began = time.perf_counter()
            loss = (self.wrapped(self.part).squeeze(-1) - self.part.future_y).abs().mean()
            loss.backward()
            nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
            gaps.append(time.perf_counter() - began)
        return gaps


def _flag(model: str, steps: int) -> dict[str, float]:
    """Time the exchange of decisions that follows a step."""
    import torch

    from neuro_divergent.training.strategy import find_strategy

    strategy = find_strategy(None, torch.device("cpu"))
    gaps, spent = [], time.process_time()
    for _ in range(10 * steps):
        began = time.perf_counter()
        strategy.any_of(False, False, False)
        gaps.append(time.perf_counter() - began)
    return {"seconds": median(gaps), "processor": (time.process_time() - spent) / len(gaps)}


def _sent() -> float:
    """Return the bytes that went through the loopback interface so far; with two processes half of it is of each."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "lo":
            return float(numbers.split()[8]) / 2
    return 0.0


_SIDES = {
    "alone": _ours,
    "ours": lambda model, steps: _ours(model, steps, by_hand=True),
    "ours_fp16": lambda model, steps: _ours(model, steps, "fp16"),
    "flag": _flag,
}


def _text(found: dict[str, dict[str, dict[str, float]]]) -> str:
    lines = [
        "| global batch of 256 | one process | two processes | plain DDP by hand | fp16 | decisions of a step | sent "
        "per step | with fp16 |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for model, sides in found.items():
        alone, ours, half = (sides[name] for name in ("alone", "ours", "ours_fp16"))
        seconds = alone["seconds"], ours["seconds"], ours["by_hand"], half["seconds"]
        cells = [f"{1000 * each:.2f} ms" for each in seconds]
        flag = f"{1e6 * sides['flag']['seconds']:.0f} us"
        sizes = [f"{side['sent'] / 1e6:.2f} MB" for side in (ours, half)]
        lines.append(f"| {model} | {' | '.join((*cells, flag, *sizes))} |")
    lines.append("")
    for model, sides in found.items():
        ratio = sides["ours"]["ratio"]
        share = sides["flag"]["seconds"] / sides["ours"]["seconds"]
        lines.append(
            f"- {model}: {ratio:.2f} times the step of plain DDP; decisions take {100 * share:.1f} % of a step."
        )
    return "\n".join([*lines, "", *_expected(found)])


def _expected(found: dict[str, dict[str, dict[str, float]]]) -> list[str]:
    """Return computed times of a step for more processes, at a fixed batch per process (weak scaling)."""
    counts = (8, 64, 512)
    lines = [
        "Computed for 128 windows per process, links of 10 Gbit/s and 50 us (not measured): the step of one process, "
        "plus a ring exchange of the gradients, 2 (N - 1) / N of their bytes in 2 (N - 1) messages, plus the decisions "
        "in log2(N) messages each way.",
        "",
        f"| | {' | '.join(f'{count} processes' for count in counts)} |",
        f"|---|{'---:|' * len(counts)}",
    ]
    for model, sides in found.items():
        compute = sides["alone"]["seconds"] / 2
        size = 2 * sides["ours"]["sent"]  # of two processes, each sends half of a ring's bytes twice
        cells = []
        for count in counts:
            ring = 2 * (count - 1) / count * (size / 2) / LINK["bandwidth"] + 2 * (count - 1) * LINK["latency"]
            flags = 2 * 2 * (count - 1).bit_length() * LINK["latency"]
            whole = compute + ring + flags
            cells.append(f"{1000 * whole:.1f} ms, {100 * compute / whole:.0f} % efficient")
        lines.append(f"| {model} | {' | '.join(cells)} |")
    return lines


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200, help="steps that are timed in each round")
    parser.add_argument("--page", action="store_true", help="put the tables into the documentation")
    parser.add_argument("--side", choices=_SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--model", choices=MODELS, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
