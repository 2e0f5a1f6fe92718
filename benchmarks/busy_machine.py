"""What busy processes beside it cost a fit with default settings, whose network is large enough for several threads.

Fits the same network in fresh processes, in turns on the machine as it is and beside one busy process per core, and
prints the time of each and their ratio, with the step after which the fit went on with one thread. ``--fixed`` measures
a fit with ``threads`` set to the number of cores as well, which stays at that number; its busy side may take very long.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from neuro_divergent.core.threads import available_cores
from timing import SOURCE

FIT = """
import json, sys, time, warnings
import torch
import neuro_divergent as nd

steps, threads = int(sys.argv[1]), sys.argv[2]
warnings.simplefilter("ignore")
torch.manual_seed(0)
sizes = [96, 1024, 1024, 1024, 24]
layers = [layer for pair in zip(sizes, sizes[1:]) for layer in (torch.nn.Linear(*pair), torch.nn.ReLU())]
config = nd.TrainingConfig(
    max_steps=steps, batch_size=256, early_stopping=None, threads=threads if threads == "auto" else int(threads)
)
trainer = nd.Trainer(torch.nn.Sequential(*layers[:-1]), nd.losses.MAE(), config)
data = torch.randn(8192, 96), torch.randn(8192, 24)
began = time.perf_counter()
trainer.fit(data)
state = trainer.state_dict()["threads"]
print(json.dumps({"seconds": time.perf_counter() - began, **state}))
"""


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep as many processes computing inside the block."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        time.sleep(1.0)
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def fit(steps: int, threads: str) -> dict[str, float | None]:
    """Train in a process of its own, with nothing said about threads from outside."""
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH", "")]))
    environment = {key: value for key, value in os.environ.items() if key not in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", FIT, str(steps), threads],
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def compare(name: str, threads: str, steps: int, rounds: int, beside: int) -> None:
    """Print the times of one setting."""
    quiet, busy = [], []
    for _ in range(rounds):
        quiet.append(fit(steps, threads))
        with busy_processes(beside):
            busy.append(fit(steps, threads))
    seconds = [median(result["seconds"] for result in side) for side in (quiet, busy)]
    after = ", ".join(str(result["one_after"]) for result in busy)
    early = sum(result["one_after"] is not None for result in quiet)
    print(f"{name}: quiet {seconds[0]:.1f} s, busy {seconds[1]:.1f} s, ratio {seconds[1] / seconds[0]:.2f}")
    print(f"  one thread after step: {after} of {steps}; on the quiet side in {early} of {rounds} rounds")


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fixed", action="store_true", help="measure threads=cores as well")
    options = parser.parse_args()
    os.environ.pop("OMP_NUM_THREADS", None)
    cores = available_cores()
    print(f"{cores} cores, {cores} busy processes, load before {os.getloadavg()[0]:.1f}")
    compare("default", "auto", options.steps, options.rounds, cores)
    if options.fixed:
        compare(f"threads={cores}", str(cores), options.steps, options.rounds, cores)


if __name__ == "__main__":
    main()
