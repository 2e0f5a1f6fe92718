"""Reads what a command line names as models: files, directories and versions of a registry."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import ConfigError, InputError, did_you_mean
from neuro_divergent.serving.server.export_cache import ExportCache
from neuro_divergent.serving.server.model_source import DirectorySource, FileSource, ModelSource
from neuro_divergent.serving.server.settings import Limits

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.registry.registry import Registry

_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)=(?!=)(.+)")
_ADDRESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:@[a-z][a-z0-9_-]*|==v?[0-9.]+)?")

_USUAL_REGISTRY = "models"  # where 'nd registry' keeps versions if nothing else is said


class SourceReader:
    """Finds where models come from.

    Args:
        cache: Directory for exports of models that have none.
        registry: Directory or address of the registry; unset, ``models`` if there is such a directory.
        blobs: Where its files are, if not beside it.
        threads: Threads of the network.
    """

    def __init__(self, cache: Path, *, registry: str | None = None, blobs: str | None = None, threads: int = 1) -> None:
        self._cache = ExportCache(cache)
        self._location = registry
        self._blobs = blobs
        self._threads = threads
        self._registry: Registry | None = None

    def read(self, texts: Sequence[str]) -> list[ModelSource]:
        """Return the sources of models such as ``model.onnx``, ``runs/x``, ``sales@champion`` or ``name=model.onnx``.

        Raises:
            InputError: If one is nothing of that.
        """
        return [self._source(text) for text in texts]

    def _source(self, text: str) -> ModelSource:
        match = None if Path(text).exists() else _NAMED.fullmatch(text)
        name, place = (None, text) if match is None else (match[1], match[2])
        path = Path(place)
        if path.is_file() and path.suffix.lower() != ".onnx":
            raise InputError(f"{place}: is no .onnx file; give a run or a model, or export one with: nd export RUN")
        if path.suffix.lower() == ".onnx":
            return FileSource(path, name=name, threads=self._threads)
        if path.is_dir():
            return DirectorySource(path, cache=self._cache, name=name, threads=self._threads)
        if not _ADDRESS.fullmatch(place):
            raise InputError(
                f"{place}: not found; give an .onnx file, the directory of a model or a run, or a version such as "
                "sales@champion with --registry."
            )
        from neuro_divergent.serving.server.registry_source import RegistrySource

        return RegistrySource(
            place, registry=self._open_registry(place), cache=self._cache, name=name, threads=self._threads
        )

    def _open_registry(self, address: str) -> Registry:
        from neuro_divergent.lifecycle.registry.registry import Registry

        location = self._location
        if location is None and re.search("@|==", address) and Path(_USUAL_REGISTRY).is_dir():
            location = _USUAL_REGISTRY
        if location is None:
            raise InputError(
                f"{address}: not found; give an .onnx file, the directory of a model or a run, or a version such as "
                "sales@champion of the registry that --registry names."
            )
        if self._registry is None:
            self._registry = Registry(location, blobs=self._blobs, create=False)
        return self._registry


def read_limits(texts: Sequence[str]) -> Limits:
    """Return limits from texts such as ``body=32000000`` and ``request_seconds=5``.

    Raises:
        ConfigError: If a name is unknown, or a value is no number above 0.
    """
    known: dict[str, Callable[[str], float]] = {
        item.name: float if isinstance(item.default, float) else int for item in fields(Limits)
    }
    values: dict[str, Any] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in known:
            raise ConfigError(f"Unknown limit {name!r}.{did_you_mean(name, known)} Known: {', '.join(known)}.")
        try:
            values[name] = known[name](value)
        except ValueError:
            raise ConfigError(f"limit {name}: {value!r} is not a number.") from None
    return Limits(**values)
