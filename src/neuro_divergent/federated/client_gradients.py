"""What aggregations do to the gradients of clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.training.gradients.transforms.base import GradientContext, GradientTransform

if TYPE_CHECKING:
    from torch import nn


class PullToStart(GradientTransform):
    """Adds the gradient of ``mu / 2 * |w - start|^2``.

    Attributes:
        mu: Strength of the pull.
        start: Weights by name.
    """

    name: ClassVar[str] = "pull_to_start"  # given by an aggregation, never named in settings

    mu: float
    start: dict[str, Any]

    def apply(self, parameters: list[nn.Parameter], context: GradientContext) -> None:
        for name, parameter in context.named_parameters.items():
            if parameter.grad is not None and name in self.start:
                start = self.start[name].to(parameter)
                parameter.grad.add_(parameter.detach() - start, alpha=self.mu)


class AddedGradient(GradientTransform):
    """Adds the same numbers to the gradients of every step.

    Attributes:
        added: What is added, by name of the parameter.
    """

    name: ClassVar[str] = "added_gradient"

    added: dict[str, Any]

    def apply(self, parameters: list[nn.Parameter], context: GradientContext) -> None:
        for name, parameter in context.named_parameters.items():
            if parameter.grad is not None and name in self.added:
                parameter.grad.add_(self.added[name].to(parameter))
