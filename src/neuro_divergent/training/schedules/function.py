"""Any function as a schedule."""

from __future__ import annotations

import inspect
import math
from functools import cached_property
from typing import Any

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.function import UserFunction, label_of, require
from neuro_divergent.training.schedules.base import Clock, Plan, Schedule, ScheduleState


@register("function")
class FunctionSchedule(Schedule):
    """Multiplies the rate with what a Python function of the step returns.

    A file holds only the name of the function: a schedule that was read from one must be given the function again.

    Attributes:
        function: Takes the step (or epoch), counted from 0, and if it has a second argument without a default the
            ``Plan``; returns a number that is not negative.
        per: Whether the function gets the step or the epoch.

    Examples:
        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> schedule = nd.schedules.FunctionSchedule(lambda epoch: 1 / (1 + epoch), per="epoch")
        >>> [schedule.factor(step, plan) for step in (0, 9, 10, 30)]
        [1.0, 1.0, 0.5, 0.25]
    """

    function: UserFunction = ""
    per: Clock = "step"

    def __init__(self, function: UserFunction = "", **values: Any) -> None:
        super().__init__(**{"function": function, **values})

    def factor(self, step: int, plan: Plan) -> float:
        function = require(self.function, f"schedule {self.name!r}")
        time = step if self.per == "step" else step // max(plan.steps_per_epoch, 1)
        found = function(time, plan) if self._takes_plan else function(time)
        try:
            factor = float(found)
        except (TypeError, ValueError):
            factor = math.nan
        if not 0 <= factor < math.inf:
            raise ConfigError(
                f"schedule {self.name!r}: {label_of(self.function)} returned {found!r} for {self.per} {time}; a factor "
                "on the learning rate is a finite number that is not negative."
            )
        return factor

    def begin(self, plan: Plan) -> ScheduleState:
        require(self.function, f"schedule {self.name!r}")
        return super().begin(plan)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings with the name of the function in its place."""
        return {**super().to_dict(), "function": label_of(self.function)}

    @cached_property
    def _takes_plan(self) -> bool:
        """Whether the function must have a second argument; one with a default is not passed."""
        assert not isinstance(self.function, str)
        try:
            places = inspect.signature(self.function).parameters.values()
        except ValueError:  # some functions written in C do not say
            return False
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        wanted = [place for place in places if place.kind in kinds and place.default is place.empty]
        return len(wanted) > 1
