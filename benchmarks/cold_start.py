"""Measure how long a new process takes until it has forecast: imports, the function handler, and ``nd predict``.

Every command runs several times in turns, and the shortest wall and processor time count. The results go to
benchmarks/results/cold_start.json.

    python benchmarks/cold_start.py
    python benchmarks/cold_start.py --rounds 15
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from exported_models import export, request, write_csv
from timing import run

RESULTS = Path(__file__).resolve().parent / "results" / "cold_start.json"
# Seconds of the wall clock, on a quiet machine.
GOALS = {
    "handler, NLinear": 0.25,
    "handler, NHITS": 0.25,
    "nd predict small.csv, NLinear": 0.5,
    "nd predict small.csv, NHITS": 0.5,
}
IMPORT_GOAL = 30.0  # times faster than importing torch
HANDLER = "import sys; from neuro_divergent.serving import load; load({path!r}).answer(open({body!r}, 'rb').read())"
COMMAND = "import sys; from neuro_divergent.interfaces.cli.main import run; run()"


def main() -> None:
    """Measure all commands."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7, help="how often each command runs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        commands = _commands(Path(directory))
        best = {name: [float("inf"), float("inf")] for name in commands}
        for _ in range(arguments.rounds):
            for name, command in commands.items():
                best[name] = [min(pair) for pair in zip(best[name], _seconds(command), strict=True)]
    print(f"{'':34} {'wall':>7} {'processor':>9}")
    for name, (wall, processor) in best.items():
        goal = GOALS.get(name)
        text = "" if goal is None else f"  goal {goal:g}: {'reached' if wall <= goal else 'MISSED'}"
        print(f"{name:34} {wall:7.3f} {processor:9.3f}{text}")
    start = best["python"][1]
    ratio = (best["import torch"][1] - start) / max(best["import neuro_divergent.serving"][1] - start, 1e-3)
    print(f"importing the package is {ratio:.0f} times faster than importing torch; goal {IMPORT_GOAL:g}")
    document = {name: {"wall": wall, "processor": processor} for name, (wall, processor) in best.items()}
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps({"seconds": document, "import_ratio": ratio}, indent=2) + "\n")


def _commands(directory: Path) -> dict[str, list[str]]:
    body, small, large = directory / "body.json", directory / "small.csv", directory / "large.csv"
    body.write_bytes(request(1))
    write_csv(small, 8)
    write_csv(large, 2000)
    python = [sys.executable, "-c"]
    commands = {
        "python": [*python, "pass"],
        "import numpy": [*python, "import numpy"],
        "import onnxruntime": [*python, "import onnxruntime"],
        "import neuro_divergent.serving": [*python, "import neuro_divergent.serving"],
        "import torch": [*python, "import torch"],
        "nd --help": [*python, COMMAND, "--help"],
    }
    for name in ("NLinear", "NHITS"):
        path = export(name.lower(), directory)
        commands[f"handler, {name}"] = [*python, HANDLER.format(path=str(path), body=str(body))]
        commands[f"nd predict small.csv, {name}"] = [*python, COMMAND, "predict", str(path), str(small)]
        commands[f"nd predict large.csv, {name}"] = [*python, COMMAND, "predict", str(path), str(large)]
    other = directory / "without"
    other.symlink_to(directory / "nlinear")  # no exported file beside it
    commands["nd predict small.csv, no export"] = [*python, COMMAND, "predict", str(other), str(small)]
    return commands


def _seconds(command: list[str]) -> tuple[float, float]:
    """Return the wall and the processor time of a command."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run(command, 1)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
