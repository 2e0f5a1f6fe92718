"""The settings of continuous training."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from neuro_divergent.core.config import Config, read_toml
from neuro_divergent.core.errors import ConfigError, did_you_mean
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.lifecycle.continuous.hooks import Hooks
from neuro_divergent.lifecycle.continuous.sources.base import Source
from neuro_divergent.lifecycle.promotion.gate import Gate
from neuro_divergent.lifecycle.promotion.shadow_test import ShadowTest

if TYPE_CHECKING:
    from pathlib import Path

Count = Annotated[int, Field(ge=1)]
_RUN = ("data", "model", "task", "training")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_DURATION = re.compile(r"(\d+)\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Triggers(Config):
    """When a challenger is trained.

    Attributes:
        drift: Probability per year of an alarm although nothing has changed; unset, drift is not looked for.
        degradation: By which fraction the errors must have grown since the back-test at registration, significantly, to
            train; unset, that is not looked for.
        every_rows: Rows of new data after which to train in any case; unset, never.
        every: Time by the clock after which to train in any case if there are new data, such as ``"7d"``; unset, never.
        look_every: New rows between two tests for drift and degradation; unset, a horizon.
        cool_down: New rows after a training during which drift, degradation and intervals start no other one; unset, a
            horizon. It doubles with every training in a row that was rejected.
        window: Newest forecasts, each of a horizon, that a test compares with the back-test.
    """

    drift: Annotated[float, Field(gt=0, lt=1)] | None = 0.05
    degradation: Annotated[float, Field(gt=0)] | None = 0.1
    every_rows: Count | None = None
    every: str | None = None
    look_every: Count | None = None
    cool_down: Annotated[int, Field(ge=0)] | None = None
    window: Annotated[int, Field(ge=4)] = 8

    @field_validator("every")
    @classmethod
    def _readable(cls, value: str | None) -> str | None:
        if value is not None:
            parse_duration(value)
        return value


class Updates(Config):
    """How a challenger is trained.

    Attributes:
        incremental: Whether training starts from the weights of the champion.
        full_every: Every which training starts from random weights all the same.
        steps: Steps of a training that starts from the champion.
        replay: Windows from before the new rows, as a fraction of all that such a training draws.
        replay_after_change: The same where errors have changed, since windows from before the change teach what was.
        lr_factor: What the learning rate of the recipe is multiplied by in such a training, unless errors have changed:
            then rate and steps are those of a training from random weights.
        hold_out: Newest rows that are held out for the gate; unset, a third of the rows that the champion was not
            trained on, or half of those since errors have changed; 2 to 16 horizons.
        max_rows: Newest rows of each series to train on; unset, all.
    """

    incremental: bool = True
    full_every: Count = 4
    steps: Count = 200
    replay: Annotated[float, Field(ge=0, lt=1)] = 0.5
    replay_after_change: Annotated[float, Field(ge=0, lt=1)] = 0.2
    lr_factor: Annotated[float, Field(gt=0)] = 0.3
    hold_out: Count | None = None
    max_rows: Count | None = None


class Arrivals(Config):
    """What to do with rows that come late or change.

    Attributes:
        lateness: Newest rows, counted from the latest time of all series, that are not used yet, because others of the
            same time may still come or change.
        reopen: Fraction of the rows scored so far that must have been revised for the comparison of champion and
            challenger to begin again with the revised values.
    """

    lateness: Annotated[int, Field(ge=0)] = 0
    reopen: Annotated[float, Field(gt=0, le=1)] = 0.02


class ContinuousConfig(Config):
    """All settings of continuous training.

    Attributes:
        name: Name of the model in the registry.
        registry: The registry, as ``nd.Registry`` takes it.
        blobs: Where the registry keeps files, if not beside it.
        source: Where rows come from.
        run: Columns, model, task and training: what ``nd train`` has in a file.
        triggers: When a challenger is trained.
        updates: How it is trained.
        arrivals: What to do with late and revised rows.
        gate: What a challenger must show on held-out rows.
        shadow: How it is compared with the champion afterwards.
        groups: Group of each series, none of which a challenger may make much worse.
        hooks: Who learns of decisions.

    Examples:
        >>> import neuro_divergent as nd
        >>> config = nd.lifecycle.ContinuousConfig.from_dict(
        ...     {"name": "load", "source": {"name": "files", "path": "meters/*.parquet"}, "task": {"horizon": 24}}
        ... )
        >>> config.triggers.drift, config.updates.incremental, config.gate.rule
        (0.05, True, 'no_worse')
        >>> config.replace(triggers={"every": "7d"}).triggers.every
        '7d'
    """

    name: str
    registry: str = "models"
    blobs: str | None = None
    source: Source
    run: RunConfig
    triggers: Triggers = Triggers()
    updates: Updates = Updates()
    arrivals: Arrivals = Arrivals()
    gate: Gate = Gate()
    shadow: ShadowTest = ShadowTest()
    groups: dict[str, str] = {}  # noqa: RUF012
    hooks: Hooks = Hooks()

    @field_validator("name")
    @classmethod
    def _usable(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError(f"{value!r}: use letters, digits, dots, dashes and underscores, 100 at most")
        return value

    @model_validator(mode="after")
    def _has_no_path(self) -> Self:
        if self.run.data.path is not None:
            raise ValueError('data.path: rows come from [source]; write name = "files" and the path there')
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, by section."""
        values, run = super().to_dict(), self.run.to_dict()
        del values["run"]
        return {**values, **{name: run[name] for name in _RUN if name in run}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        rest = dict(values)
        run = {name: rest.pop(name) for name in _RUN if name in rest}
        if "task" not in run:
            raise ConfigError("task: is missing; write [task] with horizon = 24, for example.")
        known = {*cls.model_fields, *_RUN} - {"run"}
        if strange := [name for name in rest if name not in known]:
            raise ConfigError(f"unknown section {strange[0]!r}.{did_you_mean(strange[0], known)}")
        return super().from_dict({**rest, "run": RunConfig.from_dict({"data": {}, **run})})

    @classmethod
    def from_toml(cls, source: str | Path) -> Self:
        """Read settings from a TOML file (``Path``) or document (``str``)."""
        return cls.from_dict(read_toml(source))


def parse_duration(text: str) -> timedelta:
    """Read a duration such as ``"90s"``, ``"15m"``, ``"6h"``, ``"7d"`` or ``"2w"``.

    Raises:
        ConfigError: If it is none.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None or not int(match[1]):
        raise ConfigError(f"{text!r} is not a duration; write a number and s, m, h, d or w, such as '6h' or '7d'.")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
