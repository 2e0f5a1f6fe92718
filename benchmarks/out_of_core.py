"""Measure training on panels on disk, with a cold page cache, against the same panels in memory.

Files are made in a temporary directory and removed. The page cache is emptied of these files alone, so nothing else on
the machine becomes slower. The results go to benchmarks/results/out_of_core.json.

    python benchmarks/out_of_core.py
    python benchmarks/out_of_core.py --only waiting,training --rows 200000000
    python benchmarks/out_of_core.py --only validation_error --data ../shared/data --seeds 5

Parts: waiting (a), training (b), growth (c), conversion (d), directories (e), validation_error (f).
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

PARTS = ("waiting", "training", "growth", "conversion", "directories", "validation_error")
RESULTS = Path(__file__).resolve().parent / "results" / "out_of_core.json"


def main() -> None:
    """Measure the parts that were asked for."""
    arguments = _parse()
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in arguments.only:
        with tempfile.TemporaryDirectory(dir=arguments.directory) as place:
            results[name] = _measure(name, Path(place), arguments)
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=2) + "\n")


def _measure(name: str, place: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    from large import conversion, directories, growth, training, validation_error, waiting

    measures = {
        "waiting": lambda: waiting.measure(place, arguments.rows),
        "training": lambda: training.measure(place, arguments.rows, arguments.rounds),
        "growth": lambda: growth.measure(place, arguments.sizes, arguments.rounds),
        "conversion": lambda: conversion.measure(place, arguments.rows),
        "directories": lambda: directories.measure(place, arguments.series),
        "validation_error": lambda: validation_error.measure(arguments.data.resolve(), arguments.seeds),
    }
    return measures[name]()


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", type=lambda text: text.split(","), default=PARTS, help="parts, separated by commas")
    parser.add_argument("--rows", type=int, default=500_000_000, help="rows of the panel")
    parser.add_argument(
        "--sizes",
        type=lambda text: [int(float(item)) for item in text.split(",")],
        default=[10**6, 10**7, 10**8, 2 * 10**8],
        help="rows of the panels of the part growth",
    )
    parser.add_argument("--series", type=int, default=2000, help="series of the part directories")
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each kind in the part validation_error")
    parser.add_argument("--rounds", type=int, default=3, help="how often both sides are measured in turns")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="directory of the real data sets")
    parser.add_argument("--directory", type=Path, help="where files are made; the default is the temporary directory")
    arguments = parser.parse_args()
    if unknown := set(arguments.only) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    return arguments


if __name__ == "__main__":
    main()
