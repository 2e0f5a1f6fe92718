"""How much complete and differential checkpoints write, and how long a save takes.

A network of two parts is trained for some steps with a checkpoint after each: with its large part frozen, with all of
it trained, and with an average of the weights. "On the disk" counts a file that several checkpoints share once; a save
is the time of ``Store.write``, with all flushes.

    python benchmarks/differential_checkpoints.py --place /a/real/disk
    python benchmarks/differential_checkpoints.py --width 128 --saves 3       # shows that it runs
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

import neuro_divergent as nd
from neuro_divergent.core.storage.local import LocalStore

CASES: dict[str, dict[str, Any]] = {
    "frozen backbone": {"freeze": nd.training.Freeze("0.*")},
    "frozen backbone, EMA": {"freeze": nd.training.Freeze("0.*"), "average": nd.callbacks.EMA()},
    "frozen backbone, compressed": {"freeze": nd.training.Freeze("0.*"), "compress": True},
    "everything trained": {},
}


class TimedStore(LocalStore):
    """Notes how long saves take."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.seconds: list[float] = []

    def write(self, name: str, files: Any) -> None:
        """Write, and note the time."""
        start = time.perf_counter()
        super().write(name, files)
        self.seconds.append(time.perf_counter() - start)


def train(place: Path, width: int, saves: int, *, differential: bool, compress: bool = False, **settings: Any) -> str:
    """Train with a checkpoint after each step, keep all of them, and tell what they take."""
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(8, width), nn.ReLU(), *(nn.Linear(width, width) for _ in range(4)))
    network = nn.Sequential(backbone, nn.Linear(width, 1))
    config = nd.TrainingConfig(max_steps=saves, batch_size=16, validate_every=3, seed=0, threads=1, **settings)
    writer = nd.callbacks.Checkpointing(
        directory=place, every_epochs=None, every_steps=1, keep=saves, differential=differential, compress=compress
    ).build()
    store = writer.store = TimedStore(place)
    inputs = torch.arange(512, dtype=torch.float32).reshape(64, 8).sin()
    data = inputs, inputs.sum(1, keepdim=True)
    nd.Trainer(network, nd.losses.MSE(), config, callbacks=[writer]).fit(data, data)
    files = [path.stat() for path in place.rglob("*") if path.is_file()]
    on_disk = sum({item.st_ino: item.st_size for item in files}.values())
    return (
        f"{on_disk / 2**20:9.1f} MiB  {sum(item.st_size for item in files) / 2**20:9.1f} MiB  "
        f"{1000 * store.seconds[0]:7.0f} ms  {1000 * statistics.median(store.seconds[1:]):7.0f} ms"
    )


def main() -> None:
    """Print a row for each case and kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--place", type=Path, help="a directory; unset, a temporary one")
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--saves", type=int, default=10)
    arguments = parser.parse_args()
    print(f"{'':45} {'on the disk':>13}  {'sum of files':>13}  {'first':>10}  {'next':>10}")
    for case, settings in CASES.items():
        for differential in (False, True):
            with tempfile.TemporaryDirectory(dir=arguments.place) as place:
                row = train(
                    Path(place) / "made", arguments.width, arguments.saves, differential=differential, **settings
                )
            print(f"{case:45} {'differential' if differential else 'complete':13} {row}", flush=True)


if __name__ == "__main__":
    main()
