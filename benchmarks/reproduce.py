"""Reproduce published results, and write docs/results/reproduction.md.

Each cell is run once per seed. Finished runs are kept in benchmarks/reproduction/results, which is committed, so an
interrupted reproduction goes on where it was and the page can be written without training; a change of the recipe of a
cell invalidates its runs.

    python benchmarks/reproduce.py --data ../shared/data
    python benchmarks/reproduce.py --cells 'etth1/*/96,weather/nlinear/*'
    python benchmarks/reproduce.py --cells fast        # those that take minutes
    python benchmarks/reproduce.py --seeds 2021        # one run per cell
    python benchmarks/reproduce.py --page              # runs nothing, writes the page
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from fnmatch import fnmatch
from pathlib import Path

from reproduction.document import write_page
from reproduction.published import Name, all_cells
from reproduction.recipes import SEEDS, recipe_for
from reproduction.store import keep, read
from reproduction.summary import Summary, verdict
from reproduction.trial import Result, run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "results" / "reproduction.md"
FAST = ("etth1/[dn]linear/*", "etth1/itransformer/*", "etth1/nhits/96", "etth1/tide/96")


def main() -> None:
    """Run what is missing, print a table and write the page."""
    options = _parse()
    cells = [name for name in all_cells() if any(fnmatch(str(name), pattern) for pattern in options.cells)]
    if not cells:
        raise SystemExit(f"no cell matches {','.join(options.cells)}; cells are named like {all_cells()[0]}")
    if not options.page:
        _run_all(cells, options)
    results = {name: Summary(runs) for name in all_cells() if (runs := read(name))}
    _show({name: results[name] for name in cells if name in results})
    PAGE.write_text(write_page(results), encoding="utf-8")
    print(f"written: {PAGE}")


def _run_all(cells: list[Name], options: argparse.Namespace) -> None:
    """Do each run that is not kept yet, the shortest first; the first seed of a cell before its others."""
    wanted = [(name, seed) for seed in options.seeds for name in cells]
    found = set() if options.again else {(name, result.seed) for name in cells for result in read(name)}
    left = sorted((key for key in wanted if key not in found), key=lambda key: _cost(key[0]))
    print(f"{len(left)} runs to do, {len(wanted) - len(left)} finished before", flush=True)
    began, total, done = time.perf_counter(), sum(_cost(name) for name, _ in left), 0.0
    # Each run uses one thread; the shortest come first, so that an interrupted reproduction has many cells.
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(run, name, seed, options.data): name for name, seed in left}
        for future in as_completed(waiting):
            name, result = waiting[future], future.result()
            keep(name, result)
            done += _cost(name)
            remaining = (time.perf_counter() - began) * (total - done) / done
            print(f"  {_line(name, result)}; about {remaining / 60:.0f} min left", flush=True)


def _cost(name: Name) -> float:
    """Estimate how many seconds a run takes at most."""
    recipe = recipe_for(name)
    return recipe.cost * recipe.epochs


def _line(name: Name, result: Result) -> str:
    """Say how a run went."""
    errors = f"MSE {result.mse:.4f}, MAE {result.mae:.4f}"
    return f"{name} seed {result.seed}: {errors} after {result.epochs} epochs, {result.seconds:.0f} s"


def _show(results: dict[Name, Summary]) -> None:
    print(f"\n{'cell':24}{'seeds':>6}{'MSE':>15}{'publ.':>7}  {'':14}{'MAE':>15}{'publ.':>7}  {'':14}repeat last")
    for name, summary in results.items():
        errors = zip((summary.mse, summary.mae), name.published, strict=True)
        columns = "".join(
            f"{ours!s:>15}{'' if there is None else f'{there:.3f}':>7}  {verdict(ours.mean, there, tolerance):14}"
            for tolerance in [name.source.tolerance]
            for ours, there in errors
        )
        first = summary.runs[0]
        print(f"{name!s:24}{len(summary.runs):6}{columns}{first.baseline_mse:.3f} / {first.baseline_mae:.3f}")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="directory of the data sets")
    parser.add_argument(
        "--cells", type=_split, default=["*"], help="patterns such as 'etth1/*/96', with commas between, or 'fast'"
    )
    parser.add_argument("--seeds", type=_seeds, default=list(SEEDS), help="seeds of the runs, with commas between")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="runs at the same time")
    parser.add_argument("--again", action="store_true", help="run again what has finished before")
    parser.add_argument("--page", action="store_true", help="run nothing, write the page from what is finished")
    options = parser.parse_args()
    if options.cells == ["fast"]:
        options.cells = list(FAST)
    return options


def _split(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def _seeds(text: str) -> list[int]:
    return [int(part) for part in _split(text)]


if __name__ == "__main__":
    main()
