"""Names of interchangeable parts.

A registry belongs to a package. Names are known from the package's file names, so asking which exist, or whether one
does, imports nothing; a part is imported when it is used.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from neuro_divergent.core.errors import ConfigError, did_you_mean


class Registry:
    """Maps the names of one kind of component to their classes.

    Args:
        kind: What the members are, in one word, for messages.
        package: Package whose modules hold the members. A module named ``x`` may register any names; it is imported
            first when ``x`` is asked for.
        skip: Modules of the package that register nothing.
    """

    def __init__(self, kind: str, package: str, *, skip: tuple[str, ...] = ("base",)) -> None:
        self.kind = kind
        self.package = package
        self._skip = skip
        self._members: dict[str, type] = {}

    def add(self, name: str, member: type) -> None:
        """Enter a class. Two different classes cannot share a name."""
        known = self._members.get(name)
        if known is not None and known.__qualname__ != member.__qualname__:
            raise ConfigError(f"{self.kind} {name!r} is already registered by {known.__module__}.")
        self._members[name] = member

    def get(self, name: str) -> Any:
        """Return the class registered as ``name`` (any case), importing what is needed."""
        key = name.lower().replace("-", "_")
        if key not in self._members and key in self.modules():
            import_module(f"{self.package}.{key}")
        if key not in self._members:
            self.load()
        if key not in self._members:
            hint = did_you_mean(key, self._members)
            raise ConfigError(f"Unknown {self.kind} {name!r}.{hint} Known: {', '.join(self.names())}.")
        return self._members[key]

    def names(self) -> list[str]:
        """Return every registered name, sorted, after importing the whole package."""
        self.load()
        return sorted(self._members)

    def load(self) -> None:
        """Import every module of the package, so that all members are registered."""
        for module in self.modules():
            import_module(f"{self.package}.{module}")

    def modules(self) -> list[str]:
        """Return the modules that hold members, without importing them."""
        spec = find_spec(self.package)
        locations = spec.submodule_search_locations if spec else None
        return [item.name for item in pkgutil.iter_modules(locations) if item.name not in self._skip]
