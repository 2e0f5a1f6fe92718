"""Optimizers that need no schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.optimizers.base import Beta
from neuro_divergent.training.optimizers.library import library
from neuro_divergent.training.optimizers.wrapped import WrappedOptimizer

if TYPE_CHECKING:
    import torch


@register("schedule_free_adamw")
class ScheduleFreeAdamW(WrappedOptimizer):
    """AdamW that averages its weights instead of lowering its rate (Defazio et al., 2024); needs no known end.

    Use it with ``schedule="constant"``. Gradients are taken between the average and the last weights, and the average
    is the result, so the optimizer has to be told when weights are used: see ``averages``. Needs the extra
    ``optimizers``.

    Attributes:
        betas: The first says how close to the average gradients are taken, the second is Adam's.
        eps: Small number that is added to the divisor, so that it is never zero.
        warmup_steps: Steps to rise over in a straight line.

    Examples:
        What is used is the average of what was trained; ``eval()`` puts it in place, and ``train()`` goes back:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> weights = torch.nn.ParameterList([torch.zeros(1)])
        >>> optimizer = nd.optimizers.ScheduleFreeAdamW(lr=0.1).build(weights)
        >>> for _ in range(200):
        ...     optimizer.train()
        ...     weights[0].grad = (weights[0] - 1).detach()
        ...     optimizer.step()
        >>> optimizer.eval()
        >>> round(weights[0].item(), 1)
        1.0
    """

    averages: ClassVar[bool] = True

    lr: float = knob(2.5e-3, low=2.5e-4, high=2.5e-2, log=True, gt=0)
    betas: tuple[Annotated[float, Field(gt=0, lt=1)], Beta] = (0.9, 0.999)
    eps: float = Field(default=1e-8, gt=0)
    warmup_steps: int = Field(default=0, ge=0)

    def wrapped_class(self) -> type[torch.optim.Optimizer]:
        library(self.name)
        from neuro_divergent.training.optimizers.averaging import ExactScheduleFreeAdamW

        return ExactScheduleFreeAdamW


@register("schedule_free_sgd")
class ScheduleFreeSGD(WrappedOptimizer):
    """Gradient descent that averages its weights instead of lowering its rate (Defazio et al., 2024).

    Use it with ``schedule="constant"``, and a rate 10 to 50 times that of SGD with momentum. Needs the extra
    ``optimizers``.

    Attributes:
        momentum: How close to the average gradients are taken.
        warmup_steps: Steps to rise over in a straight line.

    Examples:
        >>> import neuro_divergent as nd
        >>> config = nd.TrainingConfig(optimizer=nd.optimizers.ScheduleFreeSGD(lr=0.5), schedule="constant")
        >>> config.optimizer.averages  # so there is nothing left to average: average="ema" is refused
        True
    """

    averages: ClassVar[bool] = True

    lr: float = knob(0.05, low=5e-3, high=1.0, log=True, gt=0)
    momentum: float = Field(default=0.9, gt=0, lt=1)
    warmup_steps: int = Field(default=0, ge=0)

    def wrapped_class(self) -> type[torch.optim.Optimizer]:
        library(self.name)
        from neuro_divergent.training.optimizers.averaging import ExactScheduleFreeSGD

        return ExactScheduleFreeSGD
