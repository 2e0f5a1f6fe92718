"""Search the same space of NHITS here and with NeuralForecast's AutoNHITS, on M4 hourly and M3 monthly.

Both sides get the same table, 20 trials, TPE of Optuna, the last horizon of each series as validation part, mean
absolute error as loss and objective, one thread, and the space of AutoNHITS: history, pooling, downsampling, learning
rate, scaler, steps, windows per step, stride and seed. Short series are padded; M3 has some that are shorter than a
window. What the space does not name is as each library has it: here, trials stop early, bad ones are pruned, and Adam
has decoupled weight decay; there, a batch also has a number of series, which is searched. In the end the best settings
are trained on all rows, and the test part is scored once. Every measurement is a fresh process; the clock runs from the
table in memory to the forecasts. Their search begins no further trial once it has taken four times the processor time
of ours, which is what there is to show; the table then says how many of the trials it had done. The results go to
benchmarks/results/search.json, and with --page into docs/results/benchmarks.md.

    python benchmarks/search.py --data ../shared/data --page
    python benchmarks/search.py --data ../shared/data --trials 2 --steps 20 40 --series 20    # shows that it runs
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from timing import run

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "search.json"
PAGE = HERE.parent / "docs" / "results" / "benchmarks.md"
MARKS = ("<!-- search -->", "<!-- end of search -->")
PANELS = ("M4 hourly", "M3 monthly")
SIDES = ("ours", "theirs")
GOAL = 4.0
POOLING = [[2, 2, 1], [1, 1, 1], [2, 2, 2], [4, 4, 4], [8, 4, 1], [16, 8, 1]]
DOWNSAMPLE = [[168, 24, 1], [24, 12, 1], [180, 60, 1], [60, 8, 1], [40, 20, 1], [1, 1, 1]]
MULTIPLES = [1, 2, 3, 4, 5]
WINDOWS = [128, 256, 512, 1024]
RATES = (1e-4, 1e-1)
SEEDS = 20


@dataclass(frozen=True)
class Case:
    """What one process is to do."""

    data: str
    panel: str
    trials: int
    steps: tuple[int, int]
    series: int
    seed: int
    limit: float = 0.0  # seconds of the processor after which no trial of theirs begins; 0 for none


def main() -> None:
    """Measure every panel on both sides."""
    options = _parse()
    cells = []
    for name in options.panels:
        case = Case(
            str(options.data.resolve()), name, options.trials, tuple(options.steps), options.series, options.seed
        )
        found: dict[str, Any] = {"panel": name, "case": asdict(case)}
        for side in options.sides:
            if side == "theirs" and "ours" in found:
                case = replace(case, limit=GOAL * found["ours"]["processor"])
            command = [sys.executable, str(Path(__file__).resolve()), "--child", side, json.dumps(asdict(case))]
            found[side] = json.loads(run(command, 1).splitlines()[-1])
            print(f"{name:12} {side:6} {_shown(found[side])}", flush=True)
        cells.append(_compared(found) if len(options.sides) == len(SIDES) else found)
        _write(cells)
    if options.page:
        _put_on_page(_read())


def child(side: str, case: Case) -> None:
    """Do one search in this process and print what it took and how good its best model is."""
    from default_settings.panels import all_cases, scores

    panel = next(item for item in all_cases(Path(case.data)) if item.name == case.panel)
    if case.series:
        panel = type(panel)(**{**vars(panel), "series": dict(list(panel.series.items())[: case.series])})
    table = panel.table(0, dated=True)
    search = _ours if side == "ours" else _theirs
    wall, processor = time.perf_counter(), time.process_time()
    forecasts, trials = search(table, panel, case)
    spent = {"seconds": time.perf_counter() - wall, "processor": time.process_time() - processor}
    values = forecasts.sort("unique_id", "ds").select(forecasts.columns[-1]).to_numpy().reshape(-1, panel.horizon)
    order = np.argsort(
        np.argsort(np.array(list(panel.series)))
    )  # the series of the panel are not in order of their names
    print(json.dumps({**spent, **scores(panel, values[order][None]), "trials": trials}))


def _ours(table: Any, panel: Any, case: Case) -> tuple[Any, int]:
    import neuro_divergent as nd
    from neuro_divergent.core.threads import using_threads

    low, high = case.steps
    space = {
        "task.input_size": [panel.horizon * multiple for multiple in MULTIPLES],
        "task.scaler": ["identity", "robust", "standard"],
        "task.stride": [1, panel.horizon],
        "model.pooling": POOLING,
        "model.downsample": DOWNSAMPLE,
        "training.optimizer.lr": nd.search.log(*RATES),
        "training.max_steps": nd.search.Range(low, high, step=_step(case)),
        "training.batch_size": WINDOWS,
        "training.seed": nd.search.Range(1, SEEDS),
    }
    training = nd.TrainingConfig(threads=1)
    forecaster = nd.Forecaster(
        nd.NHITS(), horizon=panel.horizon, validation=panel.horizon, loss=nd.losses.MAE(), training=training
    )
    with tempfile.TemporaryDirectory() as place, using_threads(1):
        study = nd.search.Study(forecaster, Path(place) / "study", space, objectives="mae", seed=case.seed)
        study.run(table, trials=case.trials)
        best = study.fit_best(table)
        done = sum(trial.state in ("complete", "pruned") for trial in study.trials)
        return best.forecaster.predict().select("unique_id", "ds", "forecast"), done


def _theirs(table: Any, panel: Any, case: Case) -> tuple[Any, int]:
    import optuna
    import torch
    from neuralforecast import NeuralForecast
    from neuralforecast.auto import AutoNHITS
    from neuralforecast.losses.pytorch import MAE

    from versus.theirs import QUIET

    torch.set_num_threads(1)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    low, high = case.steps

    def settings(trial: Any) -> dict[str, Any]:
        return {
            "input_size": trial.suggest_categorical("input_size", [panel.horizon * item for item in MULTIPLES]),
            "scaler_type": trial.suggest_categorical("scaler_type", [None, "robust", "standard"]),
            "step_size": trial.suggest_categorical("step_size", [1, panel.horizon]),
            "n_pool_kernel_size": trial.suggest_categorical("pooling", POOLING),
            "n_freq_downsample": trial.suggest_categorical("downsample", DOWNSAMPLE),
            "learning_rate": trial.suggest_float("learning_rate", *RATES, log=True),
            "max_steps": trial.suggest_int("max_steps", low, high, step=_step(case)),
            "windows_batch_size": trial.suggest_categorical("windows_batch_size", WINDOWS),
            "batch_size": trial.suggest_categorical("batch_size", [32, 64, 128, 256]),
            "random_seed": trial.suggest_int("random_seed", 1, SEEDS),
            "start_padding_enabled": True,
            **QUIET,
        }

    def stop(study: Any, trial: Any) -> None:
        if case.limit and time.process_time() - began > case.limit:
            study.stop()

    began = time.process_time()
    model = AutoNHITS(
        h=panel.horizon,
        loss=MAE(),
        config=settings,
        search_alg=optuna.samplers.TPESampler(seed=case.seed),
        num_samples=case.trials,
        backend="optuna",
        callbacks=[stop],
    )
    forecaster = NeuralForecast([model], freq=panel.every)
    forecaster.fit(table, val_size=panel.horizon)
    return forecaster.predict().select("unique_id", "ds", "AutoNHITS"), len(forecaster.models[0].results.trials)


def _step(case: Case) -> int:
    """Return the step between two numbers of training steps: a tenth of the range, as in their space."""
    return max(1, (case.steps[1] - case.steps[0]) // 10)


def _compared(cell: dict[str, Any]) -> dict[str, Any]:
    ours, theirs = cell["ours"], cell["theirs"]
    cell["ratio"] = theirs["processor"] / ours["processor"]
    cell["wall_ratio"] = theirs["seconds"] / ours["seconds"]
    cell["reached"] = cell["ratio"] >= GOAL and ours["mase"] <= theirs["mase"]
    verdict = "reached" if cell["reached"] else "missed"
    print(f"  {cell['ratio']:.2f} times less processor time (goal {GOAL:g} at no higher MASE): {verdict}", flush=True)
    return cell


def _shown(found: dict[str, float]) -> str:
    spent = f"{found['processor']:8.1f} s of the processor, {found['seconds']:8.1f} s"
    return f"{spent}, MASE {found['mase']:.3f}, sMAPE {found['smape']:.2f}, {found['trials']} trials"


def _read() -> list[dict[str, Any]]:
    """Return the measurements that are kept."""
    cells = json.loads(RESULTS.read_text("utf-8"))["cells"] if RESULTS.exists() else []
    return sorted(cells, key=lambda cell: PANELS.index(cell["panel"]))


def _write(cells: list[dict[str, Any]]) -> None:
    """Keep the measurements beside what they were measured with, and those of other panels that there are."""
    from neuro_divergent.core.environment import describe_environment

    new = [cell["panel"] for cell in cells]
    cells = [*(cell for cell in _read() if cell["panel"] not in new), *cells]
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    environment = describe_environment(threads=1, device="cpu")
    RESULTS.write_text(json.dumps({"environment": environment, "cells": cells}, indent=2, default=str))


def _put_on_page(cells: list[dict[str, Any]]) -> None:
    """Write the table between the marks of the page."""
    lines = [
        "NHITS in the space of AutoNHITS (Optuna, TPE), one thread, the best trained on all rows; scores of the test "
        "part.",
        "",
        "| | steps of a trial | | trials | processor | wall | MASE | sMAPE | faster |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for cell in (cell for cell in cells if "ratio" in cell):
        for side, name in (("ours", "Neuro-Divergent"), ("theirs", "AutoNHITS")):
            found = cell[side]
            more = "more than " if cell["theirs"]["trials"] < cell["case"]["trials"] else ""
            ratio = f"{more}{cell['ratio']:.1f}x{'' if cell['reached'] else ', missed'}" if side == "ours" else ""
            low, high = cell["case"]["steps"]
            lines.append(
                f"| {cell['panel']} | {low} to {high} | {name} | {found['trials']} | {found['processor']:.0f} s | "
                f"{found['seconds']:.0f} s | {found['mase']:.3f} | {found['smape']:.2f} | {ratio} |"
            )
    text = PAGE.read_text("utf-8")
    before, rest = text.split(MARKS[0], 1)
    after = rest.split(MARKS[1], 1)[1]
    PAGE.write_text("\n".join([f"{before}{MARKS[0]}", "", *lines, "", f"{MARKS[1]}{after}"]), "utf-8")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="directory of the data sets")
    parser.add_argument("--panels", nargs="+", default=list(PANELS), choices=PANELS)
    parser.add_argument("--sides", nargs="+", default=list(SIDES), choices=SIDES)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--steps", type=int, nargs=2, default=[500, 1500], help="fewest and most training steps")
    parser.add_argument("--series", type=int, default=0, help="only the first so many series; 0 for all")
    parser.add_argument("--seed", type=int, default=1, help="seed of the proposals")
    parser.add_argument("--page", action="store_true", help="put the table into the documentation")
    return parser.parse_args()


if __name__ == "__main__":
    os.environ.setdefault("TQDM_DISABLE", "1")
    if sys.argv[1:2] == ["--child"]:
        given = json.loads(sys.argv[3])
        child(sys.argv[2], Case(**{**given, "steps": tuple(given["steps"])}))
    else:
        main()
