"""What recomputing activations saves and costs, for deep networks.

Each network runs training passes (forward and backward) with all activations kept and with segments of 1, 2, 3, 4 and 6
blocks, in turns, on one thread. Memory is the largest sum of all tensors alive during a pass, without weights and their
gradients, counted by torch's profiler; time is processor time, the median over the rounds. Prints both, and their
ratios to the pass that keeps everything.
"""

from __future__ import annotations

import time
from functools import partial

import torch
from torch import nn

import neuro_divergent as nd
from allocation import Allocation
from neuro_divergent.training.recompute import recomputing
from timing import in_turns

ROUNDS, CALLS = 7, 3
EVERY = (1, 2, 3, 4, 6)
NETWORKS = {
    "ITransformer, 8 layers": (nd.ITransformer(hidden_size=128, feedforward_size=512, num_layers=8), 32, 32),
    "NBEATS, 12 blocks": (nd.NBEATS(stacks=("generic",) * 12, hidden_size=256), 1024, 1),
    "MLP, 12 layers": (nd.MLP(num_layers=12, hidden_size=512), 1024, 1),
}


def train_once(network: nn.Module, batch: nd.models.Batch, every: int) -> None:
    """Do one training pass."""
    with recomputing(network, every):
        network(batch).square().mean().backward()


def pass_seconds(network: nn.Module, batch: nd.models.Batch, every: int) -> float:
    """Return the processor time of a pass, after one that is not counted."""
    train_once(network, batch, every)
    began = time.process_time()
    for _ in range(CALLS):
        train_once(network, batch, every)
    return (time.process_time() - began) / CALLS


def peak_bytes(network: nn.Module, batch: nd.models.Batch, every: int) -> int:
    """Return the memory that a pass needs beside weights and their gradients, which exist from the pass before."""
    allocation = Allocation()
    allocation.start()
    train_once(network, batch, every)
    return allocation.stop()


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    print(f"{'network':>24} {'every':>6} {'memory':>10} {'ratio':>6} {'time':>10} {'ratio':>6}")
    for name, (architecture, rows, channels) in NETWORKS.items():
        torch.manual_seed(0)
        network = architecture.build(nd.models.TaskSpec(horizon=24, input_size=96, channels=channels))
        values = torch.randn(rows, 96, channels)
        batch = nd.models.Batch(values)
        choices = (0, *EVERY)
        seconds = in_turns(ROUNDS, *(partial(pass_seconds, network, batch, every) for every in choices))
        memory = [peak_bytes(network, batch, every) for every in choices]
        for every, size, spent in zip(choices, memory, seconds, strict=True):
            print(
                f"{name:>24} {every or 'kept':>6} {size / 1e6:>7.1f} MB {size / memory[0]:>6.2f} "
                f"{spent * 1e3:>7.1f} ms {spent / seconds[0]:>6.2f}"
            )


if __name__ == "__main__":
    main()
