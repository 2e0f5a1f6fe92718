"""Reproduce published results, and write docs/reproduction.md.

Finished runs are kept under benchmarks/results/reproduction, so an interrupted reproduction goes on where it was; a
change of its settings makes a run anew.

    python benchmarks/reproduce.py --data ../shared/data
    python benchmarks/reproduce.py --cells 'etth1/*/96,weather/nlinear/*'
    python benchmarks/reproduce.py --cells fast        # those that take minutes
    python benchmarks/reproduce.py --page              # runs nothing, writes the page
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from fnmatch import fnmatch
from pathlib import Path

from reproduction.document import verdict, write_page
from reproduction.published import Name, all_cells
from reproduction.recipes import SEED, recipe_for
from reproduction.trial import Result, run

HERE = Path(__file__).resolve().parent
RUNS = HERE / "results" / "reproduction"
PAGE = HERE.parent / "docs" / "reproduction.md"
FAST = ("etth1/[dn]linear/*", "etth1/itransformer/*", "etth1/nhits/96", "etth1/tide/96")


def main() -> None:
    """Run what is missing, print a table and write the page."""
    options = _parse()
    cells = [name for name in all_cells() if any(fnmatch(str(name), pattern) for pattern in options.cells)]
    if not cells:
        raise SystemExit(f"no cell matches {','.join(options.cells)}; cells are named like {all_cells()[0]}")
    if not options.page:
        _run_all(cells, options)
    results = {name: result for name in all_cells() if (result := _read(name)) is not None}
    _show({name: results[name] for name in cells if name in results})
    PAGE.write_text(write_page(results), encoding="utf-8")
    print(f"written: {PAGE}")


def _run_all(runs: list[Name], options: argparse.Namespace) -> None:
    """Do each run that has no file yet."""
    known = {} if options.again else {key: _read(key) for key in runs}
    found = {key: result for key, result in known.items() if result is not None}
    left = sorted((key for key in runs if key not in found), key=_cost)
    print(f"{len(left)} runs to do, {len(found)} finished before", flush=True)
    began, whole = time.perf_counter(), sum(map(_cost, left))
    # Each run uses one thread; the shortest come first, so that an interrupted reproduction has many cells.
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(run, name, options.data): name for name in left}
        for future in as_completed(waiting):
            key = waiting[future]
            found[key] = future.result()
            _keep(key, found[key])
            done = sum(_cost(item) for item in left if item in found)
            remaining = (time.perf_counter() - began) * (whole - done) / done
            print(f"  {_line(key, found[key])}; about {remaining / 60:.0f} min left", flush=True)


def _cost(name: Name) -> float:
    """Estimate how many seconds a run takes at most."""
    recipe = recipe_for(name)
    return recipe.cost * recipe.epochs


def _keep(name: Name, result: Result) -> None:
    path = _file(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(asdict(result), indent=2))
    part.replace(path)


def _read(name: Name) -> Result | None:
    path = _file(name)
    return Result(**json.loads(path.read_text())) if path.exists() else None


def _file(name: Name) -> Path:
    return RUNS / f"{str(name).replace('/', '-')}-{_fingerprint(name)}-seed-{SEED}.json"


def _fingerprint(name: Name) -> str:
    """Return a short text that changes with the settings of a run."""
    recipe = recipe_for(name)
    settings = {
        "architecture": recipe.architecture.to_dict(),
        "training": recipe.training(1).to_dict(),
        "loss": recipe.loss.to_dict(),
        "rest": [recipe.input_size, recipe.batch_size, recipe.scaler, recipe.calendar],
    }
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:10]


def _line(name: Name, result: Result) -> str:
    """Say how a run went."""
    return f"{name}: MSE {result.mse:.4f} after {result.epochs} epochs, {result.seconds:.0f} s"


def _show(results: dict[Name, Result]) -> None:
    print(f"\n{'cell':24}{'MSE':>7}{'publ.':>7}  {'':14}{'MAE':>7}{'publ.':>7}  {'':14}repeat last")
    for name, result in results.items():
        tolerance = name.source.tolerance
        errors = zip((result.mse, result.mae), name.published, strict=True)
        columns = "".join(
            f"{ours:7.3f}{'' if there is None else f'{there:.3f}':>7}  {verdict(ours, there, tolerance):14}"
            for ours, there in errors
        )
        print(f"{name!s:24}{columns}{result.baseline_mse:.3f} / {result.baseline_mae:.3f}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="directory of the data sets")
    parser.add_argument(
        "--cells", type=_split, default=["*"], help="patterns such as 'etth1/*/96', with commas between, or 'fast'"
    )
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="runs at the same time")
    parser.add_argument("--again", action="store_true", help="run again what has finished before")
    parser.add_argument("--page", action="store_true", help="run nothing, write the page from what is finished")
    options = parser.parse_args()
    if options.cells == ["fast"]:
        options.cells = list(FAST)
    return options


def _split(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


if __name__ == "__main__":
    main()
