"""Frozen, validated settings that round-trip through a plain dict and a TOML file.

``Config`` is the base of every settings class. ``Component`` is a ``Config`` that belongs to a family
(optimizers, losses, architectures, ...) and is found by its name, so a field annotated with the family accepts an
instance, a name, or a table with a ``name`` key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo

from neuro_divergent.core import html
from neuro_divergent.core.errors import ConfigError, did_you_mean
from neuro_divergent.core.formatting import format_count
from neuro_divergent.core.registry import Registry

C = TypeVar("C", bound="type[Component]")
_NONE = "none"
_LARGEST = 1 << 20  # bytes of a TOML file
# A key of more than 32 parts: tomllib takes minutes for one of thousands, and no setting has more than four.
_DEEP_KEY = re.compile(r"""(?<![\w"'-])(?:(?:"[^"\n]*"|'[^'\n]*'|[\w-]+)[ \t]*\.[ \t]*){32}""")
_SHORTER = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "must be an integer"),
    **dict.fromkeys(("float_parsing", "float_type"), "must be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "must be true or false"),
    "string_type": "must be text",
}


class Config(BaseModel):
    """Settings that are keyword-only, frozen and validated on construction."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, arbitrary_types_allowed=True)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ConfigError(_explain(type(self), error)) from None

    def __str__(self) -> str:
        return repr(self)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        return self._changed().items()

    def _repr_html_(self) -> str:
        changed = self._changed()
        others = {name: getattr(self, name) for name in type(self).model_fields if name not in changed}
        usual = html.details(format_count(len(others), "default"), _facts(others)) if others else html.Html("")
        return html.card(
            type(self).__name__, "" if changed or not others else "with all defaults", _facts(changed), usual
        )

    def _changed(self) -> dict[str, Any]:
        """Return the settings that differ from their defaults, and those that have no default."""
        fields = type(self).model_fields
        values = {name: getattr(self, name) for name in fields}
        required = {name: value for name, value in values.items() if fields[name].is_required()}
        try:
            usual = type(self)(**required)
        except (TypeError, ValueError):  # the defaults alone do not fit to what is required
            return values
        return {
            name: value for name, value in values.items() if name in required or not _same(value, getattr(usual, name))
        }

    def replace(self, **changes: Any) -> Self:
        """Return a checked copy with some fields changed."""
        return type(self)(**{**{name: getattr(self, name) for name in type(self).model_fields}, **changes})

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values (dict, list, str, int, float, bool), enough to rebuild this object.

        ``None`` cannot be written in TOML: it is left out where it is the default and spelled ``"none"`` elsewhere.
        """
        values = [(name, field, getattr(self, name)) for name, field in type(self).model_fields.items()]
        return {name: _plain(value) for name, field, value in values if value is not None or field.default is not None}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild an object from the result of ``to_dict``."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise ConfigError(_explain(cls, error)) from None

    def to_toml(self) -> str:
        """Return the settings as a TOML document."""
        import tomli_w

        return tomli_w.dumps(self.to_dict())

    @classmethod
    def from_toml(cls, source: str | Path) -> Self:
        """Read settings from a TOML file (``Path``) or document (``str``)."""
        return cls.from_dict(read_toml(source))

    @model_validator(mode="before")
    @classmethod
    def _understand(cls, values: Any) -> Any:
        """Refuse unknown keys with the closest known name and read ``"none"`` where ``None`` is allowed."""
        if not isinstance(values, Mapping):
            return values
        known = set(cls.model_fields)
        for key in values:
            if key not in known:
                hint = did_you_mean(str(key), known) or _list(known)
                raise ValueError(f"{cls._label()}: unknown setting {key!r}.{hint}")
        return {
            key: None if value == _NONE and isinstance(value, str) and _optional(cls.model_fields[key]) else value
            for key, value in values.items()
        }

    @classmethod
    def _label(cls) -> str:
        return cls.__name__


class Component(Config):
    """A ``Config`` of a named family. Subclass it once per family with ``registry=`` and register members."""

    name: ClassVar[str] = ""
    registry: ClassVar[Registry]

    @model_validator(mode="wrap")
    @classmethod
    def _resolve(cls, value: Any, handler: Any) -> Any:
        """Turn a name or a table with a ``name`` into the registered member of this family."""
        if isinstance(value, cls):
            return value
        if cls.name:
            if isinstance(value, str) and value == cls.name:
                value = {}
            if isinstance(value, Mapping) and value.get("name") == cls.name:
                value = {key: item for key, item in value.items() if key != "name"}
            return handler(value)
        return cls._from_family(value)

    @classmethod
    def _from_family(cls, value: Any) -> Self:
        if isinstance(value, str):
            value = {"name": value}
        if not isinstance(value, Mapping) or "name" not in value:
            article = "an" if cls.registry.kind[0] in "aeio" else "a"
            raise ValueError(
                f"expected {article} {cls.registry.kind}: a name, an object or a table with a name; got {value!r}"
            )
        member = cls.registry.get(str(value["name"]))
        return member(**{key: item for key, item in value.items() if key != "name"})  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any] | str) -> Self:
        if cls.name:
            plain = {} if isinstance(values, str) else {k: v for k, v in values.items() if k != "name"}
            return cls(**plain)
        try:
            return cls._from_family(values)
        except ConfigError:
            raise
        except ValueError as error:
            raise ConfigError(str(error)) from None

    def to_dict(self) -> dict[str, Any]:
        """Return the name and the settings as plain values."""
        return {"name": self.name, **super().to_dict()}

    @classmethod
    def _label(cls) -> str:
        return cls.name or cls.__name__


def register(name: str) -> Any:
    """Register a component class under ``name`` in the registry of its family.

    Examples:
        >>> import neuro_divergent as nd
        >>> @nd.register("upside_down")
        ... class UpsideDown(nd.augment.Augmentation):
        ...     def change(self, batch):
        ...         return batch._replace(past_y=-batch.past_y, future_y=-batch.future_y)
        >>> nd.TrainingConfig(augment="upside_down").augment
        (UpsideDown(),)
    """

    def decorate(member: C) -> C:
        member.name = name
        member.registry.add(name, member)
        return member

    return decorate


def knob(
    default: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    log: bool = False,
    choices: tuple[Any, ...] | None = None,
    unit: Literal["horizon"] | None = None,
    **limits: Any,
) -> Any:
    """Declare a field together with the range (or the ``choices``) that a search should try.

    ``log`` explores the range on a logarithmic scale. A range whose ``unit`` is the horizon is in multiples of it.
    ``limits`` are the values that are valid (pydantic's ``ge``, ``gt``, ``le``, ``lt``), often wider than the search
    range.

    Examples:
        >>> import neuro_divergent as nd
        >>> @nd.register("wider_mlp")
        ... class WiderMLP(nd.MLP):
        ...     factor: int = nd.knob(2, low=1, high=8, ge=1)
        >>> space = nd.search.Space.of("wider_mlp").to_dict()
        >>> space["model.factor"]
        {'low': 1, 'high': 8}
        >>> WiderMLP(factor=0)
        Traceback (most recent call last):
            ...
        neuro_divergent.core.errors.ConfigError: wider_mlp: factor: 0 must be greater than or equal to 1
    """
    search: dict[str, Any] = {"choices": list(choices)} if choices else {"low": low, "high": high, "log": log}
    search |= {"unit": unit} if unit else {}
    return Field(default, json_schema_extra={"search": search}, **limits)


def read_toml(source: str | Path) -> dict[str, Any]:
    """Parse a TOML file (``Path``) or document (``str``); errors name the place."""
    try:
        if isinstance(source, Path) and source.exists() and not (source.is_file() or source.is_dir()):
            raise ConfigError(f"{source}: is not a regular file")  # Opening a pipe would block.
        if isinstance(source, Path) and source.is_file() and source.stat().st_size > _LARGEST:
            raise ConfigError(f"{source}: {source.stat().st_size:,} bytes, settings have {_LARGEST:,} at most")
        text = source.read_text("utf-8") if isinstance(source, Path) else source
    except FileNotFoundError:
        raise ConfigError(f"{source}: not found") from None
    except IsADirectoryError:
        raise ConfigError(f"{source}: is a directory, expected a TOML file") from None
    except PermissionError:
        raise ConfigError(f"{source}: permission denied") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{source}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    except OSError as error:
        raise ConfigError(f"{source}: cannot be read: {error.strerror or error}") from None
    place = source if isinstance(source, Path) else "TOML"
    try:
        if _DEEP_KEY.search(text):
            raise RecursionError
        return tomllib.loads(text)
    except ValueError as error:  # A number of thousands of digits gives another one than tomllib's own.
        raise ConfigError(f"{place}: {error}") from None
    except RecursionError:
        raise ConfigError(f"{place}: nested too deeply") from None


def _plain(value: Any) -> Any:
    if value is None:
        return _NONE
    if isinstance(value, Config):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Path):
        return str(value)
    return value


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal; values that cannot be compared, such as arrays, are not."""
    try:
        return bool(one == other)
    except (RuntimeError, TypeError, ValueError):
        return False


def _facts(values: Mapping[str, Any]) -> html.Html:
    return html.facts((name, repr(value)) for name, value in values.items())


def _optional(field: FieldInfo) -> bool:
    """Whether ``None`` is a value of the field and ``"none"`` is not."""
    arguments = get_args(field.annotation)
    literals = [option for item in arguments if get_origin(item) is Literal for option in get_args(item)]
    return type(None) in arguments and _NONE not in literals


def _list(known: set[str]) -> str:
    return f" Known: {', '.join(sorted(known))}." if known else " It has none."


def _show(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:70]}..."


def _explain(cls: type[Config], error: ValidationError) -> str:
    """Return a one-line message with the invalid settings and the reasons."""
    whole: list[str] = []
    fields: dict[str, tuple[Any, list[str]]] = {}
    for item in error.errors():
        message = _SHORTER.get(item["type"], item["msg"].removeprefix("Value error, "))
        message = message.replace("Input should be", "must be")
        if not item["loc"]:
            whole.append(message)
            continue
        # A field that accepts several types reports one error for each: they are alternatives.
        place = str(item["loc"][0])
        shown = "" if item["type"] in {"missing", "value_error"} else f"{_show(item['input'])} "
        if item["type"] != "value_error":  # those are our own words, and may begin with a name
            message = message[0].lower() + message[1:]
        fields.setdefault(place, (shown, []))[1].append(message)
    for place, (shown, messages) in fields.items():
        reason = " or ".join(dict.fromkeys([messages[0], *(text.removeprefix("must be ") for text in messages[1:])]))
        whole.append(f"{cls._label()}: {place}: {shown}{reason}")
    return "; ".join(whole)
