"""Exact gradients by reverse-mode automatic differentiation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuro_divergent.core.config import register
from neuro_divergent.training.gradients.estimators.base import GradientEstimator

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.training.gradients.step_loss import StepLoss


@register("autodiff")
class Autodiff(GradientEstimator):
    """Reverse-mode automatic differentiation: one forward and one backward pass per batch, exact up to rounding.

    Examples:
        >>> import neuro_divergent as nd
        >>> nd.TrainingConfig().gradient  # the default
        Autodiff()
        >>> nd.TrainingConfig(gradient="central").gradient.numerical, nd.training.Autodiff().numerical
        (True, False)
    """

    def estimate(self, step: StepLoss) -> Tensor:
        if len(step.batches) == 1 and step.strategy.world_size == 1:
            loss = step.loss(step.batches[0])
            step.backward(loss)
            return loss.detach()
        from neuro_divergent.training.gradients.accumulation import accumulate_gradients, share_gradients

        is_one = len(step.batches) == 1 and not step.in_double
        return share_gradients(step) if is_one else accumulate_gradients(step)
