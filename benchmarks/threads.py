"""When a second thread pays: training steps of perceptrons of growing size with one thread and with all cores.

Prints milliseconds per step and the multiply-adds of a forward pass, from which
``neuro_divergent.core.threads.WORTH_A_SECOND_THREAD`` is taken. Run it on a quiet machine: a busy one makes several
threads look ten times worse than they are.
"""

from __future__ import annotations

import torch
from torch import nn

import neuro_divergent as nd
from neuro_divergent.core.threads import WORTH_A_SECOND_THREAD, available_cores
from timing import in_turns

ROUNDS, STEPS, ROWS = 5, 40, 128


def milliseconds_per_step(hidden_size: int, threads: int) -> float:
    """Train a perceptron with three hidden layers for a few steps."""
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Linear(96, hidden_size),
        nn.ReLU(),
        nn.Linear(hidden_size, hidden_size),
        nn.ReLU(),
        nn.Linear(hidden_size, hidden_size),
        nn.ReLU(),
        nn.Linear(hidden_size, 24),
    )
    data = (torch.randn(ROWS * STEPS, 96), torch.randn(ROWS * STEPS, 24))
    config = nd.TrainingConfig(max_steps=STEPS, batch_size=ROWS, threads=threads, early_stopping=None, log_every=STEPS)
    history = nd.Trainer(module, nd.losses.MAE(), config).fit(data)
    return 1000 * ROWS / history.rows[-1]["samples_per_second"]


def main() -> None:
    """Print the table."""
    cores = available_cores()
    print(f"threshold in use: {WORTH_A_SECOND_THREAD:,} multiply-adds")
    print(f"{'width':>6} {'multiply-adds':>14} {'1 thread':>10} {f'{cores} threads':>10} {'gain':>6}")
    for hidden_size in (32, 64, 128, 256, 384, 512, 1024):
        work = ROWS * (96 * hidden_size + 2 * hidden_size**2 + 24 * hidden_size)
        one, many = in_turns(
            ROUNDS,
            lambda size=hidden_size: milliseconds_per_step(size, 1),
            lambda size=hidden_size: milliseconds_per_step(size, cores),
        )
        print(f"{hidden_size:>6} {work:>14,} {one:>8.2f}ms {many:>8.2f}ms {one / many:>5.2f}x")


if __name__ == "__main__":
    main()
