"""Compare every optimizer and every schedule on the same tasks, and write docs/results/optimizer-comparison.md.

Each optimizer gets the default schedule and three rates around its usual one, more if the best is at the edge; each
schedule gets AdamW at the rate that was best for it. All have the same steps, windows, clipping and first weights. The
best are run again with other seeds. Finished runs are kept under benchmarks/results/optimizers, so an interrupted
comparison goes on where it was.

    python benchmarks/optimizers.py --data ../shared/data
    python benchmarks/optimizers.py --tasks lstm --only adamw,lion
    python benchmarks/optimizers.py --quick      # the first task for a handful of steps and no page: shows that it runs
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

from comparison.document import Comparison, write_page
from comparison.tasks import TASKS
from comparison.trial import (
    USUAL,
    Name,
    Result,
    Skipped,
    best_of,
    run,
    tune,
    usual_rate,
    usual_schedule,
)
from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.training.optimizers.base import Optimizer
from neuro_divergent.training.schedules.base import Schedule

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "optimizer-comparison.md"
REFERENCE = "adamw"
SEEDS, TOP = (2, 3), 3  # more seeds for the best ones


def main() -> None:
    """Run what is missing, print the page and write it."""
    options = _parse()
    began = time.perf_counter()
    comparisons = []
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for task in options.tasks:
            comparisons.append(_compare(task, options, pool))
            print(f"{task}: done after {(time.perf_counter() - began) / 60:.1f} min", flush=True)
    page = write_page(comparisons)
    print(page)
    if options.whole:
        PAGE.write_text(page, encoding="utf-8")
        print(f"written: {PAGE}")


def _compare(task: str, options: argparse.Namespace, pool: ProcessPoolExecutor) -> Comparison:
    """Try all optimizers, then all schedules with AdamW at its best rate, then other seeds for the best of both."""
    steps = options.steps or TASKS[task].steps
    skipped: dict[str, str] = {}
    starts: dict[str, Name] = {}
    for name in options.optimizers:
        try:
            rate, schedule = usual_rate(name), usual_schedule(name)
            starts[name] = Name(task=task, optimizer=name, schedule=schedule, rate=rate, steps=steps)
        except NeuroDivergentError as error:
            skipped[name] = str(error)
    tuned = _run_all(pool, tune, starts, options.data, skipped)
    best = {name: best_of(found) for name, found in tuned.items()}
    results = {trial: result for found in tuned.values() for trial, result in found.items()}

    schedules: dict[str, Name] = {}
    if REFERENCE in best:
        planned = {name: replace(best[REFERENCE], schedule=name) for name in options.schedules}
        found = _run_all(pool, run, planned, options.data, skipped)
        schedules = {name: planned[name] for name in found}
        results |= {planned[name]: result for name, result in found.items()}

    again = [best[name] for name in _leading(best, results, REFERENCE)]
    again += [schedules[name] for name in _leading(schedules, results, USUAL, "constant")]
    more = {f"{trial} {seed}": replace(trial, seed=seed) for trial in again for seed in options.seeds}
    found = _run_all(pool, run, more, options.data, skipped)
    results |= {more[key]: result for key, result in found.items()}
    return Comparison(task=task, steps=steps, best=best, schedules=schedules, results=results, skipped=skipped)


def _run_all(
    pool: ProcessPoolExecutor,
    function: Callable[[Name, Path], Any],
    names: dict[str, Name],
    directory: Path,
    skipped: dict[str, str],
) -> dict[str, Any]:
    """Run all, note why some cannot be, and return the others in their order."""
    found: dict[str, Any] = {}
    waiting = {pool.submit(function, name, directory): key for key, name in names.items()}
    for future in as_completed(waiting):
        key = waiting[future]
        try:
            found[key] = future.result()
        except Skipped as reason:
            skipped[key] = str(reason)
            continue
        best = found[key] if isinstance(found[key], Result) else min(found[key].values(), key=lambda one: one.loss)
        trial = names[key]
        print(f"  {trial.task}: {trial.optimizer}, {trial.schedule}, seed {trial.seed}: {best.loss:.4f}", flush=True)
    return {key: found[key] for key in names if key in found}


def _leading(names: dict[str, Name], results: dict[Name, Result], *always: str) -> list[str]:
    """Return the best names, and those that the others are held against."""
    ranked = sorted(names, key=lambda name: results[names[name]].loss)
    return list(dict.fromkeys([*ranked[:TOP], *(name for name in always if name in names)]))


def _parse() -> argparse.Namespace:
    known = Optimizer.registry.names()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="directory of the data sets")
    parser.add_argument("--tasks", type=_among(list(TASKS)), default=list(TASKS), help=f"among {','.join(TASKS)}")
    parser.add_argument("--only", type=_among(known), dest="optimizers", default=known, help="optimizers to compare")
    parser.add_argument("--steps", type=int, help="steps of every run, instead of those of the task; leaves the page")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time, one thread each; 1 to trust times")
    parser.add_argument("--quick", action="store_true", help="a handful of steps of the first task; leaves the page")
    options = parser.parse_args()
    options.data = options.data.resolve()
    options.schedules = Schedule.registry.names()
    options.seeds = SEEDS
    options.whole = (
        not options.quick and not options.steps and options.tasks == list(TASKS) and options.optimizers == known
    )
    if options.quick:
        options.steps, options.seeds, options.tasks = options.steps or 4, SEEDS[:1], options.tasks[:1]
    return options


def _among(known: Sequence[str]) -> Callable[[str], list[str]]:
    def split(text: str) -> list[str]:
        unknown = [name for name in text.split(",") if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not known; choose among {', '.join(known)}")
        return text.split(",")

    return split


if __name__ == "__main__":
    main()
