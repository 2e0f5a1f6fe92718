"""All settings of a study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.evaluation.splitters.base import Splitter
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.search.methods.base import Method
from neuro_divergent.search.methods.tpe import TPE
from neuro_divergent.search.objective import RESOURCES, Objective, metric_of
from neuro_divergent.search.pruners.base import Pruner
from neuro_divergent.search.pruners.median import MedianPruner

_SCHEMES = ("journal", "sqlite", "postgresql")


class StudyConfig(Config):
    """What a study searches, and how.

    Attributes:
        run: Settings of a run; those of the space are put in place of its own in each trial.
        space: What may be tried, as ``Space.to_dict`` returns it.
        objectives: What to make small or large; the first decides where trials are listed in order. Unset, MASE, in
            which all series count alike; a study of series without a naive error takes the mean absolute error.
        constraints: Largest values of metrics or resources that a trial may have to be the best.
        splitter: Folds for cross-validation; unset, the validation part of the task scores a trial.
        seeds: Trainings of a trial with different seeds, of which the mean counts.
        method: How points are proposed.
        pruner: When a trial is ended early; ``None`` for never. Several objectives have none.
        seed: Seed of the proposals.
        storage: Where trials are recorded: ``journal`` (a file in the directory of the study), ``sqlite`` (likewise) or
            an address such as ``postgresql://user@host/database``. Passwords come from ``PGPASSWORD`` or ``.pgpass``.
        keep: How many models to keep: those of so many of the best trials, of the ``best`` one, or of ``all``. With
            several objectives those of the Pareto front are kept. Settings, histories and scores of all trials stay.
    """

    run: RunConfig
    space: dict[str, Any]
    objectives: tuple[Objective, ...] = (Objective(name="mase"),)
    constraints: dict[str, float] = Field(default_factory=dict)
    splitter: Splitter | None = None
    seeds: int = Field(default=1, ge=1)
    method: Method = TPE()
    pruner: Pruner | None = MedianPruner()
    seed: int = Field(default=1, ge=0)
    storage: str = "journal"
    keep: Literal["all", "best"] | Annotated[int, Field(ge=1)] = 5

    @model_validator(mode="before")
    @classmethod
    def _read(cls, values: Any) -> Any:
        """Read the run by itself, so that a message names its section; several objectives have no pruner."""
        if not isinstance(values, Mapping):
            return values
        made = dict(values)
        if isinstance(made.get("run"), Mapping):
            made["run"] = RunConfig.from_dict(made["run"])
        goals = made.get("objectives", ())
        goals = [goals] if isinstance(goals, (str, Mapping, Objective)) else list(goals)
        if goals:
            made["objectives"] = [_objective(goal) for goal in goals]
        if len(goals) > 1:
            made.setdefault("pruner", None)
        return made

    @field_validator("constraints")
    @classmethod
    def _known(cls, value: dict[str, float]) -> dict[str, float]:
        for name in value:
            metric_of(name)
        return value

    @field_validator("storage")
    @classmethod
    def _is_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if (parts.scheme or value).partition("+")[0] not in _SCHEMES:
            raise ValueError(f"{value!r} must be journal, sqlite or postgresql://user@host/database")
        if parts.password:
            raise ValueError("leave the password out of the address; set PGPASSWORD, or write it to ~/.pgpass")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> StudyConfig:
        names = [goal.name for goal in self.objectives]
        if len(set(names)) < len(names):
            raise ValueError("objectives: each may be named once")
        if len(names) > 1 and self.pruner is not None:
            raise ValueError(
                "pruner: none works with several objectives; leave it out, or make all but one a constraint"
            )
        if self.pruner is not None and self.pruner.by_instance and self.splitter is None and self.seeds == 1:
            raise ValueError(
                f"pruner: {self.pruner.name} compares folds or seeds, and a trial has one; pass a splitter, or seeds"
            )
        if not self.run.task.validation and self.splitter is None:
            raise ValueError("task: nothing is held out to score trials on; set validation, or pass a splitter")
        return self

    @property
    def metrics(self) -> list[str]:
        """Names of all metrics that are objectives or constraints."""
        named = [*(goal.name for goal in self.objectives), *self.constraints]
        return list(dict.fromkeys(name for name in named if name not in RESOURCES))


def _objective(value: Any) -> Objective:
    if isinstance(value, Objective):
        return value
    try:
        return Objective.from_dict({"name": value} if isinstance(value, str) else value)
    except ConfigError as error:
        raise ValueError(f"objectives: {error}") from None
