"""Finished folds on disk, from which an interrupted cross-validation resumes.

    store/  fold-<key>/  forecasts.parquet  fold.json  manifest.json

The key is a fingerprint of all that a forecast depends on: data, settings of the forecaster, the rows it was trained
on, the rows it forecasts, and the version of this package. A fold is found only if all of these are the same; its
number may differ.
"""

from __future__ import annotations

import hashlib
import io
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent import __version__
from neuro_divergent.core.errors import InputError, StorageError, StorageWarning, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import clear_leftovers, read_directory, read_json, write_directory
from neuro_divergent.core.storage.disk import storage_error
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.cross_validation.fold_task import FoldResult, FoldTask
from neuro_divergent.evaluation.cross_validation.forecast_values import FORECAST, PLACE
from neuro_divergent.evaluation.splitters.fold import Fold

FORMAT = 1
_LOCK = "lock"
_FORECASTS, _DESCRIPTION = "forecasts.parquet", "fold.json"
# Settings that do not change the forecasts.
_IGNORED_SETTINGS = ("threads", "prefetch", "log_every")


@dataclass(frozen=True, eq=False)
class FoldStore:
    """Finished folds in a directory.

    Attributes:
        path: The directory; ``opened`` creates it.
        data: Fingerprint of the data.
    """

    path: Path
    panel: Panel
    data: str

    @classmethod
    def of(cls, path: str | Path, panel: Panel) -> FoldStore:
        """Return the store at a path, for some data."""
        from neuro_divergent.runs.directory import fingerprint

        return cls(Path(path), panel, fingerprint(panel, _stored_fingerprint(Path(path)))["sha256"])

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Create the directory, lock it for this process and delete incomplete files of killed processes."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise storage_error(self.path, "written", error) from error
        with RunLock(self.path / _LOCK):
            clear_leftovers(self.path)
            yield

    def find(self, task: FoldTask) -> list[FoldResult] | None:
        """Return the results of a task if all of its folds are stored.

        A damaged fold counts as missing, with a ``StorageWarning``.
        """
        paths = [self._path(task, fold) for fold in task.folds]
        if not all(path.is_dir() for path in paths):
            return None
        try:
            return [_read(path, fold.number) for path, fold in zip(paths, task.folds, strict=True)]
        except UntrustedFileError as error:
            warnings.warn(f"{error} The fold is computed again.", StorageWarning, stacklevel=2)
            return None

    def save(self, task: FoldTask, results: list[FoldResult]) -> None:
        """Write the results of a task, each completely or not at all."""
        for fold, result in zip(task.folds, results, strict=True):
            buffer = io.BytesIO()
            result.values.write_parquet(buffer)
            description = {
                "format": FORMAT,
                "version": __version__,
                "model": task.model,
                "fold": fold.number,
                "seconds": result.seconds,
                "made_from": self._made_from(task, fold),
            }
            files = [(_FORECASTS, buffer.getvalue()), (_DESCRIPTION, strict_json.dumps(description, indent=1))]
            write_directory(self._path(task, fold), files, whatever_is_there=True)

    def _path(self, task: FoldTask, fold: Fold) -> Path:
        key = hashlib.sha256(strict_json.dumps(self._made_from(task, fold))).hexdigest()
        return self.path / f"fold-{key[:32]}"

    def _made_from(self, task: FoldTask, fold: Fold) -> dict[str, Any]:
        """Return all that the forecasts of a fold depend on."""
        first = task.folds[0]
        return {
            "version": __version__,
            "data": self.data,
            "schema": _spell(self.panel.schema.to_dict()),
            "frequency": str(self.panel.frequency),
            "forecaster": _spell(describe(task.template)),
            "train": _digest(first.train_series, first.train_begins, first.train_ends),
            "test": _digest(fold.test_series, fold.test_begins, fold.test_ends),
            "levels": list(task.levels),
            "quantiles": list(task.quantiles),
        }


def _stored_fingerprint(path: Path) -> str | None:
    """Return the fingerprint of the data of a stored fold: an earlier version may have computed it in another way."""
    for place in sorted(path.glob(f"fold-*/{_DESCRIPTION}")):
        with suppress(UntrustedFileError, StorageError, KeyError, TypeError):
            return str(read_json(place)["made_from"]["data"])
    return None


def describe(template: Any) -> dict[str, Any]:
    """Return the settings of a forecaster as plain values."""
    from neuro_divergent.forecasting.forecaster import Forecaster

    if type(template) is Forecaster:
        training = {name: value for name, value in template.training.to_dict().items() if name not in _IGNORED_SETTINGS}
        return {"architecture": template.architecture.to_dict(), "task": template.task.to_dict(), "training": training}
    to_dict = getattr(template, "to_dict", None)
    if to_dict is None:
        raise InputError(
            f"store: a {type(template).__name__} has no to_dict(), which identifies its settings, so its folds cannot "
            "be stored. Leave store out."
        )
    return {"kind": type(template).__name__, **to_dict()}


def _read(path: Path, fold: int) -> FoldResult:
    files = read_directory(path)
    description = strict_json.loads(files.get(_DESCRIPTION, b""), str(path / _DESCRIPTION))
    try:
        if description["format"] != FORMAT:
            raise ValueError("another format")
        values = pl.read_parquet(io.BytesIO(files[_FORECASTS]))
        values.select(*PLACE, FORECAST)
        return FoldResult(fold, values, float(description["seconds"]))
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise UntrustedFileError(f"{path}: is not a finished fold ({error}).") from None


def _digest(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _spell(value: Any) -> Any:
    """Return settings with what JSON cannot hold, such as infinity or a function, as text."""
    if isinstance(value, dict):
        return {str(key): _spell(item) for key, item in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [_spell(item) for item in value]
    plain = value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))
    return value if plain else str(value)
