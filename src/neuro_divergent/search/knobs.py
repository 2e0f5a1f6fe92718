"""Search ranges that stand beside the fields of config classes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_args

from pydantic.fields import FieldInfo

from neuro_divergent.core.config import Component, Config
from neuro_divergent.search.dimension import Dimension, dimension_of
from neuro_divergent.search.parameter import Parameter


def knob_of(field: FieldInfo) -> Dimension | None:
    """Return what a search should try for a field, if anything."""
    extra = field.json_schema_extra
    search = extra.get("search") if isinstance(extra, dict) else None
    if not isinstance(search, dict):
        return None
    choices = search.get("choices")
    return dimension_of(search if choices is None else choices)


def family_of(field: FieldInfo) -> type[Component] | None:
    """Return the family of components that a field holds one of, if it does."""
    for item in (field.annotation, *get_args(field.annotation)):
        if inspect.isclass(item) and issubclass(item, Component):
            return item
    return None


def parameters_of(config: Config, prefix: str, only: tuple[str, ...] = ()) -> Iterator[Parameter]:
    """Yield the parameters of a config: its knobs, and those of the components that a knob chooses from.

    A setting that differs from its default was chosen by somebody and is not searched; if it is a component, its own
    settings are.
    """
    for name, field in type(config).model_fields.items():
        dimension, value, setting = knob_of(field), getattr(config, name), f"{prefix}.{name}"
        if dimension is None:
            continue
        family, is_given = family_of(field), value != field.get_default()
        if not is_given:
            yield Parameter(setting, dimension, only)
        if family is None:
            continue
        members = [value.name] if is_given and isinstance(value, Component) else [] if is_given else dimension.grid()
        for member in members:
            if member != "none":
                component = (
                    value if isinstance(value, Component) and value.name == member else family.registry.get(member)()
                )
                yield from parameters_of(component, setting, () if is_given else (member,))


def same_for_all(parameters: list[Parameter]) -> list[Parameter]:
    """Join parameters of several components that are alike into one."""
    joined: dict[tuple[str, str], Parameter] = {}
    for item in parameters:
        place = (item.setting, str(item.dimension.to_plain()))
        before = joined.get(place)
        only = item.only if before is None else tuple(sorted({*before.only, *item.only}))
        joined[place] = Parameter(item.setting, item.dimension, only)
    return list(joined.values())


def default_for(setting: str, config: Any) -> Any:
    """Return the value of a setting by its dotted name; ``None`` where there is none."""
    value = config
    for part in setting.split("."):
        value = value.get(part) if isinstance(value, dict) else getattr(value, part, None)
    return value
