"""Averages of the weights over training, which often forecast better than the last weights."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from neuro_divergent.core.config import Component, knob, register
from neuro_divergent.core.registry import Registry
from neuro_divergent.training.callbacks.base import Callback, CallbackConfig

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.training.engine import Trainer
    from neuro_divergent.training.schedules.base import Plan


class Average(CallbackConfig, Component):
    """Which weights of training are averaged, and how.

    Validation, early stopping and the trained model use the average; training itself continues with its own weights.

    Examples:
        >>> import neuro_divergent as nd
        >>> nd.TrainingConfig(average="ema").average.decay
        0.999
    """

    registry: ClassVar[Registry] = Registry("average", "neuro_divergent.training.average")
    from_start: ClassVar[bool] = False  # whether it begins with the weights before the first step

    @abstractmethod
    def takes(self, step: int, plan: Plan) -> bool:
        """Return whether the weights after a step, counted from 1, enter the average."""

    @abstractmethod
    def newest_weight(self, updates: int) -> float:
        """Return how much the newest weights count in the average after ``updates`` updates before."""

    def build(self) -> Averager:
        return Averager(self)


@register("ema")
class EMA(Average):
    """An exponential moving average, updated after each step.

    Attributes:
        decay: How much of the average an update keeps.
        warmup: Whether update ``n``, counted from 0, keeps no more than ``(1 + n) / (10 + n)``. Without it, the weights
            training began with still dominate after a few hundred steps.

    Examples:
        How much the newest weights count: most of all at first, and a thousandth in the end:

        >>> import neuro_divergent as nd
        >>> ema = nd.callbacks.EMA(decay=0.999)
        >>> [round(ema.newest_weight(updates), 3) for updates in (0, 90, 100_000)]
        [0.9, 0.09, 0.001]
    """

    from_start: ClassVar[bool] = True

    decay: float = knob(0.999, low=0.9, high=0.9999, ge=0, lt=1)
    warmup: bool = True

    def takes(self, step: int, plan: Plan) -> bool:
        return True

    def newest_weight(self, updates: int) -> float:
        return 1 - (min(self.decay, (1 + updates) / (10 + updates)) if self.warmup else self.decay)


@register("swa")
class SWA(Average):
    """The plain mean of weights from late in training (Izmailov et al., 2018).

    The learning rate is the one of the schedule: a constant one finds more diverse weights to average than one that has
    fallen to zero.

    Attributes:
        start: Fraction of training after which averaging begins.
        every: Steps from one of the averaged weights to the next; ``"epoch"`` for one epoch, ``"auto"`` for one epoch
            or, where that is shorter, a tenth of the part of training that is averaged. The weights of the last step
            are always taken.

    Examples:
        Of a training of 100 steps every tenth in the last quarter is averaged, and all of those count the same:

        >>> import neuro_divergent as nd
        >>> swa, plan = nd.callbacks.SWA(start=0.75, every=10), nd.schedules.Plan(total_steps=100, steps_per_epoch=5)
        >>> [step for step in range(1, 101) if swa.takes(step, plan)]
        [80, 90, 100]
        >>> [round(swa.newest_weight(updates), 2) for updates in (0, 1, 2)]
        [1.0, 0.5, 0.33]
    """

    start: float = knob(0.75, low=0.5, high=0.9, ge=0, lt=1)
    every: Annotated[int, Field(ge=1)] | Literal["auto", "epoch"] = "auto"

    def takes(self, step: int, plan: Plan) -> bool:
        begin = self.start * plan.total_steps
        if self.every == "epoch":
            every = plan.steps_per_epoch
        elif self.every == "auto":
            every = min(plan.steps_per_epoch, math.ceil((plan.total_steps - begin) / 10))
        else:
            every = self.every
        return step > begin and (step % max(every, 1) == 0 or step == plan.total_steps)

    def newest_weight(self, updates: int) -> float:
        return 1 / (updates + 1)


class Averager(Callback):
    """Keeps the average of an ``Average``.

    Buffers of floating-point numbers, such as the statistics of a batch normalisation, are averaged like weights;
    others are copied. Averages of weights in half precision are kept in float32, where small updates do not vanish.
    """

    def __init__(self, config: Average) -> None:
        self.config = config
        self.updates = 0
        self.average: dict[str, Tensor] | None = None
        self._own: dict[str, Tensor] | None = None

    def fit_start(self, trainer: Trainer) -> None:
        weights = trainer.module.state_dict()
        if self.average is not None:
            self.average = {name: tensor.to(weights[name].device) for name, tensor in self.average.items()}
        elif self.config.from_start:
            self.average = _copy(weights)

    def step_end(self, trainer: Trainer) -> None:
        if not self.config.takes(trainer.state.step, trainer.plan):
            return
        weights = trainer.module.state_dict()
        if self.average is None:
            self.average = _copy(weights)
        else:
            _move(self.average, weights, self.config.newest_weight(self.updates))
        self.updates += 1

    def validation_start(self, trainer: Trainer) -> None:
        if self.average is not None:
            self._own = {name: tensor.detach().clone() for name, tensor in trainer.module.state_dict().items()}
            trainer.module.load_state_dict(self.average)

    def validation_end(self, trainer: Trainer) -> None:
        if self._own is not None:
            trainer.module.load_state_dict(self._own)
            self._own = None

    validation_cancelled = validation_end

    def fit_end(self, trainer: Trainer) -> None:
        if self.average is not None:
            trainer.module.load_state_dict(self.average)

    def failed(self, trainer: Trainer, error: BaseException) -> None:
        self.validation_end(trainer)

    def state_dict(self) -> dict[str, Any]:
        return {"updates": self.updates, "average": self.average}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.updates = state["updates"]
        self.average = None if state["average"] is None else dict(state["average"])


def _copy(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: _precise(tensor).detach().clone() for name, tensor in weights.items()}


def _precise(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.is_floating_point() and tensor.itemsize < 4 else tensor


def _move(average: dict[str, Tensor], weights: dict[str, Tensor], fraction: float) -> None:
    """Move an average in place by a fraction of the way to the weights."""
    from torch.optim.swa_utils import get_ema_multi_avg_fn

    means, currents = [], []
    for name, tensor in weights.items():
        if tensor.is_floating_point() or tensor.is_complex():
            means.append(average[name])
            currents.append(_precise(tensor))
        else:
            average[name].copy_(tensor)
    if means:
        get_ema_multi_avg_fn(1 - fraction)(means, currents, None)  # type: ignore[no-untyped-call]
