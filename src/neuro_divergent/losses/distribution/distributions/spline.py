"""The distribution of a quantile function made of straight pieces between exponential tails."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch.distributions import Distribution
from torch.distributions.constraints import Constraint
from torch.nn.functional import pad
from torch.types import _size


class SplineDistribution(Distribution):
    """A quantile function that is linear between knots and whose ends are tails of exponential distributions.

    Args:
        levels: Probabilities at the knots, ``(..., knots)``, strictly increasing.
        values: Quantiles at the knots, strictly increasing.
        left: Mean distance of values beyond the first knot from it.
        right: Mean distance of values beyond the last knot from it.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {}

    def __init__(self, levels: Tensor, values: Tensor, left: Tensor, right: Tensor) -> None:
        self.levels, self.values, self.left, self.right = levels, values, left, right
        self._masses = levels.diff(dim=-1)
        self._steps = values.diff(dim=-1)
        super().__init__(left.shape, validate_args=False)

    @property
    def mean(self) -> Tensor:
        first, last = self._tails()
        middle = (self._masses * (self.values[..., 1:] + self.values[..., :-1]) / 2).sum(-1)
        return middle + first * (self.values[..., 0] - self.left) + last * (self.values[..., -1] + self.right)

    def icdf(self, value: Tensor) -> Tensor:
        """Return the quantiles for probabilities: the first knot, and the part of each piece below the probability."""
        first, last = self._tails()
        quantile = self.values[..., 0] + self.left * (value / first).clamp_max(1).log()
        for place in range(self._masses.shape[-1]):  # one piece at a time: a probability may be one of very many draws
            part = ((value - self.levels[..., place]) / self._masses[..., place]).clamp(0, 1)
            quantile = quantile + self._steps[..., place] * part
        return quantile - self.right * ((1 - value) / last).clamp_max(1).log()

    def cdf(self, value: Tensor) -> Tensor:
        first, last = self._tails()
        under = (self.values[..., 0] - value).clamp_min(0) / self.left
        over = (value - self.values[..., -1]).clamp_min(0) / self.right
        middle = (self._masses * self._parts(value)).sum(-1)
        return first * (-under).exp() + middle - last * torch.expm1(-over)

    def log_prob(self, value: Tensor) -> Tensor:
        first, last = self._tails()
        low, high = self.values[..., 0], self.values[..., -1]
        piece = (value.unsqueeze(-1) >= self.values[..., 1:-1]).sum(-1, keepdim=True)
        density = (self._masses.log() - self._steps.log()).expand(*piece.shape[:-1], -1).gather(-1, piece).squeeze(-1)
        under = first.log() - self.left.log() - (low - value) / self.left
        over = last.log() - self.right.log() - (value - high) / self.right
        return under.where(value < low, over.where(value > high, density))

    def crps(self, value: Tensor) -> Tensor:
        """Return the continuous ranked probability score: twice the pinball cost, over all levels.

        With the quantile function ``q`` it is the integral of ``2 * level * (value - q)`` over all levels, and of
        ``2 * (q - value)`` over those whose quantile lies above the value; both have closed forms on each piece.
        """
        first, last = self._tails()
        low, high = self.values[..., 0], self.values[..., -1]
        start, probability, step = self.levels[..., :-1], self._masses, self._steps
        error = value.unsqueeze(-1) - self.values[..., :-1]
        part = self._parts(value)
        everywhere = start * (error - step / 2) + probability * (error / 2 - step / 3)
        above = (1 - part) * (step * (1 + part) / 2 - error)
        middle = 2 * (probability * (everywhere + above)).sum(-1)
        return middle + _tail(first, self.left, low - value) + _tail(last, self.right, value - high)

    def rsample(self, sample_shape: _size = torch.Size()) -> Tensor:  # noqa: B008 - as torch has it
        shape = self._extended_shape(sample_shape)
        edge = torch.finfo(self.left.dtype).eps
        return self.icdf(torch.rand(shape, dtype=self.left.dtype, device=self.left.device).clamp(edge, 1 - edge))

    def _tails(self) -> tuple[Tensor, Tensor]:
        """Return the probabilities of the two tails."""
        return self.levels[..., 0], 1 - self.levels[..., -1]

    def _parts(self, value: Tensor) -> Tensor:
        """Return which part of each piece lies below a value."""
        return ((value.unsqueeze(-1) - self.values[..., :-1]) / self._steps).clamp(0, 1)


def increasing(start: Tensor, steps: Tensor) -> Tensor:
    """Return ``start`` and what it becomes step by step, on a last axis one longer than that of ``steps``."""
    return start.unsqueeze(-1) + pad(steps.cumsum(-1), (1, 0))


def _tail(probability: Tensor, scale: Tensor, beyond: Tensor) -> Tensor:
    """Return the part of the score that belongs to a tail; ``beyond`` is how far the value lies out in it."""
    far = beyond.clamp_min(0)
    return probability.square() * (scale / 2 - beyond) + 2 * probability * (far + scale * torch.expm1(-far / scale))
