"""What a class has besides its settings: methods, properties and fields, its own and those of bases nobody imports."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel

import neuro_divergent as nd
from neuro_divergent.core.config import Component, Config
from tools.site.reference.docstring import read_docstring
from tools.site.reference.names import Links, PublicName

_EMPTY = inspect.Parameter.empty
_SETTINGS: tuple[type, ...] = (Config, Component)


@dataclass(frozen=True)
class Member:
    """A method or property.

    Attributes:
        name: Its name.
        value: The function, or the getter of a property.
        kind: ``method``, ``classmethod``, ``staticmethod`` or ``property``.
        text: Its docstring, or that of the base class which has one.
        base: The public class that describes it, if that is not this one.
    """

    name: str
    value: Any
    kind: str
    text: str
    base: PublicName | None = None


def members_of(cls: type, links: Links) -> list[Member]:
    """Return the methods and properties that a user may call, in the order of the source.

    What every class of settings has is left out. A method that only a public base class describes names that class.
    """
    found: dict[str, Member] = {}
    for base in cls.__mro__:
        if not base.__module__.startswith(nd.__name__) or base in _SETTINGS:
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or name in found or hasattr(BaseModel, name) or _is_known(name):
                continue
            kind, value = _kind_of(member)
            if kind:
                owner = _owner(cls, name, links)
                found[name] = Member(
                    name, value, kind, _text(cls, name), None if owner is cls else links.name_of(owner)
                )
    return list(found.values())


def _is_known(name: str) -> bool:
    return any(name in vars(base) for base in _SETTINGS)


def _kind_of(member: Any) -> tuple[str, Any]:
    if isinstance(member, property):
        return "property", member.fget
    if isinstance(member, cached_property):
        return "property", member.func
    if isinstance(member, classmethod | staticmethod):
        return type(member).__name__, member.__func__
    if inspect.isfunction(member) and member.__name__ != "<lambda>":
        return "method", member
    return "", None


def _owner(cls: type, name: str, links: Links) -> type:
    """Return the class in whose section a member is described: this one, or a public base that says what it does."""
    if name in vars(cls) and inspect.cleandoc(vars(cls)[name].__doc__ or ""):
        return cls
    for base in cls.__mro__[1:]:
        if links.name_of(base) is not None and hasattr(base, name):
            return _owner(base, name, links)
    return cls


def _text(cls: type, name: str) -> str:
    """Return the docstring of a member, or of what it overrides."""
    texts = (vars(base)[name].__doc__ for base in cls.__mro__ if name in vars(base))
    return next((inspect.cleandoc(text) for text in texts if text), "")


def attributes_of(cls: type) -> dict[str, str]:
    """Return what the docstrings of a class, and of those it is made from, say about its attributes."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith(nd.__name__):
            found |= read_docstring(base.__doc__).attributes
    return found


def fields_of(cls: type) -> Iterator[tuple[str, Any, Any]]:
    """Yield the fields of a dataclass, a structure or a named tuple: name, type as written, and default.

    The default is the empty object of ``inspect`` where a value must be given.
    """
    if dataclasses.is_dataclass(cls):
        for field in dataclasses.fields(cls):
            if not field.name.startswith("_"):
                yield field.name, field.type, _default(field, dataclasses.MISSING)
    elif hasattr(cls, "__struct_fields__"):
        import msgspec

        kinds = _annotations(cls)
        for item in msgspec.structs.fields(cls):
            yield item.name, kinds[item.name], _default(item, msgspec.NODEFAULT)
    elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
        kinds = _annotations(cls)
        for name in cls._fields:
            yield name, _as_written(kinds.get(name, "")), cls._field_defaults.get(name, _EMPTY)  # type: ignore[attr-defined]


def _default(field: Any, missing: Any) -> Any:
    if field.default_factory is not missing:
        return field.default_factory()
    return _EMPTY if field.default is missing else field.default


def _annotations(cls: type) -> dict[str, Any]:
    return {name: kind for base in reversed(cls.__mro__) for name, kind in inspect.get_annotations(base).items()}


def _as_written(annotation: Any) -> Any:
    """Return the text of an annotation that a named tuple keeps as a reference."""
    return getattr(annotation, "__forward_arg__", annotation)
