"""The exported file beside a saved model."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage.manifest import MANIFEST, MANIFEST_LIMIT
from neuro_divergent.core.storage.regular_file import read_file

_MODEL = "model"  # The directory of the model in that of a run.


class ExportFile(NamedTuple):
    """An exported file beside the model that it may be of.

    Attributes:
        file: The exported file.
        model: Directory of the model.
        digest: Digest of the model, which that of the file must be equal to.
    """

    file: Path
    model: Path
    digest: str


def find_export(path: Path) -> ExportFile:
    """Return the exported file that lies beside a model or in a run.

    Raises:
        InputError: If there is no model, or it has not been exported.
    """
    model = next((place for place in (path, path / _MODEL) if (place / MANIFEST).is_file()), None)
    if model is None:
        what = "is not a model, a run or an .onnx file" if path.exists() else "not found"
        raise InputError(f"{path}: {what}; give a directory that 'nd train' or save() wrote, or an exported file.")
    file = export_path(model)
    if not file.is_file():
        raise InputError(f"{path}: has not been exported; {file} does not exist. Run: nd export {path}")
    return ExportFile(file, model, stored_digest(model))


def export_path(model: Path) -> Path:
    """Return where the exported file of a model directory lies: beside it, with ``.onnx`` after its name."""
    place = model.resolve() if model.name in ("", "..") else model
    return place.with_name(f"{place.name}.onnx")


def stored_digest(model: Path) -> str:
    """Return the digest of a saved model: the SHA-256 of its manifest."""
    return hashlib.sha256(read_file(model / MANIFEST, limit=MANIFEST_LIMIT)).hexdigest()
