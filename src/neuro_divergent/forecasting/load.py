"""Reads saved models of every kind: the one place that finds out what is stored, and the list of kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.core.errors import MissingDependencyError, NewerFormatError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import MANIFEST, read_directory
from neuro_divergent.core.storage.pickle_guard import refuse_pickle
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.runs.directory import MODEL

KINDS: dict[str, str] = {
    "auto.json": "AutoForecaster",
    "conformal.json": "Conformal",
    "hint.json": "HINT",
    "ensemble.json": "Ensemble",
    "statistical.json": "Statistical",
    "model.json": "Forecaster",
}
"""Public class by the file that describes a model of its kind; where there are several files, the first decides."""


def load(path: str | Path) -> ForecastModel:
    """Read a saved model of any kind. Nothing in the directory is ever executed.

    Args:
        path: A directory that ``save`` wrote, or that of a run with a trained model.

    Returns:
        A ``Forecaster``, ``Ensemble``, ``HINT``, ``Conformal``, ``Statistical`` or ``AutoForecaster``, whichever was
        saved.

    Raises:
        UntrustedFileError: If it is not a model, was altered, or was written by a newer version.
        StorageError: If it cannot be read.

    Examples:
        >>> import neuro_divergent as nd
        >>> naive = nd.Statistical("seasonal_naive", horizon=12).fit(nd.datasets.air_passengers())
        >>> naive.save("model")
        >>> model = nd.load("model")
        >>> type(model).__name__, model.predict().equals(naive.predict())
        ('Statistical', True)
    """
    stored = read_stored(path)
    return model_from_files(stored.files, stored.place)


def model_from_files(files: Mapping[str, bytes], place: str) -> ForecastModel:
    """Return the model that files hold, of whichever kind.

    Args:
        files: Contents by name, compared with their manifest.
        place: What they are called in messages.

    Raises:
        UntrustedFileError: If they do not describe a model that can be used.
    """
    import neuro_divergent  # some kinds live in rooms that stand on this one, so through the public names

    kind = _kind(files)
    if kind is None:
        raise UntrustedFileError(f"{place}: is not a model: holds {sorted(files)}.")
    model: ForecastModel = getattr(neuro_divergent, kind).from_files(dict(files), place)
    return model


@dataclass(frozen=True)
class StoredModel:
    """The files of a saved model, compared with their manifest.

    Attributes:
        place: What they are called in messages.
        kind: Public class of the model.
        files: Contents by name.
    """

    place: str
    kind: str
    files: dict[str, bytes]


def read_stored(path: str | Path, kind: str | None = None) -> StoredModel:
    """Read the files of a saved model, or of the model of a run.

    Args:
        path: The directory.
        kind: The class it must be of.

    Raises:
        UntrustedFileError: If it is not a model, or of another kind.
        StorageError: If it cannot be read.
    """
    path = Path(path)
    refuse_pickle(path, "a model")
    if (path / MODEL).is_dir():
        path = path / MODEL
    found = _kind({name: b"" for name in KINDS if (path / name).is_file()})
    if not path.exists():
        raise UntrustedFileError(f"{path}: is not a model: there is no such directory.")
    if found is None or not (path / MANIFEST).is_file():
        raise UntrustedFileError(
            f"{path}: is not a model: a model is a directory with a {MANIFEST} and one of {', '.join(KINDS)}, or that "
            "of a run that has trained one."
        )
    if kind not in (None, found):
        raise UntrustedFileError(
            f"{path}: is a saved {found}, not a {kind}: {found}.load reads it, and nd.load every kind."
        )
    return StoredModel(str(path), found, read_directory(path))


def read_description(content: bytes, place: str, newest: int, *, kind: str) -> dict[str, Any]:
    """Parse the file that describes a model and check its format.

    Args:
        content: The file.
        place: What the model is called in messages.
        newest: The newest format that can be read.
        kind: The class it describes.

    Raises:
        UntrustedFileError: If it is no such file, or of a newer format.
    """
    try:
        description = strict_json.loads(content, place)
    except UntrustedFileError:
        # Python wrote NaN and Infinity into model.json of format 1.
        description = strict_json.loads(content, place, constants=True)
        if kind != "Forecaster" or not isinstance(description, dict) or description.get("format") != 1:
            raise
    version = description.get("format") if isinstance(description, dict) else None
    if type(version) is not int or version < 1:
        raise UntrustedFileError(f"{place}: does not describe {_spoken(kind)}.")
    if version > newest:
        raise NewerFormatError(place, version, newest)
    assert isinstance(description, dict)
    return description


@contextmanager
def rebuilding(place: str, kind: str) -> Iterator[None]:
    """Turn whatever goes wrong in the block into an error of the file, which is to blame.

    Raises:
        UntrustedFileError: With the reason.
    """
    try:
        yield
    except (MissingDependencyError, UntrustedFileError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise UntrustedFileError(f"{place}: does not describe {_spoken(kind)} ({reason}).") from error


def _kind(files: Mapping[str, bytes]) -> str | None:
    return next((kind for name, kind in KINDS.items() if name in files), None)


def _spoken(kind: str) -> str:
    """Return how a kind is called in a sentence."""
    return {"Forecaster": "a model", "Ensemble": "an ensemble"}.get(kind, f"a {kind}")
