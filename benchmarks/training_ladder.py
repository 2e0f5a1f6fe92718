"""Climb the classic ladder of training: from one sample at a time in float64 to compiled float32 on all cores.

A perceptron 64-128-128-1 learns 1,000 samples. Every rung has the same samples, first weights, epochs and rule (plain
gradient descent), runs in a process of its own, and they are measured in turns. That they learn the same is checked.
The second part is the time and memory of a single prediction. Results go to benchmarks/results/training_ladder.json.

    python benchmarks/training_ladder.py
    python benchmarks/training_ladder.py --quick       # few epochs and rounds: shows that it runs, measures little
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from timing import run

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "training_ladder.json"
FASTER, SMALLER, QUICKER = 71.0, 8.0, 5.0  # what is to be reached
SKIPPED = 3  # epochs before the clock starts: the first one also compiles
CALLS = 200  # predictions in a block

Residuals = dict[str, Any]


def main() -> None:
    """Measure, check and print."""
    arguments = _parse()
    # Before NumPy is loaded: predictions are measured in this process, with one thread.
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    sys.path.insert(0, str(HERE.parent / "src"))
    with tempfile.TemporaryDirectory() as directory:
        training = climb(arguments, Path(directory))
        notes = check(training, Path(directory))
        _show_training(training, notes)
        prediction = predict(arguments, Path(directory))
    _show_prediction(prediction)
    verdicts = judge(training, prediction)
    print(*(f"{'reached' if reached else 'MISSED'}: {text}" for text, reached in verdicts), sep="\n")
    _write(arguments, {"training": training, "prediction": prediction, "checks": notes, "goals": dict(verdicts)})


def climb(arguments: argparse.Namespace, directory: Path) -> dict[str, Residuals]:
    """Return time and memory of each rung."""
    from ladder.rungs import BY_HAND, RUNGS

    names = [*RUNGS, *BY_HAND]
    found: dict[str, list[Residuals]] = {name: [] for name in names}
    memory = {name: _probe(name, "memory", arguments, directory) for name in names}
    for number in range(arguments.rounds):
        print(f"round {number + 1} of {arguments.rounds}", flush=True)
        for name in names if number % 2 == 0 else reversed(names):
            found[name].append(_probe(name, "time", arguments, directory))
    return {name: _summarise(found[name], memory[name], {**RUNGS, **BY_HAND}[name].title) for name in names}


def _probe(name: str, what: str, arguments: argparse.Namespace, directory: Path) -> Residuals:
    """Measure a rung in a process of its own."""
    from ladder.rungs import BY_HAND, RUNGS

    threads = arguments.threads if {**RUNGS, **BY_HAND}[name].many else 1
    file = str(_weights(name, directory))
    command = [sys.executable, str(HERE / "ladder" / "probe.py"), name, what, str(arguments.epochs), str(threads), file]
    return json.loads(run(command, threads).splitlines()[-1])  # type: ignore[no-any-return]


def _weights(name: str, directory: Path) -> Path:
    return directory / f"{name.replace(' ', '-')}.npz"


def _summarise(rounds: list[Residuals], memory: Residuals, title: str) -> Residuals:
    """Put rounds together: the median epoch of each round, and of those the median and the range."""
    epochs = [median(found["epochs"][SKIPPED:]) for found in rounds]
    return {
        "title": title,
        "seconds": median(epochs),
        "range": [min(epochs), max(epochs)],
        "first_epoch": median(found["epochs"][0] for found in rounds),
        "tensors": memory["tensors"],
        "model": memory["model"],
        "resident": median(found["resident"] for found in rounds),
        "first_loss": rounds[0]["first_loss"],
        "loss": rounds[0]["loss"],
        "threads": rounds[0]["threads"],
    }


def check(training: dict[str, Residuals], directory: Path) -> list[str]:
    """Make sure that every rung learns, and the same thing; return how exactly.

    Raises:
        SystemExit: If one does not.
    """
    import numpy as np

    layers = {name: _layers(_weights(name, directory)) for name in training}

    def apart(one: str, other: str) -> float:
        """Return the largest difference of two networks' weights, beside the largest weight."""
        first, second = (
            np.concatenate([part.ravel() for pair in layers[name] for part in pair]) for name in (one, other)
        )
        return float(np.abs(first - second).max() / np.abs(first).max())

    losses = {name: found["loss"] for name, found in training.items()}
    claims = [
        (
            "the loss of every rung falls to less than 0.9 of its first",
            max(losses.values()),
            0.9 * training["naive"]["first_loss"],
        ),
        (
            "naive and mini-batch: relative difference of the losses",
            abs(losses["mini-batch"] / losses["naive"] - 1),
            0.02,
        ),
        ("naive in torch and by hand: difference of the weights", apart("naive", "naive, NumPy by hand"), 1e-9),
        ("mini-batch and vectorised: difference of the weights", apart("mini-batch", "vectorised"), 1e-9),
        ("vectorised and threads: difference of the weights", apart("vectorised", "threads"), 1e-9),
        ("threads and float32: difference of the weights", apart("threads", "float32"), 1e-3),
        ("float32 and compiled: difference of the weights", apart("float32", "compiled"), 1e-3),
    ]
    failed = [f"{text}: {value:.2g}, allowed are {limit:.2g}" for text, value, limit in claims if not value <= limit]
    if failed:
        raise SystemExit("the rungs do not learn the same:\n  " + "\n  ".join(failed))
    return [f"{text}: {value:.2g} (at most {limit:.2g})" for text, value, limit in claims]


def _layers(file: Path) -> list[tuple[Any, Any]]:
    import numpy as np

    found = np.load(file)
    return [(found[f"weights{place}"], found[f"biases{place}"]) for place in range(len(found.files) // 2)]


def predict(arguments: argparse.Namespace, directory: Path) -> dict[str, Residuals]:
    """Return latency, memory and error of each way to predict with the network that the naive rung trained."""
    import numpy as np
    import torch

    from ladder.prediction import ways
    from ladder.problem import predict as exactly
    from ladder.problem import samples

    torch.set_num_threads(1)
    layers = _layers(_weights("naive", directory))
    inputs, targets = samples()
    exact = exactly(layers, inputs)[:, 0]
    chosen = ways(layers)
    spent: dict[str, list[float]] = {name: [] for name in chosen}
    for number in range(arguments.blocks):
        for name in chosen if number % 2 == 0 else reversed(chosen):
            with chosen[name].context():
                spent[name].append(_block(chosen[name].predict, inputs))
    found = {}
    for name, way in chosen.items():
        with way.context():
            answers = np.array([way.predict(row) for row in inputs])
        found[name] = {
            "title": way.title,
            "seconds": min(spent[name]),
            "range": [min(spent[name]), median(spent[name])],
            "model": way.model,
            "scratch": way.scratch,
            "error": float(np.abs(answers - exact).max()),
            "loss": float(np.square(answers - targets[:, 0]).mean()),
        }
    return found


def _block(function: Any, rows: Any) -> float:
    """Return the mean time of a call over a block of calls."""
    began = time.perf_counter()
    for row in rows[:CALLS]:
        function(row)
    return (time.perf_counter() - began) / CALLS


def judge(training: dict[str, Residuals], prediction: dict[str, Residuals]) -> list[tuple[str, bool]]:
    """Return each goal with what was measured, and whether it was reached."""
    faster = training["naive"]["seconds"] / training["compiled"]["seconds"]
    by_hand = training["naive, NumPy by hand"]["seconds"] / training["compiled"]["seconds"]
    best = min((name for name in training), key=lambda name: training[name]["seconds"])
    smaller = prediction["naive"]["model"] / prediction["int8"]["model"]
    quickest = min(("float32", "packed", "int8"), key=lambda name: prediction[name]["seconds"])
    gains = {name: prediction["naive"]["seconds"] / prediction[name]["seconds"] for name in prediction}
    return [
        (
            f"training, first to last rung {faster:.0f}x, at least {FASTER:.0f}x (fastest rung: {best}; beside the "
            f"naive loop written by hand in NumPy {by_hand:.0f}x)",
            faster >= FASTER,
        ),
        # 8 bits for each number and 4 bytes for the scale of each layer: strictly, 8 cannot be reached.
        (f"prediction, int8 model {smaller:.4f}x smaller, at least {SMALLER:.0f}x", smaller >= SMALLER),
        (
            f"prediction, int8 {gains['int8']:.1f}x quicker than naive, at least {QUICKER:.0f}x",
            gains["int8"] >= QUICKER,
        ),
        (
            f"prediction, quickest way ({quickest}) {gains[quickest]:.1f}x quicker than naive, at least {QUICKER:.0f}x "
            f"(beside NumPy by hand {gains[quickest] / gains['naive, NumPy by hand']:.1f}x)",
            gains[quickest] >= QUICKER,
        ),
    ]


def _show_training(found: dict[str, Residuals], notes: list[str]) -> None:
    first = found["naive"]
    print(f"\n{'training':22}{'ms an epoch':>12}{'(rounds)':>18}{'faster':>9}{'tensors':>10}{'less':>7}", end="")
    print(f"{'resident':>10}{'first epoch':>13}{'threads':>9}{'loss':>8}  adds")
    for name, rung in found.items():
        low, high = (f"{1000 * value:.4g}" for value in rung["range"])
        print(f"{name:22}{1000 * rung['seconds']:12.2f}{f'{low}..{high}':>18}", end="")
        print(f"{first['seconds'] / rung['seconds']:8.1f}x{rung['tensors'] / 1e6:7.2f} MB", end="")
        print(f"{first['tensors'] / rung['tensors']:6.2f}x{rung['resident'] / 1e6:7.0f} MB", end="")
        print(f"{rung['first_epoch']:11.2f} s{rung['threads']:9}{rung['loss']:8.4f}  {rung['title']}")
    print(
        "tensors: samples, weights, gradients and activations at their peak; resident: growth of the process, torch's"
    )
    print("own machinery and its compiler included", *notes, sep="\n  ")


def _show_prediction(found: dict[str, Residuals]) -> None:
    first = found["naive"]
    print(f"\n{'one prediction':22}{'best':>9}{'median':>10}{'quicker':>9}{'model':>12}{'smaller':>9}", end="")
    print(f"{'scratch':>11}{'worst error':>13}{'loss':>9}")
    for name, way in found.items():
        print(f"{name:22}{1e6 * way['seconds']:6.1f} us{1e6 * way['range'][1]:7.1f} us", end="")
        print(
            f"{first['seconds'] / way['seconds']:8.1f}x{way['model']:10,} B{first['model'] / way['model']:8.3f}x",
            end="",
        )
        print(f"{way['scratch']:9,} B{way['error']:13.2g}{way['loss']:9.5f}  {way['title']}")


def _write(arguments: argparse.Namespace, found: dict[str, Any]) -> None:
    """Keep the measurements beside what they were measured with."""
    from neuro_divergent.core.environment import describe_environment

    environment = describe_environment(threads=arguments.threads, device="cpu")
    document = {"epochs": arguments.epochs, "rounds": arguments.rounds, "environment": environment, **found}
    file = RESULTS.with_name("training_ladder_quick.json") if arguments.quick else RESULTS
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=2))
    print(f"written: {file}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=30, help="epochs of each rung and round")
    parser.add_argument("--rounds", type=int, default=5, help="how often all rungs are measured in turns")
    parser.add_argument("--blocks", type=int, default=60, help=f"blocks of {CALLS} predictions in turns")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads of the last rungs")
    parser.add_argument("--quick", action="store_true", help="few epochs and rounds")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.epochs, arguments.rounds, arguments.blocks = 8, 1, 5
    if arguments.epochs <= SKIPPED:
        parser.error(f"--epochs: more than {SKIPPED}, which are not counted")
    return arguments


if __name__ == "__main__":
    main()
