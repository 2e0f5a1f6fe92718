"""Finished folds on disk, so that a cross-validation that was interrupted goes on where it was.

    store/  fold-<key>/  forecasts.parquet  fold.json  manifest.json

The key is a fingerprint of all that a forecast depends on: data, settings of the forecaster, the rows it learned from,
the rows it forecasts, and the version of this package. What was made from anything else is never found, and a fold that
has another number now is.
"""

from __future__ import annotations

import hashlib
import io
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent import __version__
from neuro_divergent.core.errors import InputError, StorageWarning, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import clear_leftovers, read_directory, write_directory
from neuro_divergent.core.storage.disk import storage_error
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.cross_validation.fold_task import FoldResult, FoldTask
from neuro_divergent.evaluation.cross_validation.forecast_values import FORECAST, PLACE
from neuro_divergent.evaluation.splitters.fold import Fold

FORMAT = 1
_LOCK = "lock"
_FORECASTS, _DESCRIPTION = "forecasts.parquet", "fold.json"
# What training takes from the machine, and what it reports.
_NOT_ASKED = ("threads", "prefetch", "log_every")


@dataclass(frozen=True, eq=False)
class FoldStore:
    """Finished folds in a directory.

    Attributes:
        path: The directory; it is made when it is needed.
        panel: The whole data.
        data: Fingerprint of the data.
    """

    path: Path
    panel: Panel
    data: str

    @classmethod
    def of(cls, path: str | Path, panel: Panel) -> FoldStore:
        """Return the store at a place, for some data."""
        from neuro_divergent.runs.directory import fingerprint

        return cls(Path(path), panel, fingerprint(panel)["sha256"])

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make the directory, hold it for this process and clear what a killed one left half done.

        Raises:
            InputError: If another process works on it.
            StorageError: If the disk refuses.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise storage_error(self.path, "written", error) from error
        with RunLock(self.path / _LOCK):
            clear_leftovers(self.path)
            yield

    def find(self, assignment: FoldTask) -> list[FoldResult] | None:
        """Return the results of an assignment if all of its folds are there.

        A damaged one counts as absent, with a ``StorageWarning``.
        """
        places = [self._place(assignment, fold) for fold in assignment.folds]
        if not all(place.is_dir() for place in places):
            return None
        try:
            return [_read(place, fold.number) for place, fold in zip(places, assignment.folds, strict=True)]
        except UntrustedFileError as error:
            warnings.warn(f"{error} The fold is computed again.", StorageWarning, stacklevel=2)
            return None

    def keep(self, assignment: FoldTask, results: list[FoldResult]) -> None:
        """Write the results of an assignment, each complete or not at all.

        Raises:
            StorageError: If the disk refuses.
        """
        for fold, result in zip(assignment.folds, results, strict=True):
            buffer = io.BytesIO()
            result.values.write_parquet(buffer)
            description = {
                "format": FORMAT,
                "version": __version__,
                "model": assignment.model,
                "fold": fold.number,
                "seconds": result.seconds,
                "made_from": self._made_from(assignment, fold),
            }
            files = [(_FORECASTS, buffer.getvalue()), (_DESCRIPTION, strict_json.dumps(description, indent=1))]
            write_directory(self._place(assignment, fold), files, whatever_is_there=True)

    def _place(self, assignment: FoldTask, fold: Fold) -> Path:
        key = hashlib.sha256(strict_json.dumps(self._made_from(assignment, fold))).hexdigest()
        return self.path / f"fold-{key[:32]}"

    def _made_from(self, assignment: FoldTask, fold: Fold) -> dict[str, Any]:
        """Return all that the forecasts of a fold depend on."""
        learned = assignment.folds[0]
        return {
            "version": __version__,
            "data": self.data,
            "schema": _spell(self.panel.schema.to_dict()),
            "frequency": str(self.panel.frequency),
            "forecaster": _spell(describe(assignment.template)),
            "train": _digest(learned.train_series, learned.train_begins, learned.train_ends),
            "test": _digest(fold.test_series, fold.test_begins, fold.test_ends),
            "levels": list(assignment.levels),
            "quantiles": list(assignment.quantiles),
        }


def describe(template: Any) -> dict[str, Any]:
    """Return the settings of a forecaster as plain values.

    Raises:
        InputError: If it is of a kind whose settings cannot be told.
    """
    from neuro_divergent.forecasting.forecaster import Forecaster

    if type(template) is Forecaster:
        training = {name: value for name, value in template.training.to_dict().items() if name not in _NOT_ASKED}
        return {
            "architecture": template.architecture.to_dict(),
            "task": template.task.to_dict(),
            "training": training,
        }
    tell = getattr(template, "to_dict", None)
    if tell is None:
        raise InputError(
            f"store: the settings of a {type(template).__name__} cannot be written down, so its folds cannot be kept. "
            "Leave store out."
        )
    return {"kind": type(template).__name__, **tell()}


def _read(place: Path, fold: int) -> FoldResult:
    files = read_directory(place)
    description = strict_json.loads(files.get(_DESCRIPTION, b""), str(place / _DESCRIPTION))
    try:
        if description["format"] != FORMAT:
            raise ValueError("another format")
        values = pl.read_parquet(io.BytesIO(files[_FORECASTS]))
        values.select(*PLACE, FORECAST)
        return FoldResult(fold, values, float(description["seconds"]))
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise UntrustedFileError(f"{place}: is not a finished fold ({error}).") from None


def _digest(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _spell(value: Any) -> Any:
    """Return settings without what JSON does not have: an infinite number, or a function, as text."""
    if isinstance(value, dict):
        return {str(key): _spell(item) for key, item in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [_spell(item) for item in value]
    plain = value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))
    return value if plain else str(value)
