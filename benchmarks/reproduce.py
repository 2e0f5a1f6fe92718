"""Reproduce the published results of DLinear and NLinear, and write docs/reproduction.md.

Finished runs are kept under benchmarks/results/reproduction, so an interrupted reproduction goes on where it was.

    python benchmarks/reproduce.py --data ../shared/data
    python benchmarks/reproduce.py --cells 'etth1/*/96,weather/nlinear/*'
    python benchmarks/reproduce.py --fast          # one small cell; leaves the page alone
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from fnmatch import fnmatch
from pathlib import Path

from reproduction.document import verdict, write_page
from reproduction.published import DATA_SETS, Name, all_cells
from reproduction.trial import Result, run

HERE = Path(__file__).resolve().parent
RUNS = HERE / "results" / "reproduction"
PAGE = HERE.parent / "docs" / "reproduction.md"
RATES = (5e-4, 1e-3, 5e-3)
SEED = 2021

Run = tuple[Name, float]


def main() -> None:
    """Run what is missing, print a table and write the page."""
    options = _parse()
    cells = [name for name in all_cells() if any(fnmatch(str(name), pattern) for pattern in options.cells)]
    if not cells:
        raise SystemExit(f"no cell matches {','.join(options.cells)}; cells are named like {all_cells()[0]}")
    found = _run_all([(name, rate) for name in cells for rate in options.rates], options)
    _show({name: _choose({rate: found[name, rate] for rate in options.rates}) for name in cells})
    if not options.fast:
        PAGE.write_text(write_page(_finished(), RATES, SEED), encoding="utf-8")
        print(f"written: {PAGE}")


def _choose(tried: dict[float, Result]) -> Result:
    """Return the result of the rate with the lowest validation error."""
    return min(tried.values(), key=lambda result: result.validation)


def _finished() -> dict[Name, Result]:
    """Return the result of every cell that was tried with all rates, also in earlier calls for other cells."""
    results = {}
    for name in all_cells():
        tried = {rate: result for rate in RATES if (result := _read((name, rate))) is not None}
        if len(tried) == len(RATES):
            results[name] = _choose(tried)
    return results


def _run_all(runs: list[Run], options: argparse.Namespace) -> dict[Run, Result]:
    """Return the result of each run, from its file where there is one."""
    known = {} if options.again else {key: _read(key) for key in runs}
    found = {key: result for key, result in known.items() if result is not None}
    left = sorted((key for key in runs if key not in found), key=_cost)
    print(f"{len(left)} runs to do, {len(found)} finished before", flush=True)
    began, whole = time.perf_counter(), sum(map(_cost, left))
    # Each run uses one thread; the shortest come first, so that an interrupted reproduction has many cells.
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(run, name, options.data, rate=rate, seed=SEED): (name, rate) for name, rate in left}
        for future in as_completed(waiting):
            key = waiting[future]
            found[key] = future.result()
            _keep(key, found[key])
            done = sum(_cost(item) for item in left if item in found)
            remaining = (time.perf_counter() - began) * (whole - done) / done
            print(f"  {_line(key, found[key])}; about {remaining / 60:.0f} min left", flush=True)
    return found


def _cost(key: Run) -> float:
    """Estimate how long a run takes, in arbitrary units: steps have a fixed part, and one that grows with the work."""
    name, _ = key
    channels = 21 if name.data == "weather" else 7
    return DATA_SETS[name.data].train * (10 + channels * name.horizon / 200)


def _keep(key: Run, result: Result) -> None:
    path = _file(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(asdict(result), indent=2))
    part.replace(path)


def _read(key: Run) -> Result | None:
    path = _file(key)
    return Result(**json.loads(path.read_text())) if path.exists() else None


def _file(key: Run) -> Path:
    name, rate = key
    return RUNS / f"{str(name).replace('/', '-')}-rate-{rate:g}-seed-{SEED}.json"


def _line(key: Run, result: Result) -> str:
    """Say how a run went, without its test errors: those are for the model that validation chose."""
    name, rate = key
    return (
        f"{name} rate {rate:g}: validation {result.validation:.4f} after {result.epochs} epochs, {result.seconds:.0f} s"
    )


def _show(results: dict[Name, Result]) -> None:
    print(f"\n{'cell':22}{'MSE':>7}{'publ.':>7}  {'':14}{'MAE':>7}{'publ.':>7}  {'':14}repeat last")
    for name, result in results.items():
        mse, mae = name.published
        first = f"{result.mse:7.3f}{mse:7.3f}  {verdict(result.mse, mse):14}"
        second = f"{result.mae:7.3f}{mae:7.3f}  {verdict(result.mae, mae):14}"
        print(f"{name!s:22}{first}{second}{result.baseline_mse:.3f} / {result.baseline_mae:.3f}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="directory of the data sets")
    parser.add_argument(
        "--cells", type=_split, default=["*"], help="patterns such as 'etth1/*/96', with commas between"
    )
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="runs at the same time")
    parser.add_argument("--again", action="store_true", help="run again what has finished before")
    parser.add_argument("--fast", action="store_true", help="one small cell with one rate; leaves the page alone")
    options = parser.parse_args()
    options.rates = RATES
    if options.fast:
        options.cells, options.rates = ["etth1/nlinear/96"], (5e-3,)
    return options


def _split(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


if __name__ == "__main__":
    main()
