"""One parameter of a search space: a setting, what may be tried for it, and when it exists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.search.dimension import Dimension

Point = dict[str, Any]
"""A plain value for each setting that is searched, by dotted name."""

_SECTIONS = ("model", "task", "training")


@dataclass(frozen=True)
class Parameter:
    """A setting that is searched.

    Attributes:
        setting: Its dotted name, such as ``training.optimizer.lr``.
        dimension: What may be tried.
        only: Names of the components that it belongs to, such as ``("adamw",)``; none for all that are chosen from.
    """

    setting: str
    dimension: Dimension
    only: tuple[str, ...] = ()

    @property
    def parent(self) -> str:
        """The setting that names the component it belongs to: ``training.optimizer`` for its rate."""
        return self.setting.rpartition(".")[0]

    @property
    def key(self) -> str:
        """Its name in the study: the setting, and after ``@`` the components it belongs to."""
        return f"{self.setting}@{'+'.join(self.only)}" if self.only else self.setting

    @property
    def label(self) -> str:
        """Its name for people: the setting, and in brackets the components it belongs to."""
        return f"{self.setting} ({', '.join(self.only)})" if self.only else self.setting

    def is_active(self, point: Mapping[str, Any]) -> bool:
        """Whether it exists, given the values of the parameters before it."""
        return not self.only or self.parent not in point or component_name(point[self.parent]) in self.only


def parse_key(key: str) -> tuple[str, tuple[str, ...]]:
    """Split a key into the setting and the components it belongs to.

    ``model.pooling@nhits`` and ``nhits.pooling`` mean the same.

    Raises:
        ConfigError: If it is no setting of a model, a task or a training.
    """
    setting, _, only = key.partition("@")
    section = setting.partition(".")[0]
    components = tuple(sorted(filter(None, only.split("+"))))
    if section not in _SECTIONS:
        from neuro_divergent.models.base import Architecture

        if "." not in setting or section not in Architecture.registry.names() or components:
            hint = "Settings are model, model.*, task.*, training.* and those of one model, such as nhits.pooling"
            raise ConfigError(f"unknown setting {key!r}. {hint}.")
        return f"model.{setting.partition('.')[2]}", (section,)
    if setting != "model" and ("." not in setting or not all(setting.split("."))):
        raise ConfigError(f"unknown setting {key!r}. Write a name after the section, such as task.input_size.")
    return setting, components


def component_name(value: Any) -> str:
    """Return the name of a component that is given by its name or as a table."""
    return str(value["name"] if isinstance(value, Mapping) else value)
