"""How classes and functions are called, in a line of code."""

from __future__ import annotations

import inspect
from typing import Any

from neuro_divergent.core.config import Config
from tools.site.reference.annotations import show_value
from tools.site.reference.members import fields_of

_WIDTH = 88
_EMPTY = inspect.Parameter.empty


def show_call(path: str, value: Any, *, bound: bool = False) -> str:
    """Return how a function is called: names and defaults of its arguments, without types."""
    signature = signature_of(value, bound=bound)
    return _call(path, [] if signature is None else list(signature.parameters.values()))


def _call(path: str, parameters: list[inspect.Parameter]) -> str:
    shown: list[str] = []
    starred = False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
        starred = starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        stars = stars_of(parameter)
        default = "" if parameter.default is _EMPTY else f"={show_value(parameter.default)}"
        shown.append(f"{stars}{parameter.name}{default}")
    line = f"{path}({', '.join(shown)})"
    if len(line) <= _WIDTH:
        return line
    return f"{path}(\n{''.join(f'    {item},{chr(10)}' for item in shown)})"


def show_class(path: str, cls: type) -> str:
    """Return how an object is made; fields of settings are arguments by name."""
    if not issubclass(cls, Config):
        defaults = {name: default for name, _, default in fields_of(cls)}
        signature = signature_of(cls)
        parameters = [] if signature is None else signature.parameters.values()
        return _call(path, [item.replace(default=defaults.get(item.name, item.default)) for item in parameters])
    own = next((vars(base)["__init__"] for base in cls.__mro__ if "__init__" in vars(base)), None)
    first = []
    if own is not None and own is not vars(Config)["__init__"]:
        parameters = list(inspect.signature(own).parameters.values())[1:]
        first = [item for item in parameters if item.kind in (item.POSITIONAL_OR_KEYWORD, item.POSITIONAL_ONLY)]
    named = {item.name for item in first}
    rest = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_default_of(field))
        for name, field in cls.model_fields.items()
        if name not in named
    ]
    return _call(path, [*first, *sorted(rest, key=lambda item: item.default is not _EMPTY)])


def _default_of(field: Any) -> Any:
    return _EMPTY if field.is_required() else field.get_default(call_default_factory=True, validated_data={})


def stars_of(parameter: inspect.Parameter) -> str:
    """Return the stars before the name of an argument that takes any number of values."""
    return "*" * (parameter.kind is parameter.VAR_POSITIONAL) + "**" * (parameter.kind is parameter.VAR_KEYWORD)


def signature_of(value: Any, *, bound: bool = False) -> inspect.Signature | None:
    """Return the arguments of a class or function; ``None`` if Python cannot tell.

    Of a ``bound`` method, that for the object it is called on is left out.
    """
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    return _without_self(signature) if bound else signature


def _without_self(signature: inspect.Signature) -> inspect.Signature:
    """Leave out the argument for the object that a method is called on."""
    parameters = list(signature.parameters.values())
    is_first = bool(parameters) and parameters[0].name in ("self", "cls")
    return signature.replace(parameters=parameters[is_first:])
