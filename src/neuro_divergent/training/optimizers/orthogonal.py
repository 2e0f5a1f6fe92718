"""Muon for processors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_ODD = (3.4445, -4.7750, 2.0315)  # of the powers 1, 3 and 5; the coefficients of Muon's authors


class FullPrecisionMuon(torch.optim.Muon):
    """torch's Muon with the orthogonalisation in the precision of the weights, at least float32.

    torch's is in bfloat16 everywhere. A processor without units for it multiplies two matrices of 256 x 256 almost 70
    times slower in bfloat16 than in float32.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)
        return loss

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(gradient)
        momentum = state["momentum_buffer"].lerp_(gradient, 1 - group["momentum"])
        direction = gradient.lerp(momentum, group["momentum"]) if group["nesterov"] else momentum
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        size = 0.2 * math.sqrt(max(parameter.shape))  # the root mean square of Adam's steps
        parameter.add_(orthogonalized(direction, group["ns_steps"], group["eps"]), alpha=-group["lr"] * size)


def orthogonalized(matrix: Tensor, iterations: int, eps: float = 1e-7) -> Tensor:
    """Return a matrix with the singular vectors of the one given and singular values between 0.6 and 1.2 or so.

    Each iteration applies an odd polynomial to the singular values; from five on all but tiny ones are near 1.
    """
    tall = matrix.shape[0] > matrix.shape[1]
    result = (matrix.mT if tall else matrix).to(torch.promote_types(matrix.dtype, torch.float32))
    result = result / result.norm().clamp(min=eps)
    first, third, fifth = _ODD
    for _ in range(iterations):
        square = result @ result.mT
        result = first * result + (third * square + fifth * square @ square) @ result
    orthogonal: Tensor = result.mT if tall else result
    return orthogonal.to(matrix.dtype)
