"""Where the versions of a served model come from: a file, a directory or a registry."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage.manifest import MANIFEST
from neuro_divergent.serving.export_file import export_path
from neuro_divergent.serving.exported_model import ExportedModel
from neuro_divergent.serving.onnx_runner import OnnxRunner
from neuro_divergent.serving.server.export_cache import ExportCache

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class ModelSource(Protocol):
    """Where the versions of a model come from. Methods are called from a thread."""

    name: str

    def state(self) -> object:
        """Return something that changes when there is a new version; cheap enough for every few seconds."""

    def load(self) -> ExportedModel:
        """Return the present version.

        Raises:
            NeuroDivergentError: If it cannot be loaded.
        """

    def cancel(self) -> None:
        """End a load that takes long, because the server stops; called from another thread."""


class FileSource:
    """An exported file; a new version is written over it.

    Args:
        path: The ``.onnx`` file.
        name: Name under which it is served; unset, that of the file.
        threads: Threads of the network.
    """

    def __init__(self, path: Path, *, name: str | None = None, threads: int = 1) -> None:
        if not path.is_file():
            raise InputError(f"{path}: not found; export a model to it with: nd export MODEL --output {path.name}")
        self.name = check_served_name(name if name is not None else path.name.split(".")[0])
        self._path = path
        self._threads = threads

    def state(self) -> object:
        """Return the time, size and place of the file."""
        return _stat(self._path)

    def load(self) -> ExportedModel:
        """Load the file."""
        runner = OnnxRunner.open(self._path, threads=self._threads)
        return ExportedModel(runner.description, runner, name=self.name)

    def cancel(self) -> None:
        """Do nothing: a file is loaded in a moment."""


class DirectorySource:
    """A saved model or a run, by the export beside it; where there is none that matches, it is exported to a cache.

    Args:
        path: Directory of the model or of the run.
        cache: Where exports are kept.
        name: Name under which it is served; unset, that of the directory.
        threads: Threads of the network.
    """

    def __init__(self, path: Path, *, cache: ExportCache, name: str | None = None, threads: int = 1) -> None:
        self._model = path / "model" if (path / "model" / MANIFEST).is_file() else path
        if not (self._model / MANIFEST).is_file():
            raise InputError(
                f"{path}: holds no model; give an .onnx file, the directory of a saved model or of a run, or "
                "name@alias with --registry."
            )
        self.name = check_served_name(name if name is not None else path.resolve().name)
        self._cache = cache
        self._threads = threads

    def state(self) -> object:
        """Return the times and sizes of the manifest and of the exports beside the model."""
        return _stat(self._model / MANIFEST), _stat(export_path(self._model))

    def load(self) -> ExportedModel:
        """Load the export, or make it."""
        return self._cache.load(self._model, name=self.name, threads=self._threads)

    def cancel(self) -> None:
        """End an export."""
        self._cache.cancel()


def check_served_name(name: str) -> str:
    """Return a name that can be part of an address.

    Raises:
        InputError: If it cannot.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name[:120]!r} cannot be the name of a served model: up to 100 letters, digits, '.', '_' and '-'. "
            "Give another as name=path."
        )
    return name


def _stat(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
