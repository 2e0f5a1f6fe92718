"""A run as a commented TOML document, generated from the config classes."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from neuro_divergent.core.config import Component, Config
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting.run_config import DataConfig, RunConfig
from neuro_divergent.forecasting.task import Task
from neuro_divergent.models.base import Architecture
from neuro_divergent.training.config import TrainingConfig

_HEAD = """\
# A training run of Neuro-Divergent. Train it with:  nd train {name}
# Settings behind a '#' show their default: take the '#' away to change one.
"""
_WIDTH = 110


def write_document(name: str, *, path: str, horizon: int, architecture: Architecture) -> str:
    """Return the document of a run of an architecture on the table at a path; its example names the file ``name``."""
    checkpoints = RunConfig.model_fields["checkpoints"].default
    sections = [
        _section("data", DataConfig, {"path": path}),
        _component("model", architecture, "The network.", Architecture),
        _section("task", Task, {"horizon": horizon}),
        _section("training", TrainingConfig, {}),
        _component("checkpoints", checkpoints, "Checkpoints that a run can resume from.", None),
    ]
    return "\n".join([_HEAD.format(name=name), *(line for section in sections for line in section)])


def describe_fields(cls: type[Config]) -> dict[str, str]:
    """Return what the docstrings of a config class say about each of its fields."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not issubclass(base, Config):
            continue
        _, _, rest = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")
        attributes = re.split(r"^(?=\S)", rest, maxsplit=1, flags=re.MULTILINE)[0]  # up to the next section
        for name, text in re.findall(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", attributes, re.MULTILINE):
            found[name] = _plain(text)
    return found


def choices(annotation: Any) -> list[str]:
    """Return the names that a field accepts: its literals and the names of the components it may hold."""
    if get_origin(annotation) is Literal:
        return [str(option) for option in get_args(annotation)]
    if inspect.isclass(annotation) and issubclass(annotation, Component):
        return [] if annotation.name else annotation.registry.names()  # a member of a family has no other names
    return list(dict.fromkeys(word for item in get_args(annotation) for word in choices(item)))


def _section(title: str, cls: type[Config], given: dict[str, Any]) -> Iterator[str]:
    """Write the settings of a section, those that must be given first, then tables for those that have settings."""
    yield from _comment(_summary(cls))
    yield f"[{title}]"
    described = describe_fields(cls)
    own = {name: field for name, field in cls.model_fields.items() if not isinstance(field.default, Config)}
    for name in sorted(own, key=lambda name: (name not in given, name in Schema.model_fields)):
        yield from _comment(described.get(name, ""), choices(own[name].annotation))
        yield f"{name} = {_value(given[name])}" if name in given else f"#{name} = {_value(own[name].default)}"
    yield ""
    for name, field in cls.model_fields.items():
        if isinstance(field.default, Config):
            yield from _component(f"{title}.{name}", field.default, described.get(name, ""), field.annotation)


def _component(title: str, config: Config, text: str, annotation: Any) -> Iterator[str]:
    """Write a table for something that has settings of its own."""
    yield from _comment(text, choices(annotation))
    yield f"[{title}]"
    cls = type(config)
    if isinstance(config, Component):
        yield f"name = {_value(config.name)}  # {_summary(cls)}"
    described = describe_fields(cls)
    for name, field in cls.model_fields.items():
        yield from _comment(described.get(name, ""), choices(field.annotation))
        yield f"#{name} = {_value(getattr(config, name))}"
    yield ""


def _summary(cls: type[Config]) -> str:
    return _plain(inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0])


def _comment(text: str, names: list[str] | None = None) -> Iterator[str]:
    options = [word for word in names or [] if f'"{word}"' not in text]
    if options:
        text = f"{text} One of: {', '.join(options)}." if len(options) > 1 else f"{text} Or {options[0]!r}."
    for line in textwrap.wrap(text.strip(), _WIDTH):
        yield f"# {line}"


def _plain(text: str) -> str:
    """Take line breaks and the marks of code out of a docstring, and write its values as TOML does."""
    text = re.sub(r"\((\".*?\"),?\)", r"[\1]", " ".join(text.split()))
    return text.replace("``None``", '"none"').replace("``", "")


def _value(value: Any) -> str:
    """Write a value on one line; what JSON writes for text, numbers, truth and lists is TOML too."""
    if value is None:
        return '"none"'
    return json.dumps(value.to_dict() if isinstance(value, Config) else value, ensure_ascii=False)
