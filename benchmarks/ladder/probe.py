"""Train on one rung in a process of its own and print, as JSON, how long it took and how much memory it needed.

python probe.py RUNG time EPOCHS THREADS FILE      seconds of each epoch; the trained weights go to FILE
python probe.py RUNG memory EPOCHS THREADS FILE    bytes of all tensors at their peak, counted by torch's profiler
"""

from __future__ import annotations

import json
import sys
import time
import tracemalloc
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from allocation import Allocation
from ladder.problem import mean_squared_error
from ladder.rungs import BY_HAND, RUNGS, Training
from timing import process_bytes


def main(name: str, what: str, epochs: str, threads: str, file: str) -> None:
    """Measure and print."""
    training = Training({**RUNGS, **BY_HAND}[name], int(threads))
    found = _time(training, int(epochs), file) if what == "time" else _memory(training)
    print(json.dumps(found))


def _time(training: Training, epochs: int, file: str) -> dict[str, object]:
    first = mean_squared_error(training.layers)
    Path("/proc/self/clear_refs").write_text("5")  # the highest mark so far is forgotten
    before, began = process_bytes("VmRSS"), time.perf_counter()
    seconds = training.run(epochs)
    whole, peak = time.perf_counter() - began, process_bytes("VmHWM") - before
    weights = {f"weights{place}": pair[0] for place, pair in enumerate(training.layers)}
    np.savez(file, **weights, **{f"biases{place}": pair[1] for place, pair in enumerate(training.layers)})
    return {
        "epochs": seconds,
        "whole": whole,
        "resident": peak,
        "first_loss": first,
        "loss": mean_squared_error(training.layers),
        "threads": training.threads,
    }


def _memory(training: Training) -> dict[str, int]:
    """Count the bytes of samples, weights and whatever lives during an epoch, after one that is not counted."""
    training.run(1)
    model = sum(array.nbytes for pair in training.layers for array in pair)
    if training.rung.loop == "numpy":
        tracemalloc.start()
        training.run(1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    else:
        allocation = Allocation()
        allocation.start()
        training.run(1)
        peak = allocation.stop()
    return {"tensors": model + training.data_bytes + peak, "model": model}


if __name__ == "__main__":
    main(*sys.argv[1:])
