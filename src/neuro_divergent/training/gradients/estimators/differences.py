"""Gradients from differences of losses, for checking and teaching."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.training.gradients.estimators.base import GradientEstimator
from neuro_divergent.training.gradients.finite_difference import (
    DifferenceMethod,
    GradientCostWarning,
    numerical_gradients,
)

if TYPE_CHECKING:
    from torch import Tensor, nn

    from neuro_divergent.training.gradients.step_loss import StepLoss


class FiniteDifference(GradientEstimator):
    """Changes each weight by a little and sees how the loss changes; slow, but right whatever is in between."""

    numerical: ClassVar[bool] = True
    method: ClassVar[DifferenceMethod]

    def start(self, module: nn.Module) -> None:
        warnings.warn(
            f"gradient={self.name!r} runs the network {self.forward_passes(module):,} times for each step; 'autodiff' "
            "runs it once and is exact. Differences are meant for checking and teaching.",
            GradientCostWarning,
            stacklevel=2,
        )

    def estimate(self, step: StepLoss) -> Tensor:
        return numerical_gradients(step.total, step.parameters, self.method, buffers=step.module.buffers())

    def forward_passes(self, module: nn.Module) -> int:
        """Return the forward passes per batch, one of which is for the loss itself."""
        weights = sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)
        return 1 + (2 if self.method == "central" else 1) * weights


@register("central")
class CentralDifference(FiniteDifference):
    """Central differences: two forward passes for each weight and an error of O(step ** 2).

    Examples:
        A network of 41 weights runs 83 times for each step, so this is for checking and teaching:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> network = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        >>> nd.training.CentralDifference().forward_passes(network)
        83
    """

    method: ClassVar[DifferenceMethod] = "central"


@register("forward")
class ForwardDifference(FiniteDifference):
    """Forward differences: one forward pass for each weight and an error of O(step).

    Examples:
        A network of 41 weights runs 42 times for each step, half as often as for central differences, which are better:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> network = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        >>> nd.training.ForwardDifference().forward_passes(network)
        42
    """

    method: ClassVar[DifferenceMethod] = "forward"
