"""The settings that an ensemble is made from, and those of each member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.data.schema import Schema
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.task import Task
from neuro_divergent.models.base import Architecture
from neuro_divergent.training.callbacks.checkpointing import Checkpointing
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.schedules.chain import Chain


class MemberPlan(Config):
    """What one member is made from.

    Attributes:
        model: Name and settings of the architecture.
        task: What it forecasts.
        training: How it is trained.
    """

    model: dict[str, Any]
    task: Task
    training: TrainingConfig

    @classmethod
    def of(cls, forecaster: Forecaster) -> MemberPlan:
        """Write down a forecaster, as it was before training."""
        return cls(model=forecaster.architecture.to_dict(), task=forecaster._task, training=forecaster.training)

    def forecaster(self, *, training: TrainingConfig | None = None, **task: Any) -> Forecaster:
        """Return a new forecaster, with other training or some fields of the task changed."""
        own = self.task.replace(**task)
        return Forecaster(Architecture.from_dict(self.model), training=training or self.training, **dict(own))


class EnsemblePlan(Config):
    """What an ensemble is made from.

    Attributes:
        members: What each member is made from; one alone where the others are snapshots of its training.
        combine: How forecasts become one.
        weights: Weight of each member.
        snapshots: Members to take from one training; ``None`` where each is trained by itself.
        path: The file of the data, if it was one.
        table: Columns and policies of the data.
        checkpoints: When the state of training is saved.
    """

    members: tuple[MemberPlan, ...]
    combine: str
    weights: str | tuple[float, ...] | None = None
    snapshots: int | None = None
    path: str | None = None
    table: Schema
    checkpoints: Checkpointing | None = None

    def with_settings(self, changes: Mapping[str, Any]) -> EnsemblePlan:
        """Return the plan with settings of members changed, of all that have them.

        Raises:
            ConfigError: If no member has such a setting, or if a value is not valid.
        """
        members = [member.forecaster() for member in self.members]
        # A setting that no member has goes to all, to be refused by the first.
        taken = {key: [member for member in members if _has_setting(member, key)] or members for key in changes}
        changed = [
            member.with_settings({key: value for key, value in changes.items() if member in taken[key]})
            for member in members
        ]
        if self.snapshots is not None and not isinstance(changed[0].training.schedule, Chain):
            raise ConfigError("training.schedule: snapshots are taken from the cycles of a chain; leave it as it is.")
        return self.replace(members=tuple(MemberPlan.of(member) for member in changed))


def check_members(members: Sequence[Any]) -> None:
    """Refuse members that cannot be one ensemble: none, other things than forecasters, or different horizons."""
    if not members:
        raise ConfigError("an ensemble has at least one member.")
    for place, member in enumerate(members, 1):
        if not isinstance(member, Forecaster):
            raise ConfigError(f"member {place} is {type(member).__name__}; members are forecasters.")
        if member.task.horizon != members[0].task.horizon:
            raise ConfigError(
                f"member {place} forecasts {member.task.horizon} steps, the first one {members[0].task.horizon}; they "
                "must agree."
            )


def _has_setting(member: Forecaster, key: str) -> bool:
    """Whether a member can take a setting: all but those of another architecture."""
    section, _, rest = key.partition(".")
    name = rest.partition(".")[0]
    return section != "model" or name in ("", "name") or name in type(member.architecture).model_fields
