"""Processor time and accuracy of every statistical model on monthly series of M3.

    python benchmarks/statistical.py --data ../shared/data

Fits the first 500 series that have 60 to 120 rows before their test part of 18, in one process, and prints the table of
docs/guides/statistical.md. A model that takes more than a second for a series is measured on every twentieth, and not
scored.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from default_settings.panels import PanelCase, all_cases, scores
from neuro_divergent.forecasting.statistical.methods.base import StatisticalMethod
from neuro_divergent.forecasting.statistical.statistical import Statistical

SLOW = ("auto_arima",)
FRACTION = 20


def main() -> None:
    """Measure the models that were named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--series", type=int, default=500)
    parser.add_argument("names", nargs="*", default=StatisticalMethod.registry.names())
    options = parser.parse_args()
    case = chosen(next(item for item in all_cases(options.data) if item.name == "M3 monthly"), options.series)
    lengths = [len(values) for values in case.known(0).values()]
    print(f"{len(lengths)} series, {np.mean(lengths):.0f} rows on average")
    print("| model | points, s | with intervals, s | MASE | sMAPE | 80 % interval covers |")
    print("|---|---|---|---|---|---|")
    for name in options.names:
        print(row(name, every(case, FRACTION) if name in SLOW else case, FRACTION if name in SLOW else 1), flush=True)


def chosen(case: PanelCase, most: int) -> PanelCase:
    """Return the case with the first series of 60 to 120 rows."""
    kept = [name for name, values in case.series.items() if 60 <= len(values) - case.horizon <= 120][:most]
    return PanelCase(**{**vars(case), "series": {name: case.series[name] for name in kept}})


def every(case: PanelCase, step: int) -> PanelCase:
    """Return the case with some of its series."""
    return PanelCase(**{**vars(case), "series": dict(list(case.series.items())[::step])})


def row(name: str, case: PanelCase, factor: int) -> str:
    """Return a row of the table, without what a first use takes; seconds are multiplied by ``factor``."""
    table = case.table(0, dated=True)
    Statistical(name, horizon=case.horizon).fit(table.head(100)).predict(levels=[80])  # imports and compiles
    model = Statistical(name, horizon=case.horizon).fit(table)
    points, _ = timed(model, ())
    seconds, forecasts = timed(model, (80,))
    order = np.argsort(list(case.series), kind="stable")
    point, low, high = (
        forecasts[column].to_numpy().reshape(-1, case.horizon)[np.argsort(order)]
        for column in ("forecast", "lo-80", "hi-80")
    )
    found = scores(case, point[None])
    inside = ((case.targets(0) >= low) & (case.targets(0) <= high)).mean()
    times = f"{factor * points:.2f} | {factor * seconds:.2f}"
    accuracy = f"{found['mase']:.3f} | {found['smape']:.2f} | {100 * inside:.0f} %" if factor == 1 else " | | "
    return f"| `{name}` | {times} | {accuracy} |"


def timed(model: Statistical, levels: tuple[int, ...]) -> tuple[float, object]:
    """Return processor seconds of a forecast, and the forecast."""
    before = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = model.predict(levels=levels)
    return time.process_time() - before, made


if __name__ == "__main__":
    main()
