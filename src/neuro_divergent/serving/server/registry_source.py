"""A model of a registry, by alias, version or name, as the source of served versions."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from neuro_divergent.core.storage.atomic import write_directory
from neuro_divergent.serving.exported_model import ExportedModel
from neuro_divergent.serving.server.export_cache import ExportCache
from neuro_divergent.serving.server.model_source import check_served_name

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.registry.registry import Registry


class RegistrySource:
    """The version that an address such as ``sales@champion`` or ``sales==v3`` means at the time.

    Args:
        address: As ``Registry.get`` takes it.
        registry: The registry; used by one thread at a time.
        cache: Where exports are kept.
        name: Name under which it is served; unset, that of the model.
        threads: Threads of the network.

    Raises:
        InputError: If the address is not one.
    """

    def __init__(
        self, address: str, *, registry: Registry, cache: ExportCache, name: str | None = None, threads: int = 1
    ) -> None:
        from neuro_divergent.lifecycle.registry.address import Address

        parsed = Address.parse(address)
        self.name = check_served_name(name if name is not None else parsed.name)
        self._model = parsed.name
        self._is_newest = parsed.alias is None and parsed.number is None and parsed.version is None
        self._address = address
        self._registry = registry
        self._cache = cache
        self._threads = threads

    def state(self) -> object:
        """Return how often the aliases changed; for the newest version, its digest as well."""
        revision = self._registry.revision(self._model)
        return (revision, self._registry.get(self._address).digest) if self._is_newest else revision

    def load(self) -> ExportedModel:
        """Load the export of the version, which is made from the files of the registry if the cache has none."""
        version = self._registry.get(self._address)
        found = self._cache.find(version.digest, name=self.name, threads=self._threads)
        if found is not None:
            return found
        with tempfile.TemporaryDirectory(prefix="nd-serve-") as place:
            model = Path(place) / "model"
            write_directory(model, sorted(version.files().items()))
            return self._cache.add(model, version.digest, name=self.name, threads=self._threads)

    def cancel(self) -> None:
        """End an export."""
        self._cache.cancel()
