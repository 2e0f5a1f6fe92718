"""Types, ranges and defaults in words."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import annotated_types
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from neuro_divergent.core.config import Component, Config
from tools.site.reference.markdown import code
from tools.site.reference.texts import Texts

_UNIONS = (Union, types.UnionType)


def describe_type(annotation: Any, texts: Texts) -> str:
    """Return what a field accepts, such as "`int` or `None`"."""
    return " or ".join(dict.fromkeys(_alternatives(annotation, texts)))


def _alternatives(annotation: Any, texts: Texts) -> list[str]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in _UNIONS:
        return [word for item in arguments for word in _alternatives(item, texts)]
    if origin is Annotated:
        return _alternatives(arguments[0], texts)
    if origin is Literal:
        return [code(show_value(option)) for option in arguments]
    if origin is not None and inspect.isclass(origin):
        return [_collection(origin, arguments, texts)]
    if annotation in (None, type(None)):
        return ["`None`"]
    if annotation is Any:
        return ["any"]
    if isinstance(annotation, TypeVar):
        return [code(annotation.__name__)]
    if not inspect.isclass(annotation):
        return [code(str(annotation))]
    place = texts.links.place_of(annotation)
    if place is not None:
        return [texts.to(place[0], code(annotation.__name__), place[1])]
    if issubclass(annotation, Component) and not annotation.name:
        return [f"{annotation.registry.kind}"]
    return [code(annotation.__name__)]


def _collection(origin: type, arguments: tuple[Any, ...], texts: Texts) -> str:
    if issubclass(origin, tuple) and Ellipsis not in arguments:
        return f"tuple of {', '.join(describe_type(item, texts) for item in arguments)}"
    if issubclass(origin, Mapping):
        return f"mapping of {' to '.join(describe_type(item, texts) for item in arguments)}"
    if issubclass(origin, Callable):  # type: ignore[arg-type]
        return "function"
    if issubclass(origin, type) or not issubclass(origin, Collection):
        return code(origin.__name__)
    kind = "tuple" if issubclass(origin, tuple) else origin.__name__.lower()
    inner = [word for item in arguments if item is not Ellipsis for word in _alternatives(item, texts)]
    each = " or ".join(inner)
    return f"{kind} of {each if len(inner) == 1 else f'({each})'}"


def describe_range(annotation: Any, metadata: Collection[Any] = ()) -> str:
    """Return which values of a type are accepted; where its alternatives differ, those of each."""
    found = _ranges(annotation, list(metadata))
    shown = [(kind, text) for kind, text in found if text]
    if len({text for _, text in shown}) == 1 and len(shown) == sum(kind not in ("", "None") for kind, _ in found):
        return shown[0][1]
    return "; ".join(f"`{kind}`: {text}" for kind, text in shown) if len(found) > 1 else "".join(t for _, t in shown)


def _ranges(annotation: Any, metadata: list[Any]) -> list[tuple[str, str]]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in _UNIONS:
        return [pair for item in arguments for pair in _ranges(item, metadata)]
    if origin is Annotated:
        return _ranges(arguments[0], [*arguments[1:], *metadata])
    if origin is Literal or annotation in (None, type(None)):
        return [("", "")]
    kind = (origin or annotation).__name__ if inspect.isclass(origin or annotation) else ""
    own = _limits(metadata)
    inner = [text for item in arguments if item is not Ellipsis for _, text in _ranges(item, [])]
    each = f"each {inner[0]}" if inner and inner[0] and len(set(inner)) == 1 else ""
    return [(kind, ", ".join(filter(None, (own, each))))]


def _limits(metadata: list[Any]) -> str:
    """Return the limits among the metadata of an annotation in words."""
    flat = [part for item in metadata for part in (item.metadata if isinstance(item, FieldInfo) else [item])]
    limits = {name: getattr(item, name) for item in flat for name in ("ge", "gt", "le", "lt") if hasattr(item, name)}
    lengths = [item.min_length for item in flat if isinstance(item, annotated_types.MinLen)]
    low, high = limits.get("ge", limits.get("gt")), limits.get("le", limits.get("lt"))
    parts = []
    if low is not None and high is not None:
        beginning = f"{low:g}" if "ge" in limits else f"above {low:g}"
        parts.append(f"{beginning} to {'' if 'le' in limits else 'below '}{high:g}")
    elif low is not None:
        parts.append(f"{'at least' if 'ge' in limits else 'above'} {low:g}")
    elif high is not None:
        parts.append(f"{'at most' if 'le' in limits else 'below'} {high:g}")
    parts += [f"at least {length} item{'s' * (length != 1)}" for length in lengths]
    return ", ".join(parts)


def show_value(value: Any) -> str:
    """Return a value as it is written in Python, without the settings of a component that are its defaults."""
    if isinstance(value, Config):
        fields = type(value).model_fields
        changed = {name: getattr(value, name) for name in fields}
        changed = {name: item for name, item in changed.items() if item != fields[name].get_default()}
        return f"{type(value).__name__}({', '.join(f'{name}={show_value(item)}' for name, item in changed.items())})"
    if isinstance(value, str):
        return repr(value) if '"' in value else f'"{value}"'
    if isinstance(value, tuple) and type(value) is tuple:
        return f"({', '.join(map(show_value, value))}{',' * (len(value) == 1)})"
    if isinstance(value, list):
        return f"[{', '.join(map(show_value, value))}]"
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if inspect.isroutine(value) or inspect.isclass(value):
        return str(value.__name__)
    shown = repr(value)
    return f"{type(value).__name__}()" if " at 0x" in shown else shown


def show_default(field: FieldInfo) -> str:
    """Return the default of a field as code; an empty text where a value must be given."""
    default = field.get_default(call_default_factory=True, validated_data={})
    return "" if default is PydanticUndefined else code(show_value(default))


def describe_written_type(annotation: Any, texts: Texts) -> str:
    """Return the type of an argument as the source has it, with links."""
    if annotation is inspect.Parameter.empty:
        return ""
    if not isinstance(annotation, str):
        return describe_type(annotation, texts)
    try:
        tree = ast.parse(annotation, mode="eval").body
    except SyntaxError:
        return code(annotation)
    return " or ".join(dict.fromkeys(_written(tree, texts)))


def _written(node: ast.expr, texts: Texts) -> list[str]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_written(node.left, texts), *_written(node.right, texts)]
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
        options = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return [code(show_value(ast.literal_eval(option))) for option in options]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _written(ast.parse(node.value, mode="eval").body, texts)
    text = ast.unparse(node)
    return ["any" if text == "Any" else texts.code(text) if isinstance(node, ast.Name) else code(text)]
