"""A learning rate that falls when the validation loss no longer does."""

from __future__ import annotations

import math
from typing import Any

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.schedules.base import Plan, Schedule, ScheduleState


@register("plateau")
class Plateau(Schedule):
    """Multiplies the rate by ``gamma`` when more than ``patience`` validations in a row did not improve.

    It watches the validation loss, so it needs a validation part; without one the rate stays.

    Attributes:
        gamma: Factor of each fall.
        patience: Validations without improvement to bear; the next one makes the rate fall.
        threshold: Fraction of the best loss by which a loss must be lower to count as improvement.
        cooldown: Validations after a fall that do not count.
        min_lr: Rate below which it does not fall.

    Examples:
        The second validation in a row without improvement is one too many:

        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> state = nd.schedules.Plateau(gamma=0.5, patience=1).begin(plan)
        >>> for loss in (1.0, 0.8, 0.8, 0.8):
        ...     state.validated(loss)
        ...     print(loss, state.rate(base=0.01))
        1.0 0.01
        0.8 0.01
        0.8 0.01
        0.8 0.005
    """

    gamma: float = knob(0.5, low=0.1, high=0.8, gt=0, lt=1)
    patience: int = knob(5, low=2, high=20, ge=0)
    threshold: float = Field(default=1e-4, ge=0)
    cooldown: int = Field(default=0, ge=0)
    min_lr: float = Field(default=0.0, ge=0)

    def begin(self, plan: Plan) -> ScheduleState:
        return _PlateauCourse(self)


class _PlateauCourse(ScheduleState):
    """Counts like torch's ``ReduceLROnPlateau``, but a threshold makes it harder to improve on a negative loss too."""

    def __init__(self, schedule: Plateau) -> None:
        self._schedule = schedule
        self._best = math.inf
        self._falls = 0
        self._waited = 0
        self._cooling = 0

    def validated(self, loss: float) -> None:
        margin = 0.0 if math.isinf(self._best) else self._schedule.threshold * abs(self._best)
        if loss < self._best - margin:
            self._best, self._waited = loss, 0
        else:
            self._waited += 1
        if self._cooling:
            self._cooling -= 1
            self._waited = 0
        if self._waited > self._schedule.patience:
            self._falls += 1
            self._waited, self._cooling = 0, self._schedule.cooldown

    def rate(self, base: float) -> float:
        return max(base * self._schedule.gamma**self._falls, min(self._schedule.min_lr, base))

    def state_dict(self) -> dict[str, Any]:
        return {"best": self._best, "falls": self._falls, "waited": self._waited, "cooling": self._cooling}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._best, self._falls = float(state["best"]), int(state["falls"])
        self._waited, self._cooling = int(state["waited"]), int(state["cooling"])
