"""Every public class and method says what it does; one that overrides another may leave that to the base class."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cached_property

import neuro_divergent as nd


def members(cls: type) -> Iterator[tuple[str, object]]:
    """Yield the public methods and properties that a class defines itself."""
    for name, member in vars(cls).items():
        if name.startswith("_") or getattr(member, "__name__", "") == "<lambda>":  # a default of a dataclass
            continue
        if inspect.isfunction(member) and not member.__module__.startswith(nd.__name__):
            continue  # torch wraps the step of an optimizer class when it is first used
        if inspect.isfunction(member) or isinstance(member, classmethod | staticmethod | property | cached_property):
            yield name, getattr(cls, name)


def test_every_public_method_has_a_docstring_of_its_own_or_of_a_base_class() -> None:
    missing = []
    for module in pkgutil.walk_packages(nd.__path__, "neuro_divergent."):
        if module.name.endswith("__main__"):
            continue
        for name, cls in vars(importlib.import_module(module.name)).items():
            if inspect.isclass(cls) and cls.__module__ == module.name and not name.startswith("_"):
                missing += [f"{module.name}.{name}.{method}" for method, it in members(cls) if not inspect.getdoc(it)]
    assert not missing
