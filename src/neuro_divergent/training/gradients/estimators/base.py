"""The contract of gradient estimators."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import Component
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor, nn

    from neuro_divergent.training.gradients.step_loss import StepLoss


class GradientEstimator(Component):
    """Computes the gradients of a training step.

    Attributes:
        numerical: Whether gradients come from differences of losses. Such an estimator runs the network once or more
            for each weight and needs float32 or float64.
    """

    registry: ClassVar[Registry] = Registry("gradient estimator", "neuro_divergent.training.gradients.estimators")
    numerical: ClassVar[bool] = False

    @abstractmethod
    def estimate(self, step: StepLoss) -> Tensor:
        """Set ``.grad`` of ``step.parameters``, which is ``None`` before, and return the loss of the step, detached.

        Both are those of all processes together. Gradients made by ``step.backward`` are added up over the processes by
        the strategy; an estimator that makes them in another way calls ``step.strategy.all_reduce`` itself.
        """

    def start(self, module: nn.Module) -> None:
        """Refuse a network, or warn about it, before its training starts."""
