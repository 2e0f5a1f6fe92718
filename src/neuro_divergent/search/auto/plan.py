"""The result of a search as settings that reproduce it without the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from pydantic import Field, model_validator

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.core.config import Config
from neuro_divergent.data.panel import Panel
from neuro_divergent.search.auto.candidate import Candidate, Setting
from neuro_divergent.search.auto.groups import GROUPS, SeriesTraits

_CLOSE = 1e-6


class PlannedMember(Candidate):
    """A member of a combination.

    Attributes:
        weight: How much it counts; the weights of all members add up to 1.
        group_weights: Its weight in groups of series that have weights of their own.
        steps: Steps of training of a network; 0 for others.
        history: Rows of history of a network; 0 for others.
    """

    weight: float = Field(ge=0, le=1)
    group_weights: dict[str, float] = Field(default_factory=dict)
    steps: int = Field(default=0, ge=0)
    history: int = Field(default=0, ge=0)

    @property
    def candidate(self) -> Candidate:
        """The candidate alone."""
        return Candidate(name=self.name, kind=self.kind, model=self.model, settings=self.settings)


class Plan(Config):
    """A combination of models: what to fit, and how much each counts.

    Attributes:
        setting: What all members share.
        members: The models and their weights.
        backs: Cut-offs of the back-tests that intervals are made from, as rows from the end of a series.
        judged: Series at most that the back-tests use; a sample where there are more.
        history: Rows that the spread of a series is measured over, for intervals.
    """

    setting: Setting
    members: tuple[PlannedMember, ...] = Field(min_length=1)
    backs: tuple[int, ...] = ()
    judged: int = Field(default=1000, ge=1)
    history: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _weights_add_up(self) -> Self:
        names = [member.name for member in self.members]
        if len(set(names)) < len(names):
            raise ValueError("members: names must differ")
        groups = {group for member in self.members for group in member.group_weights}
        unknown = sorted(groups - set(GROUPS))
        if unknown:
            raise ValueError(f"group_weights: {unknown[0]!r} is not a group; groups are {', '.join(GROUPS)}")
        totals = {"weight": sum(member.weight for member in self.members)}
        totals |= {group: sum(member.group_weights.get(group, 0.0) for member in self.members) for group in groups}
        for what, total in totals.items():
            if abs(total - 1) > _CLOSE:
                raise ValueError(f"members: the weights ({what}) add up to {total:g}, not to 1")
        return self

    def weights(self, groups: Ints) -> Floats:
        """Return the weight of each member for series of some groups, ``(members, series)``."""
        result = np.repeat(np.array([member.weight for member in self.members])[:, None], len(groups), axis=1)
        for place, name in enumerate(GROUPS):
            own = [member.group_weights.get(name) for member in self.members]
            if any(weight is not None for weight in own):
                result[:, groups == place] = np.array([weight or 0.0 for weight in own])[:, None]
        return result

    def groups_of(self, panel: Panel, ends: Ints) -> Ints:
        """Return the group of each series of a panel by its rows before some; one group where weights do not differ."""
        if not any(member.group_weights for member in self.members):
            return np.zeros(panel.num_series, np.int64)
        series, setting = np.arange(panel.num_series), self.setting
        return SeriesTraits.of(panel, series, ends, horizon=setting.horizon, season=setting.season).groups

    def with_seeds(self, seeds: Mapping[str, Sequence[Candidate]]) -> Plan:
        """Return the plan with members that share the weight of another one: the same network with other seeds."""
        members: list[PlannedMember] = []
        for member in self.members:
            others = seeds.get(member.name, ())
            count = 1 + len(others)
            own = {group: weight / count for group, weight in member.group_weights.items()}
            shared = member.replace(weight=member.weight / count, group_weights=own)
            members += [shared, *(shared.replace(name=item.name, settings=item.settings) for item in others)]
        return self.replace(members=tuple(members))

    def without(self, names: set[str]) -> Plan:
        """Return the plan without some members; the others take their weight."""
        kept = [member for member in self.members if member.name not in names]
        groups = {group for member in self.members for group in member.group_weights}

        def shared(values: list[float]) -> list[float]:
            total = sum(values)
            return [value / total for value in values] if total > 0 else [1 / len(values)] * len(values)

        weights = shared([member.weight for member in kept])
        own = {group: shared([member.group_weights.get(group, 0.0) for member in kept]) for group in sorted(groups)}
        members: list[Any] = [
            member.replace(weight=weight, group_weights={group: own[group][place] for group in own})
            for place, (member, weight) in enumerate(zip(kept, weights, strict=True))
        ]
        return self.replace(members=tuple(members))
