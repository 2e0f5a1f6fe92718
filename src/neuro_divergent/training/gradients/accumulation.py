"""One step from several batches, with the gradient that the one large batch would have."""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import Tensor, nn

from neuro_divergent.losses.reduce import mean_of
from neuro_divergent.training.gradients.step_loss import StepLoss


def accumulate_gradients(step: StepLoss) -> Tensor:
    """Set the gradients of the loss over all batches and processes of a step, and return that loss, detached.

    What is summed are gradients of *sums* of costs, and the division by the sum of all weights comes last: batches of
    any size and weight then add up to the gradient of the one batch that holds them all. A loss that is a function of
    the mean cost, such as the root, enters through its derivative at that mean.
    """
    total: Tensor | float = 0.0
    weight: Tensor | float = 0.0
    sums: dict[nn.Parameter, Tensor] | None = {} if step.in_double else None
    # What is summed is kept near a mean, for types with a short range. All processes must divide by the same number,
    # and a power of two changes no digit, so that it does not matter that batches differ in size.
    unit = step.unit
    for number, batch in enumerate(step.batches):
        is_last = number == len(step.batches) - 1
        with nullcontext() if is_last and sums is None else step.no_sync():
            cost, count = step.cost(batch)
            step.backward(cost / unit)
        total, weight = total + cost.detach(), weight + count
        if sums is not None:
            _move_into(sums, step.parameters)
    assert isinstance(total, Tensor)
    loss, factor = _finish(step, total, weight, unit)
    for parameter in step.parameters:
        if sums is not None and parameter in sums:
            whole, _ = step.strategy.all_reduce(sums[parameter], 1.0)
            parameter.grad = whole.mul_(factor).to(parameter.dtype)
        elif parameter.grad is not None:
            parameter.grad.mul_(factor)
    return loss


def share_gradients(step: StepLoss) -> Tensor:
    """Set the gradients of the loss over all processes of a step of one batch, and return that loss, detached.

    It is ``accumulate_gradients`` with the division before the backward pass, which saves a pass over all gradients.
    """
    cost, count = step.cost(step.batches[0])
    loss, factor = _finish(step, cost.detach(), count)
    step.backward(cost * factor)
    return loss


def _finish(step: StepLoss, total: Tensor, weight: Tensor | float, divisor: float = 1.0) -> tuple[Tensor, Tensor]:
    """Return the loss over all processes, and what gradients of the sum of costs are multiplied with.

    Args:
        step: The step.
        total: Sum of costs of this process.
        weight: Sum of their weights.
        divisor: What those gradients were divided by before.
    """
    total, weight = step.strategy.all_reduce(total, weight)
    mean = mean_of(total, weight).requires_grad_()
    loss = step.finish(mean)
    (slope,) = torch.autograd.grad(loss, mean)
    return loss.detach(), mean_of(slope * divisor, weight)


def _move_into(sums: dict[nn.Parameter, Tensor], parameters: list[nn.Parameter]) -> None:
    """Add gradients to the sums in float64, and clear them."""
    for parameter in parameters:
        if parameter.grad is not None:
            known = sums.get(parameter)
            sums[parameter] = parameter.grad.double() if known is None else known.add_(parameter.grad)
            parameter.grad = None
