"""The settings of a run as one document: data, model, task and training."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import field_validator, model_validator

from neuro_divergent.core.config import Component, Config
from neuro_divergent.core.errors import ConfigError, InputError, did_you_mean
from neuro_divergent.data.io.address import is_address, refuse_password
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting.task import Task
from neuro_divergent.models.base import Architecture
from neuro_divergent.training.callbacks.checkpointing import Checkpointing
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.nodes import Node


class DataConfig(Schema):
    """Where the table is, which column means what, and what to do where it is not clean.

    Attributes:
        path: File of any kind that is read, a glob of several, seen from the directory the command is run in, or the
            address of a database without a password; ``None`` for a table that is in memory.
    """

    path: str | None = None

    @field_validator("path")
    @classmethod
    def _without_password(cls, value: str | None) -> str | None:
        if value is not None and is_address(value):
            refuse_password(value)
        return value

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, the path first."""
        return {**({} if self.path is None else {"path": self.path}), **super().to_dict()}

    @property
    def schema_fields(self) -> Schema:
        """The roles and policies alone."""
        return Schema(**{name: getattr(self, name) for name in Schema.model_fields})


_SECTIONS: dict[str, type[Config]] = {
    "data": DataConfig,
    "task": Task,
    "training": TrainingConfig,
    "checkpoints": Checkpointing,
}
_EVERY_MINUTE = Checkpointing(every_epochs=None, every_seconds=60)


class RunConfig(Config):
    """All settings of a training run.

    The model is held as plain values and only its name is checked, because anything more would load torch: a mistake in
    the rest should be reported before that. ``architecture`` builds and so checks it.

    Attributes:
        data: The table.
        model: Name and settings of the architecture.
        task: What to forecast.
        training: How to train; ``preset`` names what the given settings are changes of.
        checkpoints: When the state of training is saved, and which of them are kept; in the directory of the run unless
            another place is named.
        teacher: Run or model directory of a trained model to learn from.
        nodes: Machines that train together, for ``nd launch``; without effect on what is trained.
    """

    data: DataConfig
    model: dict[str, Any] = {"name": "nhits"}  # noqa: RUF012
    task: Task
    training: TrainingConfig = TrainingConfig()
    checkpoints: Checkpointing = _EVERY_MINUTE
    teacher: str | None = None
    nodes: tuple[Node, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _sections(cls, values: Any) -> Any:
        """Make each section by itself, so that a message names the section and the setting."""
        if not isinstance(values, Mapping):
            return values
        made = dict(values)
        if isinstance(made.get("checkpoints"), Mapping):
            made["checkpoints"] = {**_EVERY_MINUTE.to_dict(), **made["checkpoints"]}
        for name, section in _SECTIONS.items():
            if isinstance(made.get(name), Mapping):
                made[name] = section.from_dict(made[name])
        return made

    @field_validator("model", mode="before")
    @classmethod
    def _known_model(cls, value: Any) -> Any:
        if isinstance(value, Architecture):
            return value.to_dict()
        if isinstance(value, str):
            value = {"name": value}
        if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
            raise ValueError("needs a name; 'nd models' lists them")
        _refuse_statistical(value["name"])
        return {**value, "name": Architecture.registry.check(value["name"])}

    @property
    def architecture(self) -> Architecture:
        """The architecture; building it loads torch and checks its settings."""
        return Architecture.from_dict(self.model)

    def resolve_training(self) -> RunConfig:
        """Return the same run with recommended settings of training replaced by those of the architecture's family.

        This loads torch.
        """
        if not self.training.recommended:
            return self
        return self.replace(training=self.training.for_family(self.architecture.traits.family))

    def resolve_model(self) -> RunConfig:
        """Return the same run with every setting of the model written out."""
        return self.replace(model=self.architecture)


def _refuse_statistical(name: str) -> None:
    if name in Architecture.registry.names():
        return
    from neuro_divergent.forecasting.statistical.methods.base import StatisticalMethod  # which loads polars

    if name in StatisticalMethod.registry.names():
        raise ValueError(
            f"{name!r} is a statistical model, which no run trains; nd.Statistical({name!r}, horizon=...) forecasts "
            "with it"
        )


def override(values: dict[str, Any], key: str, value: Any) -> None:
    """Set one setting of a run, still in plain values, by its dotted name.

    Settings of a component keep the component, given or default: ``training.optimizer.lr`` changes the learning rate
    alone. Naming another component, as in ``training.optimizer`` or ``model``, replaces it and its settings.

    Args:
        values: The sections, changed in place.
        key: Such as ``model``, ``task.horizon``, ``model.hidden_size`` or ``training.optimizer.lr``.
        value: A plain value; ``"none"`` for nothing.
    """
    path = key.split(".")
    if not all(path) or (len(path) == 1 and key not in ("model", "teacher")):
        raise InputError(f"{key!r} is not a setting; write section.name=value, such as training.max_steps=500.")
    table = values
    for depth, part in enumerate(path[:-1], 1):
        inner = table.get(part, _named_default(*path[:depth]))
        if isinstance(inner, str):
            inner = {"name": inner}
        if not isinstance(inner, Mapping):
            raise InputError(f"{key}: {'.'.join(path[:depth])} is {inner!r}, which has no settings.")
        table[part] = table = dict(inner)
    present = table.get(path[-1])
    if not (isinstance(present, Mapping) and present.get("name") == value):
        table[path[-1]] = value


_FORECASTER = ("model", "task", "training")


def change_settings(
    architecture: Architecture, task: Task, training: TrainingConfig, changes: Mapping[str, Any]
) -> tuple[Architecture, Task, TrainingConfig]:
    """Return what a forecaster is made from with some settings changed.

    Args:
        architecture: The architecture.
        task: The task.
        training: How it is trained.
        changes: Values by dotted name, as for ``override``: plain ones, or objects such as a loss.

    Raises:
        ConfigError: If there is no such setting, with the closest that there is, or if a value is not valid.
    """
    values = {"model": architecture.to_dict(), "task": task.to_dict(), "training": training.to_dict()}
    named = set()
    for key, value in changes.items():
        section = str(key).partition(".")[0]
        if section not in _FORECASTER:
            hint = did_you_mean(section, _FORECASTER)
            raise ConfigError(f"unknown setting {key!r}.{hint} Settings are model, model.*, task.* and training.*.")
        override(values, key, _plain_setting(value))
        named.add(section)
    return (
        Architecture.from_dict(values["model"]) if "model" in named else architecture,
        Task.from_dict(values["task"]) if "task" in named else task,
        TrainingConfig.from_dict(values["training"]) if "training" in named else training,
    )


def own_settings(
    changes: Mapping[str, Any], prefix: str, known: Iterable[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split changes into those of a model that wraps others, without their prefix, and the rest.

    Raises:
        ConfigError: If the wrapping model has no such setting, with the closest that it has.
    """
    begin = f"{prefix}."
    own = {key[len(begin) :]: value for key, value in changes.items() if key.startswith(begin)}
    for key in own:
        if key not in known:
            raise ConfigError(f"unknown setting {prefix}.{key!s}.{did_you_mean(key, known)}")
    return own, {key: value for key, value in changes.items() if not key.startswith(begin)}


def _plain_setting(value: Any) -> Any:
    if value is None:
        return "none"
    return value.to_dict() if isinstance(value, Config) else value


def parse_setting(text: str) -> tuple[str, Any]:
    """Read ``section.name=value``; the value is what it would be in TOML, or else the text itself."""
    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"{text!r} is not a setting; write section.name=value, such as training.max_steps=500.")
    return key.strip(), parse_value(value.strip())


def parse_value(text: str) -> Any:
    """Read a value as TOML does (numbers, true, lists, quoted text), or else as plain text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _named_default(section: str, *path: str) -> dict[str, Any]:
    """Return what to start from when settings are given to something that was not named: its default, by name."""
    if section == "model" and not path:
        return dict(RunConfig.model_fields["model"].default)
    owner = _SECTIONS.get(section)
    if owner is None or len(path) != 1 or path[0] not in owner.model_fields:
        return {}
    default = owner.model_fields[path[0]].default
    return {"name": default.name} if isinstance(default, Component) else {}
