"""Work in cells: each is done once and kept, so an interrupted benchmark goes on where it was."""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, fields
from fnmatch import fnmatch
from pathlib import Path
from textwrap import fill
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

import neuro_divergent as nd

Forecasts = npt.NDArray[np.float64]
Facts = dict[str, Any]
FACTS = Path(__file__).resolve().parent / "results"
FORECASTS = Path(__file__).resolve().parents[1] / "results"


class Cell(Protocol):
    """What is done once: its text names it, and also its files."""

    @property
    def cost(self) -> float:
        """Seconds it takes, roughly; only the ratios between cells matter."""

    @property
    def settings(self) -> dict[str, Any]:
        """Everything its result depends on, as plain values."""


@dataclass(frozen=True)
class Result:
    """What came out of a cell.

    Attributes:
        facts: Scores and seconds.
        forecast: The forecasts, one row for each window.
    """

    facts: Facts
    forecast: Forecasts


@dataclass(frozen=True)
class Store:
    """What is finished: scores in one file that is committed, and forecasts in a directory that is not.

    A result counts only for the settings it was made with, of which a digest is kept.

    Attributes:
        facts_path: JSON file with the scores of each cell and of each combination of cells.
        directory: Where the forecasts are, an array for each cell.
    """

    facts_path: Path
    directory: Path

    @classmethod
    def named(cls, name: str) -> Store:
        """Return the store of a benchmark."""
        return cls(FACTS / f"{name}.json", FORECASTS / name)

    def facts(self, cell: Cell) -> Facts | None:
        """Return the scores of a cell; ``None`` if it has not been finished with these settings."""
        return self._find(str(cell), digest(cell.settings))

    def forecast(self, cell: Cell) -> Forecasts | None:
        """Return the forecasts of a cell; ``None`` if they are not on this machine."""
        path = self._array(cell)
        if not path.exists():
            return None
        with np.load(path) as arrays:
            known = "digest" in arrays and str(arrays["digest"]) == digest(cell.settings)
            return arrays["forecast"].astype(np.float64) if known else None

    def keep(self, cell: Cell, result: Result) -> None:
        """Write a result; the scores come last, so a cell that has them is complete."""
        path, mark = self._array(cell), digest(cell.settings)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npz")
        np.savez_compressed(part, forecast=result.forecast.astype(np.float32), digest=mark)
        part.replace(path)
        self._write(str(cell), {**result.facts, "settings": mark})

    def combine(
        self,
        name: str,
        cells: Sequence[Cell],
        join: Callable[[Sequence[Forecasts]], Forecasts],
        score: Callable[[Forecasts], Facts],
    ) -> Facts | None:
        """Join the forecasts of finished cells, and return and keep the scores.

        Without all forecasts on this machine, the scores are those kept for the same cells and settings, if any.

        Args:
            name: Name of the combination in the file.
            cells: What is joined.
            join: Makes one forecast of several.
            score: Scores it.
        """
        mark = digest({str(cell): digest(cell.settings) for cell in cells} | {"join": join.__name__})
        forecasts = [forecast for cell in cells if (forecast := self.forecast(cell)) is not None]
        if not cells or len(forecasts) < len(cells):
            return self._find(name, mark)
        facts = {**score(join(forecasts)), "members": len(cells)}
        self._write(name, {**facts, "settings": mark})
        return facts

    def _find(self, name: str, mark: str) -> Facts | None:
        facts = self._read().get(name)
        return facts if facts is not None and facts["settings"] == mark else None

    def _read(self) -> dict[str, Facts]:
        found: dict[str, Facts] = json.loads(self.facts_path.read_text()) if self.facts_path.exists() else {}
        return found

    def _write(self, name: str, facts: Facts) -> None:
        """Put one entry into the file, which has a line for each."""
        rounded = {key: round(value, 6) if isinstance(value, float) else value for key, value in facts.items()}
        entries = self._read() | {name: rounded}
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(entries[key])}" for key in sorted(entries))
        self.facts_path.parent.mkdir(parents=True, exist_ok=True)
        part = self.facts_path.with_suffix(".part")
        part.write_text(f"{{\n{lines}\n}}\n")
        part.replace(self.facts_path)

    def _array(self, cell: Cell) -> Path:
        return self.directory / f"{str(cell).replace('/', '-')}.npz"


def digest(settings: dict[str, Any]) -> str:
    """Return a short digest of settings, the same on every machine."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()[:12]


def plain(architecture: nd.Architecture) -> dict[str, Any]:
    """Return the name of an architecture and what differs from its defaults.

    A setting that the library adds later does not make finished cells invalid; after a default has changed, the cells
    have to be done again (--again).
    """
    return {"name": architecture.name, **architecture.model_dump(mode="json", exclude_defaults=True)}


def changed(settings: Any) -> dict[str, Any]:
    """Return the fields of a data class that differ from their defaults, so that a new field changes no digest."""
    items = [(field.name, getattr(settings, field.name), field.default) for field in fields(settings)]
    return {name: value for name, value, default in items if value != default}


def run_all(
    cells: Sequence[Any], work: Callable[[Any, Path], Result], store: Store, options: argparse.Namespace
) -> None:
    """Do each cell that is not kept yet, in processes of one thread each."""
    left = [cell for cell in cells if options.again or _is_missing(cell, store, options.forecasts)]
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


def _is_missing(cell: Cell, store: Store, with_forecast: bool) -> bool:
    return store.facts(cell) is None or (with_forecast and store.forecast(cell) is None)


def parse(description: str, cells: Sequence[Any]) -> tuple[argparse.Namespace, list[Any]]:
    """Read the options that both benchmarks have, and return them with the cells that are asked for."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="directory of the data sets")
    parser.add_argument("--cells", default="*", help="patterns of names, with commas between; none to write the page")
    parser.add_argument("--jobs", type=int, default=1, help="cells at the same time, each on one thread")
    parser.add_argument("--again", action="store_true", help="do again what has been finished before")
    parser.add_argument(
        "--forecasts", action="store_true", help="do again what has scores but whose forecasts are not on this machine"
    )
    parser.add_argument("--list", action="store_true", help="name the cells and do nothing")
    options = parser.parse_args()
    patterns = [pattern for pattern in options.cells.split(",") if pattern]
    chosen = [cell for cell in cells if any(fnmatch(str(cell), pattern) for pattern in patterns)]
    if options.list:
        raise SystemExit("\n".join(str(cell) for cell in chosen))
    if patterns and not chosen:
        raise SystemExit(f"no cell matches {options.cells}; cells are named like {cells[0]}")
    return options, chosen


def mean_of(forecasts: Sequence[Forecasts]) -> Forecasts:
    """Join forecasts by the mean."""
    return np.mean(np.stack(forecasts), axis=0)


def median_of(forecasts: Sequence[Forecasts]) -> Forecasts:
    """Join forecasts by the median."""
    return np.median(np.stack(forecasts), axis=0)


def points(text: str) -> str:
    """Return each line as a point of a list, for the page."""
    return "\n".join(fill(f"- {line}", 120, subsequent_indent="  ") for line in text.splitlines()) + "\n"
