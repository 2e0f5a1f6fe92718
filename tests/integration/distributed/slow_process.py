"""A training in which one process is slower than the others, as a script that is started in each of them.

Arguments: a table, a run directory, and which part of a step is slow in process 1: the forward pass, the
backward pass, or what follows the step; ``all`` for what follows the step, in all processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import torch
from torch import Tensor

import neuro_divergent as nd
from neuro_divergent.runs.events import read_events
from neuro_divergent.runs.processes import processes_of
from neuro_divergent.training.callbacks.base import Callback
from tests.integration.distributed.together import ROOT, environment, free_port

STEPS = 5

SECONDS = 1.0  # long compared with a step, also where many programs share a core


class _SlowBackward(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, value: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        time.sleep(SECONDS)
        return gradients[0]


class Slow(Callback):
    """Makes a part of each step slow."""

    def __init__(self, part: str) -> None:
        self.part = part

    def fit_start(self, trainer: nd.Trainer) -> None:
        if trainer.strategy.rank != 1:
            return
        if self.part == "forward":
            trainer.module.register_forward_pre_hook(lambda *_: time.sleep(SECONDS))
        elif self.part == "backward":
            trainer.module.register_forward_hook(lambda _, __, output: _SlowBackward.apply(output))

    def step_end(self, trainer: nd.Trainer) -> None:
        if self.part == "all" or (trainer.strategy.rank == 1 and self.part == "step"):
            time.sleep(SECONDS)


def train_slowly(table: Path, run: Path, part: str, strategy: str = "data_parallel") -> pl.DataFrame:
    """Train in two processes, one or both with a slow part of each step; return what was recorded of them."""
    port = free_port()
    script = [sys.executable, "-W", "ignore", "-m", "tests.integration.distributed.slow_process"]
    running = [
        subprocess.Popen(
            [*script, str(table), str(run), part, strategy, str(STEPS)],
            env=environment(rank, 2, port),
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for rank in range(2)
    ]
    try:
        told = [process.communicate(timeout=300)[1] for process in running]
    finally:
        for process in running:
            process.kill()
    assert not any(process.returncode for process in running), told
    return processes_of(read_events(run))


def main() -> None:
    table, run, part, strategy, steps = sys.argv[1:]
    training = nd.TrainingConfig(max_steps=int(steps), log_every=1, threads=1, strategy=strategy)
    forecaster = nd.Forecaster("mlp", horizon=4, input_size=12, training=training, refit=False)
    forecaster.fit(table, run=run, callbacks=[Slow(part)])
    os._exit(0)  # torch aborts now and then when the interpreter is torn down


if __name__ == "__main__":
    main()
