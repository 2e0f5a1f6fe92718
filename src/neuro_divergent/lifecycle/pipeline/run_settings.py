"""Settings of a training inside a stage: model, task and training, and what a search has found."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar

from pydantic import Field, field_validator

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting.run_config import DataConfig, RunConfig, override
from neuro_divergent.lifecycle.pipeline.stage import Stage

SECTIONS = ("model", "task", "training")


class TrainingStage(Stage):
    """A stage that trains models.

    Attributes:
        model: Name of an architecture, or a table with its name and settings.
        task: Fields of ``Task``: ``horizon`` (required), ``input_size``, ``loss``, ``validation``, ``test`` and so on.
        training: Fields of ``TrainingConfig``, and ``preset`` for the name of one.
    """

    sections: ClassVar[tuple[str, ...]] = SECTIONS

    model: dict[str, Any] = Field(default_factory=dict)
    task: dict[str, Any] = Field(default_factory=dict)
    training: dict[str, Any] = Field(default_factory=dict)

    @field_validator("model", "task", "training", mode="before")
    @classmethod
    def _as_table(cls, value: Any) -> Any:
        """Accept an object, or a name."""
        if isinstance(value, Config):
            return value.to_dict()
        return {"name": value} if isinstance(value, str) else value

    def check(self, inputs: Collection[str]) -> None:
        # What a search finds is not known yet, but a part of it.
        found = {"task": {"horizon": 1}} if "settings" in inputs and "horizon" not in self.task else None
        _ = self.run_config(Schema(), found).architecture

    def run_config(self, schema: Schema, found: Mapping[str, Any] | None = None) -> RunConfig:
        """Return all settings of a run; what this stage says goes before what a search has found.

        Raises:
            ConfigError: If a setting is missing or not valid.
        """
        values: dict[str, Any] = {name: dict((found or {}).get(name) or {}) for name in self.sections}
        for section in self.sections:
            for key, value in _leaves(getattr(self, section)):
                if key == "name" and section == "model":
                    override(values, "model", value)
                else:
                    override(values, f"{section}.{key}", value)
        if "horizon" not in values["task"]:
            raise ConfigError("task: horizon is needed: how many steps to forecast, as in task = { horizon = 24 }.")
        if not values["model"]:
            del values["model"]
        return RunConfig.from_dict({**values, "data": DataConfig(**dict(schema)).to_dict()})


def _leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield settings by dotted name; a component is its name, then its settings."""
    names = [key for key in table if key == "name"]
    for key in (*names, *(key for key in table if key != "name")):
        value = table[key]
        if isinstance(value, Mapping):
            if "name" in value:
                yield f"{prefix}{key}", value["name"]
            rest = {inner: item for inner, item in value.items() if inner != "name"}
            yield from _leaves(rest, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
