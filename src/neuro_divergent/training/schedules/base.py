"""What every schedule is: a function from progress to a factor on the learning rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from neuro_divergent.core.config import Component
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Plan:
    """How long training will be, as far as it is known before it starts."""

    total_steps: int
    steps_per_epoch: int


class Pace(Protocol):
    """A schedule at work on an optimizer."""

    def step(self) -> None:
        """Set the learning rate for the next step."""

    def validated(self, loss: float) -> None:
        """Hear of a validation loss."""

    def state_dict(self) -> dict[str, Any]:
        """Return what must survive a restart."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up a state again."""


class Schedule(Component):
    """Settings of a learning-rate schedule.

    Most schedules are a plain function of the step, ``factor``; one that reacts to training overrides ``start``.
    """

    registry: ClassVar[Registry] = Registry("schedule", "neuro_divergent.training.schedules")

    def factor(self, step: int, plan: Plan) -> float:
        """Return what the learning rate is multiplied with at a step, counted from 0."""
        del step, plan
        return 1.0

    def start(self, optimizer: torch.optim.Optimizer, plan: Plan) -> Pace:
        """Put the schedule to work on an optimizer."""
        return _FunctionPace(self, optimizer, plan)


class _FunctionPace:
    """Drives the learning rates of an optimizer by a function of the step."""

    def __init__(self, schedule: Schedule, optimizer: torch.optim.Optimizer, plan: Plan) -> None:
        self._schedule = schedule
        self._plan = plan
        # The groups are asked for each time: loading a state into the optimizer replaces them.
        self._optimizer = optimizer
        self._rates = [float(group["lr"]) for group in optimizer.param_groups]
        self._step = 0
        self._apply()

    def step(self) -> None:
        self._step += 1
        self._apply()

    def validated(self, loss: float) -> None:
        """Ignore the loss: the rate is a function of the step alone."""

    def state_dict(self) -> dict[str, Any]:
        return {"step": self._step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._step = int(state["step"])
        self._apply()

    def _apply(self) -> None:
        factor = self._schedule.factor(self._step, self._plan)
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor
