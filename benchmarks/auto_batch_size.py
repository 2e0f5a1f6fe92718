"""What a training step is predicted to need, and what it takes, for batches of several sizes.

Each network is measured with few rows, in a process of its own, as ``find_batch_size`` does it. Then it is trained for
some steps in processes of their own: with the C library giving back at once what is freed, which shows the bytes of
tensors, and as training does it, keeping what is freed, which shows the gaps between blocks as well. Prints the
prediction, both peaks of the resident set beyond what was there before, and the time of the prediction. Needs Linux.

    OMP_NUM_THREADS=1 python benchmarks/auto_batch_size.py
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

import neuro_divergent as nd
from neuro_divergent.core import memory
from neuro_divergent.training.tuning.step_memory import MOST_ROWS, measure_step

HISTORY, HORIZON = 96, 24
NETWORKS: dict[str, tuple[Any, int, tuple[int, ...]]] = {
    "MLP": (nd.MLP(num_layers=8, hidden_size=256), 1, (1024, 4096, 16384)),
    "LSTM": (nd.LSTM(), 1, (64, 128, 256)),
    "GRU": (nd.GRU(), 1, (64, 128, 256)),
    "ITransformer": (nd.ITransformer(hidden_size=128, feedforward_size=256), 16, (128, 256, 512)),
    "NHITS": (nd.NHITS(), 1, (1024, 4096, 16384)),
    "DLinear": (nd.DLinear(), 1, (16384, 65536, 262144)),
}


class Windows:
    """Makes each batch when it is asked for."""

    def __init__(self, rows: int, channels: int) -> None:
        self.rows = rows
        self.channels = channels

    def __len__(self) -> int:
        return 1

    def epoch(self, number: int, start: int = 0) -> Iterator[nd.models.Batch]:
        """Yield the one batch of an epoch."""
        del number, start
        values = torch.randn(self.rows, HISTORY + HORIZON, self.channels)
        yield nd.models.Batch(values[:, :HISTORY], future_y=values[:, HISTORY:])


def resident(key: str) -> int:
    """Return the resident set now (``VmRSS``) or at its peak (``VmHWM``)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))


def in_child(work: Callable[[], Any]) -> Any:
    """Return what a function returns in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, json.dumps(work()).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as answer:
        return json.loads(answer.read())


def predict(network: nn.Module, channels: int, sizes: tuple[int, ...]) -> tuple[list[int], float]:
    """Return the bytes beside the weights for each size, and the processor time of finding them."""
    batch = next(Windows(MOST_ROWS, channels).epoch(0))
    began = time.process_time()
    need = measure_step(network, nd.losses.MSE(), batch, nd.TrainingConfig(threads=1, early_stopping=None), memory=4e9)
    return [need.peak(size) - need.weights for size in sizes], time.process_time() - began


def train(network: nn.Module, channels: int, rows: int, steps: int, *, keeping: bool) -> int:
    """Return by how much the resident set grows in training."""
    if not keeping:
        library = memory._glibc()
        library.mallopt(memory._MMAP_THRESHOLD, 65536)
        memory._glibc = lambda: None  # type: ignore[assignment]
    config = nd.TrainingConfig(max_steps=steps, threads=1, early_stopping=None)
    nd.Trainer(copy.deepcopy(network), nd.losses.MSE(), config).fit(Windows(2, channels))
    before = resident("VmRSS")
    nd.Trainer(network, nd.losses.MSE(), config).fit(Windows(rows, channels))
    return resident("VmHWM") - before


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=6, help="of each training")
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    # What the first training of a process imports is not part of what is measured.
    nd.Trainer(nn.Linear(1, 1), nd.losses.MSE(), nd.TrainingConfig(max_steps=2)).fit(
        (torch.ones(4, 1), torch.ones(4, 1))
    )
    print(
        f"{'network':>14} {'rows':>7} {'predicted':>11} {'tensors':>11} {'ratio':>6} {'kept':>11} {'gaps':>6} "
        f"{'search':>8}"
    )
    for name, (architecture, channels, sizes) in NETWORKS.items():
        torch.manual_seed(0)
        network = architecture.build(nd.models.TaskSpec(horizon=HORIZON, input_size=HISTORY, channels=channels))
        predicted, seconds = in_child(lambda: predict(network, channels, sizes))  # noqa: B023 - called here
        for rows, size in zip(sizes, predicted, strict=True):
            tensors, kept = (
                in_child(lambda: train(network, channels, rows, steps, keeping=keeping))  # noqa: B023 - called here
                for keeping in (False, True)
            )
            print(
                f"{name:>14} {rows:>7} {size / 1e6:>8.1f} MB {tensors / 1e6:>8.1f} MB {size / tensors:>6.2f} "
                f"{kept / 1e6:>8.1f} MB {kept / size:>6.2f} {seconds:>6.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
