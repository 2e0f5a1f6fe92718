"""One step from several batches, with the gradient that the one large batch would have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from neuro_divergent.losses.reduce import mean_of

Costs = Callable[[Any], tuple[Tensor, Tensor | float]]


class GradientSum:
    """Adds up the gradients of several batches, if wished in float64.

    What is summed are gradients of *sums* of costs, and the division by the sum of all weights comes last: batches of
    any size and weight then add up to the gradient of the one batch that holds them all. A loss that is a function of
    the mean cost, such as the root, enters through its derivative at that mean.

    Args:
        parameters: What is differentiated.
        in_double: Whether sums are kept in float64, so that small gradients are not lost among large ones.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], *, in_double: bool = False) -> None:
        self._parameters = parameters
        self._sums: dict[int, Tensor] | None = {} if in_double else None

    def run(
        self,
        batches: Sequence[Any],
        costs: Costs,
        finish: Callable[[Tensor], Tensor],
        backward: Callable[[Tensor], None],
        local: Callable[[], AbstractContextManager[Any]],
    ) -> Tensor:
        """Set the gradients of all parameters and return the loss, detached.

        Args:
            batches: What to go through.
            costs: Returns the sum of the costs of a batch and the sum of its weights.
            finish: Returns the loss for a mean cost.
            backward: Adds the gradients of a number.
            local: Keeps gradients to this process, for all batches but the last.
        """
        total: Tensor | float = 0.0
        weight: Tensor | float = 0.0
        unit = float(len(batches[0][0]))  # keeps what is summed near the size of a mean
        for place, batch in enumerate(batches):
            is_last = place == len(batches) - 1
            with nullcontext() if is_last else local():
                cost, count = costs(batch)
                backward(cost / unit)
            total, weight = total + cost.detach(), weight + count
            if self._sums is not None:
                self._collect(self._sums)
        assert isinstance(total, Tensor)
        mean = mean_of(total, weight).requires_grad_()
        loss = finish(mean)
        (slope,) = torch.autograd.grad(loss, mean)
        self._scale(mean_of(slope * unit, weight))
        return loss.detach()

    def _collect(self, sums: dict[int, Tensor]) -> None:
        """Move gradients into the sums."""
        for place, parameter in enumerate(self._parameters):
            if parameter.grad is not None:
                known = sums.get(place)
                sums[place] = parameter.grad.double() if known is None else known.add_(parameter.grad)
                parameter.grad = None

    def _scale(self, factor: Tensor) -> None:
        if self._sums is None:
            for parameter in self._parameters:
                if parameter.grad is not None:
                    parameter.grad.mul_(factor)
            return
        for place, total in self._sums.items():
            parameter = self._parameters[place]
            parameter.grad = total.mul_(factor).to(parameter.dtype)
        self._sums = {}
