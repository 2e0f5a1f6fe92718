"""Work in cells: each is done once and kept, so an interrupted benchmark goes on where it was."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from textwrap import fill
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Forecasts = npt.NDArray[np.float64]
RESULTS = Path(__file__).resolve().parents[1] / "results"


class Cell(Protocol):
    """What is done once: its text names it, and also its files."""

    @property
    def cost(self) -> float:
        """Seconds it takes, roughly; only the ratios between cells matter."""


@dataclass(frozen=True)
class Result:
    """What came out of a cell.

    Attributes:
        facts: Scores, settings and seconds, as plain values.
        forecast: The forecasts, one row for each window.
    """

    facts: dict[str, Any]
    forecast: Forecasts


@dataclass(frozen=True)
class Store:
    """A directory with one JSON file and one array of forecasts for each finished cell."""

    directory: Path

    def read(self, cell: Cell) -> Result | None:
        """Return what is kept of a cell; ``None`` if it has not been finished."""
        path = self._path(cell)
        if not path.exists():
            return None
        with np.load(path.with_suffix(".npz")) as arrays:
            return Result(json.loads(path.read_text()), arrays["forecast"])

    def keep(self, cell: Cell, result: Result) -> None:
        """Write a result; the JSON comes last, so a cell that has one is complete."""
        path = self._path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path.with_suffix(".npz"), forecast=result.forecast.astype(np.float32))
        part = path.with_suffix(".part")
        part.write_text(json.dumps(result.facts, indent=2))
        part.replace(path)

    def _path(self, cell: Cell) -> Path:
        return self.directory / f"{str(cell).replace('/', '-')}.json"


def run_all(
    cells: Sequence[Any], work: Callable[[Any, Path], Result], store: Store, options: argparse.Namespace
) -> None:
    """Do each cell that is not kept yet, in processes of one thread each."""
    left = [cell for cell in cells if options.again or store.read(cell) is None]
    print(f"{len(left)} cells to do, {len(cells) - len(left)} finished before", flush=True)
    began, whole, done = time.perf_counter(), sum(cell.cost for cell in left), 0.0
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(work, cell, options.data): cell for cell in left}
        for future in as_completed(waiting):
            cell, result = waiting[future], future.result()
            store.keep(cell, result)
            done += cell.cost
            minutes = (time.perf_counter() - began) * (whole - done) / done / 60
            numbers = ", ".join(f"{key} {value:.4g}" for key, value in result.facts.items() if isinstance(value, float))
            print(f"  {cell}: {numbers}; about {minutes:.0f} min left", flush=True)


def parse(description: str, cells: Sequence[Any]) -> tuple[argparse.Namespace, list[Any]]:
    """Read the options that both benchmarks have, and return them with the cells that are asked for."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="directory of the data sets")
    parser.add_argument("--cells", default="*", help="patterns of names, with commas between")
    parser.add_argument("--jobs", type=int, default=1, help="cells at the same time, each on one thread")
    parser.add_argument("--again", action="store_true", help="do again what has been finished before")
    parser.add_argument("--list", action="store_true", help="name the cells and do nothing")
    options = parser.parse_args()
    patterns = [pattern for pattern in options.cells.split(",") if pattern]
    chosen = [cell for cell in cells if any(fnmatch(str(cell), pattern) for pattern in patterns)]
    if options.list:
        raise SystemExit("\n".join(str(cell) for cell in chosen))
    if not chosen:
        raise SystemExit(f"no cell matches {options.cells}; cells are named like {cells[0]}")
    return options, chosen


def points(text: str) -> str:
    """Return each line as a point of a list, for the page."""
    return "\n".join(fill(f"- {line}", 120, subsequent_indent="  ") for line in text.splitlines()) + "\n"
