"""The contract of schedules: the learning rate as a function of the step.

A ``Schedule`` is a config. ``begin`` returns its ``ScheduleState``, which counts steps and maps the base learning rate
to the current one. ``LRScheduler`` applies a state to an optimizer. States know no optimizer, so they can be chained,
multiplied and plotted.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from neuro_divergent.core.config import Component
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    import torch

    from neuro_divergent.training.schedules.chain import Chain

Length = Annotated[int, Field(ge=1)] | Annotated[float, Field(gt=0, lt=1)]
"""A fraction of training (below 1), or a number of steps or epochs (from 1 on)."""

Clock = Literal["step", "epoch"]
"""What a schedule counts."""


@dataclass(frozen=True)
class Plan:
    """How long training will be, as far as it is known before it starts.

    Attributes:
        total_steps: Optimizer steps of all of training.
        steps_per_epoch: Steps in which the training windows are seen once.

    Examples:
        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=95, steps_per_epoch=10)
        >>> plan.total_epochs, plan.steps(3, "epoch"), plan.steps(0.2, "epoch")  # the last is a fraction of training
        (10, 30, 19)
    """

    total_steps: int
    steps_per_epoch: int

    @property
    def total_epochs(self) -> int:
        """Epochs begun by the end."""
        return -(-self.total_steps // max(self.steps_per_epoch, 1))

    def steps(self, length: int | float, per: Clock) -> int:
        """Return a length in steps: a fraction of training below 1, a number of what ``per`` says from 1 on."""
        if length < 1:
            return round(length * self.total_steps)
        return int(length) * (max(self.steps_per_epoch, 1) if per == "epoch" else 1)


class ScheduleState:
    """The state of a schedule during training."""

    def step(self) -> None:
        """Advance to the next step."""

    def validated(self, loss: float) -> None:
        """Take a validation loss into account."""

    def rate(self, base: float) -> float:
        """Return the learning rate at this step, from that of the optimizer."""
        return base

    def state_dict(self) -> dict[str, Any]:
        """Return the checkpointable state."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the checkpointable state."""


class LRScheduler:
    """A schedule bound to an optimizer: sets its learning rates."""

    def __init__(self, course: ScheduleState, optimizer: torch.optim.Optimizer) -> None:
        self._course = course
        self._scale = 1.0
        # The groups are read each time: loading a state into the optimizer replaces them.
        self._optimizer = optimizer
        for group in optimizer.param_groups:
            group["initial_lr"] = float(group["lr"])
        self._apply()

    @property
    def scale(self) -> float:
        """What all rates are multiplied with besides the factor of the schedule."""
        return self._scale

    @scale.setter
    def scale(self, value: float) -> None:
        self._scale = value
        self._apply()

    def step(self) -> None:
        """Set the learning rate for the next step."""
        self._course.step()
        self._apply()

    def validated(self, loss: float) -> None:
        """Take a validation loss into account."""
        self._course.validated(loss)
        self._apply()

    def state_dict(self) -> dict[str, Any]:
        """Return the checkpointable state, without that of the optimizer."""
        return {"course": self._course.state_dict(), "scale": self._scale}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the checkpointable state, after that of the optimizer."""
        if "course" not in state:  # checkpoints of format 1 have the state of the course alone
            state = {"course": state, "scale": 1.0}
        self._course.load_state_dict(state["course"])
        self.scale = float(state["scale"])

    def _apply(self) -> None:
        for group in self._optimizer.param_groups:
            # The full rate is kept in the group, under torch's own name for it: groups may be added while training
            # runs, and it is saved with the state of the optimizer.
            group["lr"] = self._scale * self._course.rate(group.setdefault("initial_lr", float(group["lr"])))


class Schedule(Component):
    """Settings of a learning-rate schedule.

    Most schedules are a plain function of the step: they override ``factor``, or are a ``CurveSchedule``, which can
    count epochs as well. One that reacts to training overrides ``begin``.

    Examples:
        A schedule gives a factor on the learning rate, and schedules can follow each other:

        >>> import neuro_divergent as nd
        >>> plan = nd.schedules.Plan(total_steps=100, steps_per_epoch=10)
        >>> schedule = nd.schedules.Linear(initial=0.0, final=1.0).then(nd.schedules.Cosine(), after=0.2)
        >>> [round(schedule.factor(step, plan), 2) for step in (0, 10, 20, 60, 99)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    registry: ClassVar[Registry] = Registry("schedule", "neuro_divergent.training.schedules")

    def factor(self, step: int, plan: Plan) -> float:
        """Return what the learning rate is multiplied with at a step, counted from 0, if nothing is ever validated."""
        return 1.0

    def begin(self, plan: Plan) -> ScheduleState:
        """Return the schedule at its first step."""
        return _StepCourse(self, plan)

    def start(self, optimizer: torch.optim.Optimizer, plan: Plan) -> LRScheduler:
        """Return the schedule bound to an optimizer."""
        return LRScheduler(self.begin(plan), optimizer)

    def then(self, following: Schedule, *, after: int | float, per: Clock = "epoch") -> Chain:
        """Return this schedule followed by another.

        Args:
            following: What comes next, until the end of training.
            after: How long this one lasts: a fraction of training below 1, a number of epochs (or steps) from 1 on.
            per: What ``after`` counts.
        """
        from neuro_divergent.training.schedules.chain import Chain, Part

        return Chain(parts=(Part(schedule=self, length=after, per=per), Part(schedule=following)))


class CurveSchedule(Schedule):
    """A schedule that is a curve over steps or over epochs.

    Attributes:
        per: What all lengths of the schedule count. With ``"epoch"`` the rate stays the same for a whole epoch.
    """

    per: Clock = "step"

    @abstractmethod
    def curve(self, time: int, total: int) -> float:
        """Return the factor at a time, counted from 0, of ``total``; both in steps or both in epochs.

        The time can be past ``total``, in the last part of a chain: a curve with an end then stays there.
        """

    def factor(self, step: int, plan: Plan) -> float:
        if self.per == "step":
            return self.curve(step, max(plan.total_steps, 1))
        return self.curve(step // max(plan.steps_per_epoch, 1), max(plan.total_epochs, 1))


def span(length: int | float, total: int) -> float:
    """Return how long a length is for a curve over ``total`` steps or epochs."""
    return length * total if length < 1 else float(length)


class _StepCourse(ScheduleState):
    """The state of a schedule that is a function of the step."""

    def __init__(self, schedule: Schedule, plan: Plan) -> None:
        self._schedule = schedule
        self._plan = plan
        self._step = 0

    def step(self) -> None:
        self._step += 1

    def rate(self, base: float) -> float:
        return base * self._schedule.factor(self._step, self._plan)

    def state_dict(self) -> dict[str, Any]:
        return {"step": self._step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._step = int(state["step"])
