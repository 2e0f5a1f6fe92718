"""A data-parallel strategy, written outside the engine, trains as one process does with the whole batch."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

import neuro_divergent as nd

RANKS = 2
CASES = ("mse", "rmse", "accumulate", "double", "central", "stop", "interrupt")


def _add_up(state, bucket):  # type: ignore[no-untyped-def] # torch reads annotations as types
    """Add up gradients over processes, where torch would take their mean."""
    del state
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda done: done.value()[0])


class Shard:
    """Every second row of each batch."""

    def __init__(self, loader: Any, rank: int) -> None:
        self.loader, self.rank = loader, rank

    def __len__(self) -> int:
        return len(self.loader)

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        for batch in self.loader.epoch(number, start):
            yield tuple(item[self.rank :: RANKS] for item in batch)


class DataParallel:
    """Processes with the same weights that add up their gradients."""

    world_size = RANKS

    def __init__(self) -> None:
        self.rank = dist.get_rank()

    def shard(self, loader: Any) -> Any:
        return Shard(loader, self.rank)

    def prepare(self, module: nn.Module) -> nn.Module:
        made = nn.parallel.DistributedDataParallel(module)
        made.register_comm_hook(None, _add_up)
        return made

    def no_sync(self, module: Any) -> Any:
        return module.no_sync()

    def all_reduce(self, total: Any, weight: Any) -> tuple[Any, Any]:
        both = [torch.as_tensor(item, dtype=torch.float64) for item in (total, weight)]
        for item in both:
            dist.all_reduce(item)
        return tuple(  # type: ignore[return-value]
            item.to(given.dtype) if isinstance(given, Tensor) else float(item)
            for item, given in zip(both, (total, weight), strict=True)
        )

    def any(self, flag: bool) -> bool:
        return self.all_reduce(float(flag), 0.0)[0] > 0

    def broadcast(self, value: Any) -> Any:
        held = [value]
        dist.broadcast_object_list(held)
        return held[0]

    def full_state(self, module: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[dict[str, Any], dict[str, Any]]:
        return module.state_dict(), optimizer.state_dict()


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)).double()


def data() -> tuple[Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(1)
    inputs = torch.randn(60, 3, generator=random, dtype=torch.float64)
    return inputs, inputs.sin().sum(1, keepdim=True), torch.rand(60, generator=random, dtype=torch.float64)


def settings(**changes: Any) -> nd.TrainingConfig:
    return nd.TrainingConfig(**{"max_steps": 20, "batch_size": 16, "threads": 1, "validate_every": 5, **changes})


def train(case: str, strategy: Any = None) -> dict[str, Any]:
    loss, changes = {
        "mse": (nd.losses.MSE(), {}),
        "rmse": (nd.losses.RMSE(), {"l2": 0.1, "clip": nd.ClipNorm(0.1)}),
        "accumulate": (nd.losses.RMSE(), {"accumulate": 2}),
        "double": (nd.losses.MSE(), {"accumulate": 2, "gradient_sum": "float64"}),
        "central": (nd.losses.MSE(), {"gradient": "central", "max_steps": 3}),
        "stop": (nd.losses.MSE(), {}),
        "interrupt": (nd.losses.MSE(), {}),
    }[case]
    callbacks: list[Any] = []

    class At(nd.callbacks.Callback):
        def step_end(self, trainer: nd.Trainer) -> None:
            if trainer.state.step == 7 and trainer.strategy.rank == RANKS - 1:
                trainer.stop("enough") if case == "stop" else trainer.interrupt("SIGINT")

    if case in ("stop", "interrupt"):
        callbacks.append(At())
    trainer = nd.Trainer(network(), loss, settings(**changes), callbacks=callbacks, strategy=strategy)
    ended = "end"
    try:
        trainer.fit(data(), data())
    except nd.errors.Interrupted as error:
        ended = error.name
    rows = [
        {name: row.get(name) for name in ("step", "train_loss", "gradient_norm", "validation_loss")}
        for row in trainer.history.rows
    ]
    weights = torch.cat([parameter.detach().flatten() for parameter in trainer.module.parameters()]).tolist()
    return {"weights": weights, "rows": rows, "step": trainer.state.step, "ended": ended}


@pytest.fixture(scope="module")
def in_two_processes() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """What each process found in each case, all of which one pair of processes trains."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script = (
        "import json, sys, torch.distributed as dist\n"
        "from tests.integration.test_two_processes import DataParallel, train\n"
        "dist.init_process_group('gloo')\n"
        f"print(json.dumps({{case: train(case, DataParallel()) for case in {CASES!r}}}))\n"
        "dist.destroy_process_group()\n"
    )
    common = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(RANKS)}
    running = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", script],
            env={**common, "RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for rank in range(RANKS)
    ]
    try:
        results = [process.communicate(timeout=300)[0] for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0, 0]
    first, second = (json.loads(result.splitlines()[-1]) for result in results)
    return {case: (first[case], second[case]) for case in CASES}


@pytest.mark.parametrize("case", CASES[:-2])
@pytest.mark.filterwarnings("ignore::neuro_divergent.training.GradientCostWarning")
def test_two_processes_with_half_of_each_batch_give_the_weights_of_one_with_all(
    case: str, in_two_processes: dict[str, Any]
) -> None:
    alone, (first, second) = train(case), in_two_processes[case]
    assert first["weights"] == second["weights"]
    assert first["weights"] == pytest.approx(alone["weights"], rel=1e-6, abs=1e-8)
    assert first["rows"] == second["rows"]
    for ours, theirs in zip(first["rows"], alone["rows"], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize(("case", "ends"), [("stop", ["end", "end"]), ("interrupt", ["SIGTERM", "SIGINT"])])
def test_a_stop_or_interruption_of_one_process_ends_all_at_the_same_step(
    case: str, ends: list[str], in_two_processes: dict[str, Any]
) -> None:
    results = in_two_processes[case]
    assert [result["step"] for result in results] == [7, 7]
    assert [result["ended"] for result in results] == ends
