"""Names of interchangeable parts.

A registry belongs to a package. Names are read from the source of its modules, so asking which exist, or whether one
does, imports nothing; the module that holds a part is imported when the part is used.
"""

from __future__ import annotations

import re
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import ConfigError, did_you_mean
from neuro_divergent.core.own_components import import_files

_DECORATOR = re.compile(r'^@register\("([a-z0-9_]+)"\)', re.MULTILINE)
_NAME = re.compile(r"[a-z0-9_]+")
_PACKAGE = __name__.partition(".")[0]


class Registry:
    """Maps the names of one kind of component to their classes.

    Args:
        kind: Kind of the members, for messages.
        packages: Packages (or single modules) whose ``@register("name")`` classes are the members; packages within
            them are not searched.
    """

    def __init__(self, kind: str, *packages: str) -> None:
        self.kind = kind
        self.packages = packages
        self._members: dict[str, type] = {}

    def add(self, name: str, member: type) -> None:
        """Register a class under a name of small letters, digits and ``_``, which no other class can have."""
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{self.kind} {name!r}: a name has small letters, digits and _ only.")
        if member.__module__.partition(".")[0] != _PACKAGE and name in self._modules:
            raise ConfigError(f"{self.kind} {name!r} is one of this package; give yours another name.")
        known = self._members.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (member.__module__, member.__qualname__):
            raise ConfigError(f"{self.kind} {name!r} is already registered by {known.__module__}.")
        self._members[name] = member

    def get(self, name: str) -> Any:
        """Return the class registered as ``name`` (any case), importing the module that holds it."""
        key = self.check(name)
        if key not in self._members:
            import_module(self._modules[key])
        return self._members[key]

    def check(self, name: str) -> str:
        """Return the registered name, or raise with the closest known one.

        Nothing is imported but files of the user's own that were named to be, if this package does not know the name.
        """
        key = name.lower().replace("-", "_")
        if key not in self._members and key not in self._modules:
            names = self.names()  # which imports files of the user
            if key not in names:
                hint = did_you_mean(key, names)
                known = f"{hint} Known: {', '.join(names)}."
                raise ConfigError(f"Unknown {self.kind} {name!r}.{known} For one of your own: nd --import FILE.")
        return key

    def names(self) -> list[str]:
        """Return every name, sorted; only files of the user's own are imported for it."""
        import_files()
        return sorted({*self._modules, *self._members})

    @cached_property
    def _modules(self) -> dict[str, str]:
        """The module that holds each name."""
        files = {module: path for package in self.packages for module, path in _modules_of(package).items()}
        return {name: module for module, path in files.items() for name in _DECORATOR.findall(path.read_text("utf-8"))}


def _modules_of(package: str) -> dict[str, Path]:
    """Return the files of the modules of a package, or of a single module."""
    spec = find_spec(package)
    assert spec is not None
    if spec.submodule_search_locations is None:
        return {package: Path(spec.origin or "")}
    found = [path for place in spec.submodule_search_locations for path in sorted(Path(place).glob("*.py"))]
    return {f"{package}.{path.stem}": path for path in found}
