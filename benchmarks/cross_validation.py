"""Measure cross-validation here and in NeuralForecast: 10 cut-offs of NHITS and NLinear on the M4 hourly series.

Both sides get the same table, architecture, steps, cut-offs and threads. With the settings "same" they also get the
same windows per step, optimizer and scaler, so that a step is the same work and, for NHITS, most of it the same matrix
products. With "own" each has its defaults: steps are as many, and ours have fewer windows and a validation part. A goal
is reached only where the error is no higher. Every measurement is a fresh process, whose memory is its own, and the
sides take turns. The clock runs from the table in memory to the table of forecasts, after a small cross-validation that
is not counted; ours computes baselines and scores as well. The results go to benchmarks/results/cross_validation.json,
and with --page into docs/guides/cross-validation.md.

    python benchmarks/cross_validation.py --data ../shared/data
    python benchmarks/cross_validation.py --data ../shared/data --steps 5 --series 20 --rounds 1    # shows that it runs
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from timing import process_bytes, run

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "cross_validation.json"
PAGE = HERE.parent / "docs" / "guides" / "cross-validation.md"
MARKS = ("<!-- measured -->", "<!-- end of measured -->")
HORIZON, INPUT_SIZE, WINDOWS = 48, 240, 1024
SIDES = ("ours", "theirs")
GOALS = {False: 3.0, True: 1.5}
TOLERANCE = 1.02  # two seeds of one model differ by as much


@dataclass(frozen=True)
class Case:
    """What one process is to do."""

    data: str
    settings: str
    model: str
    refit: bool
    steps: int
    cutoffs: int
    series: int
    threads: int


def main() -> None:
    """Measure every case on both sides in turns."""
    options = _parse()
    cells = []
    for settings, refit, model in product(options.settings, options.refit, options.models):
        case = Case(
            data=str(options.data.resolve()),
            settings=settings,
            model=model,
            refit=refit == "yes",
            steps=options.steps,
            cutoffs=options.cutoffs,
            series=options.series,
            threads=options.threads,
        )
        cells.append(_measure(case, options.rounds))
        _show(cells[-1])
        _write(cells, options)
    missed = [cell for cell in cells if not cell["reached"]]
    print(f"{len(missed)} of {len(cells)} goals missed")
    if options.page:
        _put_on_page(cells, options)


def _measure(case: Case, rounds: int) -> dict[str, Any]:
    found: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    for number in range(rounds):
        for side in SIDES if number % 2 == 0 else reversed(SIDES):
            command = [sys.executable, str(Path(__file__).resolve()), "--child", side, json.dumps(asdict(case))]
            found[side].append(json.loads(run(command, case.threads).splitlines()[-1]))
    cell: dict[str, Any] = {
        "settings": case.settings,
        "model": case.model,
        "refit": case.refit,
        "goal": GOALS[case.refit],
    }
    for side in SIDES:
        cell[side] = {name: median(item[name] for item in found[side]) for name in found[side][0]}
    cell["ratio"] = cell["theirs"]["seconds"] / cell["ours"]["seconds"]
    cell["memory_ratio"] = cell["ours"]["peak"] / cell["theirs"]["peak"]
    is_as_good = cell["ours"]["mae"] <= TOLERANCE * cell["theirs"]["mae"]
    cell["reached"] = cell["ratio"] >= cell["goal"] and cell["memory_ratio"] <= 1 and is_as_good
    return cell


def child(side: str, case: Case) -> None:
    """Do one cross-validation in this process and print what it took."""
    from versus.hourly import Hourly

    table = Hourly(case.data).whole
    if case.series:
        names = table["unique_id"].unique(maintain_order=True).head(case.series)
        table = table.filter(table["unique_id"].is_in(names.implode()))
    # What is imported and prepared once per process is no part of a cross-validation.
    few = table["unique_id"].unique(maintain_order=True).head(2).implode()
    prepare = _ours if side == "ours" else _theirs
    prepare(table.filter(table["unique_id"].is_in(few)), replace(case, steps=1, cutoffs=2))()
    call = prepare(table, case)
    Path("/proc/self/clear_refs").write_text("5")  # the highest mark so far is forgotten
    imported = process_bytes("VmRSS")
    began = time.perf_counter()
    error = call()
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "imported": imported, "peak": process_bytes("VmHWM"), "mae": error}))


def _ours(table: Any, case: Case) -> Any:
    import neuro_divergent as nd
    from neuro_divergent.evaluation.cross_validation.cross_validation import cross_validate
    from neuro_divergent.evaluation.splitters.time_series import TimeSeriesSplit

    same = {
        "batch_size": WINDOWS,
        "optimizer": nd.optimizers.Adam(),
        "clip": None,
        "early_stopping": None,
        "drop_last": True,
    }
    training = nd.TrainingConfig(
        max_steps=case.steps, threads=case.threads, **(same if case.settings == "same" else {})
    )
    forecaster = nd.Forecaster(
        getattr(nd, case.model)(),
        horizon=HORIZON,
        input_size=INPUT_SIZE,
        validation=0 if case.settings == "same" else HORIZON,
        training=training,
    )
    splitter = TimeSeriesSplit(n_splits=case.cutoffs, test_size=HORIZON)

    def call() -> float:
        made = cross_validate(forecaster, table, splitter, refit=case.refit, season_length=24)
        assert made.forecasts.height == made.panel.num_series * case.cutoffs * HORIZON
        return float((made.forecasts["forecast"] - made.forecasts["actual"]).abs().mean())  # type: ignore[arg-type]

    return call


def _theirs(table: Any, case: Case) -> Any:
    import neuralforecast.models
    import torch
    from neuralforecast import NeuralForecast

    from versus.theirs import QUIET

    torch.set_num_threads(case.threads)
    model = getattr(neuralforecast.models, case.model)(
        h=HORIZON,
        input_size=INPUT_SIZE,
        max_steps=case.steps,
        scaler_type="standard" if case.settings == "same" else "robust",
        windows_batch_size=WINDOWS,  # which is their default
        **QUIET,
    )
    forecaster = NeuralForecast([model], freq=1)

    def call() -> float:
        made = forecaster.cross_validation(table, n_windows=case.cutoffs, step_size=HORIZON, refit=case.refit)
        assert made.height == table["unique_id"].n_unique() * case.cutoffs * HORIZON
        return float((made[case.model] - made["y"]).abs().mean())

    return call


def _show(cell: dict[str, Any]) -> None:
    for side in SIDES:
        found = cell[side]
        print(
            f"{cell['settings']:4} {cell['model']:8} refit={cell['refit']!s:5} {side:6} {found['seconds']:8.2f} s  "
            f"peak {found['peak'] / 2**20:7.0f} MiB ({found['imported'] / 2**20:.0f} once imported)  "
            f"MAE {found['mae']:.1f}"
        )
    verdict = "reached" if cell["reached"] else "missed"
    print(
        f"  {cell['ratio']:.2f} times faster (goal {cell['goal']:g}), {cell['memory_ratio']:.2f} of the memory: "
        f"{verdict}"
    )


def _write(cells: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Keep the measurements beside what they were measured with."""
    from neuro_divergent.core.environment import describe_environment

    settings = {"steps": options.steps, "cutoffs": options.cutoffs, "series": options.series, "rounds": options.rounds}
    environment = describe_environment(threads=options.threads, device="cpu")
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps({**settings, "environment": environment, "cells": cells}, indent=2, default=str))


def _put_on_page(cells: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Write the table between the marks of the page."""
    lines = [
        f"{options.cutoffs} cut-offs, {options.steps} steps per training, {options.threads} threads; medians of "
        f"{options.rounds}. With the settings `same`, steps are the same work; with `own`, each side has its defaults.",
        "",
        "| settings | | refit | Neuro-Divergent | NeuralForecast | faster | peak memory | MAE |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cell in cells:
        ours, theirs = cell["ours"], cell["theirs"]
        lines.append(
            f"| `{cell['settings']}` | {cell['model']} | {'every fold' if cell['refit'] else 'once'} | "
            f"{ours['seconds']:.1f} s | {theirs['seconds']:.1f} s | {cell['ratio']:.1f}x | "
            f"{ours['peak'] / 2**20:.0f} and {theirs['peak'] / 2**20:.0f} MiB | "
            f"{ours['mae']:.0f} and {theirs['mae']:.0f} |"
        )
    text = PAGE.read_text("utf-8")
    before, rest = text.split(MARKS[0], 1)
    after = rest.split(MARKS[1], 1)[1]
    PAGE.write_text("\n".join([f"{before}{MARKS[0]}", "", *lines, "", f"{MARKS[1]}{after}"]), "utf-8")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="directory of m4_hourly_*.parquet")
    parser.add_argument("--models", nargs="+", default=["NHITS", "NLinear"])
    parser.add_argument("--settings", nargs="+", default=["own", "same"], choices=["own", "same"])
    parser.add_argument("--refit", nargs="+", default=["no", "yes"], choices=["no", "yes"])
    parser.add_argument("--steps", type=int, default=1000, help="training steps; as many are the default of both")
    parser.add_argument("--cutoffs", type=int, default=10, help="cut-offs, a horizon apart")
    parser.add_argument("--series", type=int, default=0, help="only the first so many series; 0 for all")
    parser.add_argument("--threads", type=int, default=2, help="threads on both sides")
    parser.add_argument("--rounds", type=int, default=3, help="how often both sides are measured in turns")
    parser.add_argument("--page", action="store_true", help="put the table into the documentation")
    return parser.parse_args()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], Case(**json.loads(sys.argv[3])))
    else:
        main()
