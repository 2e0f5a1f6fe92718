"""Measure Neuro-Divergent and NeuralForecast in one run and print how they compare.

Both sides get the same data, architecture, number of parameters, windows per step and threads. Each runs in a process
of its own, and they are measured in turns. The results go to benchmarks/results/versus_neuralforecast.json.

    python benchmarks/versus_neuralforecast.py --data ../shared/data
    python benchmarks/versus_neuralforecast.py --only step,predict --rounds 3
    python benchmarks/versus_neuralforecast.py --only import,step --clock processor --threads 1    # on a busy machine
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
from pathlib import Path

# Section and the module that measures it, from quick to slow.
SECTIONS = {"import": "start", "predict": "predict", "step": "step", "large": "large", "quality": "quality"}
RESULTS = Path(__file__).resolve().parent / "results" / "versus_neuralforecast.json"


def main() -> None:
    """Measure the sections that were asked for."""
    arguments = _parse()
    # Before torch is loaded, so that no pool of threads is larger than what both sides may use.
    os.environ |= {"OMP_NUM_THREADS": str(arguments.threads), "MKL_NUM_THREADS": str(arguments.threads)}
    from timing import CLOCK_VARIABLE

    os.environ[CLOCK_VARIABLE] = arguments.clock
    from versus.cell import Options, show
    from versus.side import Side

    ours, theirs = Side("ours", arguments.threads), Side("theirs", arguments.threads)
    options = Options(
        rounds=arguments.rounds, threads=arguments.threads, data=arguments.data.resolve(), ours=ours, theirs=theirs
    )
    cells = []
    try:
        for name in arguments.only:
            print(f"measuring: {name}", flush=True)
            measured = importlib.import_module(f"versus.{SECTIONS[name]}").measure(options)
            show(measured)
            cells += measured
            _write([cell.to_dict() for cell in cells], arguments)
    finally:
        ours.close()
        theirs.close()
    missed = [f"{cell.section}: {cell.name}" for cell in cells if cell.reached is False]
    print(f"{len(missed)} of {sum(cell.goal is not None for cell in cells)} goals missed", *missed, sep="\n  ")


def _write(cells: list[dict[str, object]], arguments: argparse.Namespace) -> None:
    """Keep the measurements beside what they were measured with."""
    import neuralforecast
    import torch

    import neuro_divergent
    from neuro_divergent.core.environment import describe_environment

    environment = describe_environment(threads=arguments.threads, device="cpu")
    versions = {package.__name__: package.__version__ for package in (neuro_divergent, neuralforecast, torch)}
    document = {
        "rounds": arguments.rounds,
        "clock": arguments.clock,
        "versions": versions,
        "environment": environment,
        "cells": cells,
    }
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(document, indent=2, default=str))
    print(f"written: {RESULTS}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", type=_sections, default=list(SECTIONS), help=f"among {','.join(SECTIONS)}")
    parser.add_argument("--rounds", type=int, default=5, help="how often both sides are measured in turns")
    parser.add_argument("--threads", type=int, default=2, help="threads on both sides")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="directory of the data sets")
    parser.add_argument(
        "--clock", choices=("wall", "processor"), default="wall", help="processor: lowest of all rounds"
    )
    return parser.parse_args()


def _sections(text: str) -> list[str]:
    unknown = [name for name in text.split(",") if name not in SECTIONS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not a section; choose among {', '.join(SECTIONS)}")
    return text.split(",")


if __name__ == "__main__":
    main()
