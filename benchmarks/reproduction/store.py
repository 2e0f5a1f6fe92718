"""The finished runs, as JSON files that are committed.

One file holds a model on a data set: for each horizon the fingerprint of its recipe and its runs, one per seed. Runs of
another recipe are not read, and are dropped when a run of the present one is kept.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from reproduction.published import HORIZONS, Name
from reproduction.recipes import recipe_for
from reproduction.trial import Result

RESULTS = Path(__file__).resolve().parent / "results"


def read(name: Name, directory: Path = RESULTS) -> list[Result]:
    """Return the finished runs of a cell by its present recipe, ordered by seed."""
    cell = _load(name, directory).get(str(name.horizon), {})
    if cell.get("recipe") != fingerprint(name):
        return []
    return sorted((Result(**run) for run in cell["runs"]), key=lambda result: result.seed)


def keep(name: Name, result: Result, directory: Path = RESULTS) -> None:
    """Add a run to its cell, in place of an earlier one with the same seed."""
    others = [run for run in read(name, directory) if run.seed != result.seed]
    runs = sorted([*others, result], key=lambda run: run.seed)
    cells = _load(name, directory)
    cells[str(name.horizon)] = {"recipe": fingerprint(name), "runs": [_plain(run) for run in runs]}
    ordered = {str(horizon): cells[str(horizon)] for horizon in HORIZONS if str(horizon) in cells}
    directory.mkdir(parents=True, exist_ok=True)
    path = _file(name, directory)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def fingerprint(name: Name) -> str:
    """Return a short text that changes with the settings of a cell, but not with its seed.

    Of the training only what a recipe decides is taken, so that a new setting of the library invalidates nothing.
    """
    recipe = recipe_for(name)
    settings = {
        "architecture": recipe.architecture.to_dict(),
        "optimizer": recipe.optimizer(lr=recipe.rate).to_dict(),
        "schedule": recipe.schedule.to_dict(),
        "loss": recipe.loss.to_dict(),
        "rest": [
            recipe.input_size,
            recipe.batch_size,
            recipe.epochs,
            recipe.patience,
            recipe.scaler,
            list(recipe.calendar),
        ],
    }
    if recipe.initial is not None:
        settings["initial"] = recipe.initial.__name__
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:10]


def _plain(result: Result) -> dict[str, Any]:
    """Return a run without what has not been measured."""
    return {key: value for key, value in asdict(result).items() if value is not None}


def _load(name: Name, directory: Path) -> dict[str, Any]:
    path = _file(name, directory)
    cells: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return cells


def _file(name: Name, directory: Path) -> Path:
    return directory / f"{name.data}-{name.model}.json"
