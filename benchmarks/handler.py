"""Measure what one call of the function handler takes: JSON in, forecast, JSON out, in one process and on one thread.

Where NeuralForecast is installed, its ``predict`` on a table of the same size is measured in the same run. The results
go to benchmarks/results/handler.json.

    python benchmarks/handler.py
    .venv-bench/bin/python benchmarks/handler.py --calls 3000
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results" / "handler.json"
# Milliseconds, on a quiet machine.
GOALS = {
    "NLinear: one series": 0.06, "NLinear: 1,000 series": 15.0, "NHITS: one series": 0.5,
    "NHITS: network and scaling": 0.40, "NHITS: network and scaling, int8": 0.15,
}  # fmt: skip


def main() -> None:
    """Measure both architectures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=3000, help="calls for one series; fewer for many series")
    parser.add_argument("--quantile", type=float, default=0.5, help="of the times of the calls; 0.1 on a busy machine")
    arguments = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    found: dict[str, dict[str, float | None]] = {}
    with tempfile.TemporaryDirectory() as directory:
        for name in ("NLinear", "NHITS"):
            _measure(name, Path(directory), arguments.calls, arguments.quantile, found)
    for name, row in found.items():
        goal, theirs = row["goal"], row["neuralforecast"]
        text = "" if goal is None else f"  goal {goal:g}: {'reached' if row['ours'] <= goal else 'MISSED'}"
        text += "" if theirs is None else f"  NeuralForecast predict {theirs:.1f} ms, {theirs / row['ours']:.0f} times"
        print(f"{name:40} {row['ours']:9.4f} ms{text}")
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps({"quantile": arguments.quantile, "milliseconds": found}, indent=2) + "\n")


def _measure(
    name: str, directory: Path, calls: int, quantile: float, found: dict[str, dict[str, float | None]]
) -> None:
    import numpy as np

    from exported_models import export, request
    from neuro_divergent.serving import load

    def milliseconds(function: Callable[[], object], count: int) -> float:
        function()
        spent = []
        for _ in range(count):
            began = time.perf_counter()
            function()
            spent.append(time.perf_counter() - began)
        return float(np.quantile(spent, quantile)) * 1e3

    path = export(name.lower(), directory, int8=name == "NHITS")
    model = load(path)
    one, many = request(1), request(1000)
    inputs = model.prepare_json(one).inputs
    theirs = _neuralforecast(name)
    measured = {
        "one series": milliseconds(lambda: model.answer(one), calls),
        "network and scaling": milliseconds(lambda: model.run(inputs), calls),
        "1,000 series": milliseconds(lambda: model.answer(many), max(calls // 100, 10)),
    }
    if name == "NHITS":
        small = load(path.with_suffix(".int8.onnx"))
        measured["network and scaling, int8"] = milliseconds(lambda: small.run(inputs), calls)
        measured["one series, int8"] = milliseconds(lambda: small.answer(one), calls)
    for what, value in measured.items():
        key = f"{name}: {what}"
        found[key] = {"ours": value, "goal": GOALS.get(key), "neuralforecast": theirs.get(what)}


def _neuralforecast(name: str) -> dict[str, float]:
    """Return the milliseconds of its ``predict`` with a table passed in, if it is installed here."""
    if find_spec("neuralforecast") is None:
        return {}
    from versus.side import Side

    side = Side("theirs", 1)
    try:
        return {
            "one series": side("predict_seconds", name, 1, "polars", True, 30) * 1e3,
            "1,000 series": side("predict_seconds", name, 1000, "polars", True, 5) * 1e3,
        }
    finally:
        side.close()


if __name__ == "__main__":
    main()
