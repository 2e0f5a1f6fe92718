"""Intervals for forecasters that only give a point, from their errors on the validation part."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from neuro_divergent.core.errors import InputError

_ENOUGH = 40  # errors per step from which on steps are not pooled


@dataclass(frozen=True, eq=False)
class Intervals:
    """Absolute errors of a forecaster on its validation part, in units of the spread of each window.

    The half-width for a level is the split-conformal quantile of the errors at the same step. Where a step has few
    errors, those of the nearest steps are added. Coverage holds on average over series and times that are exchangeable
    with the validation part; not for a series that changes afterwards.

    Attributes:
        errors: Sorted along the first axis, ``(windows, horizon)``.
    """

    errors: Tensor

    def summarized(self, most: int = 199) -> Intervals:
        """Return quantiles of the errors in their place where there are more than ``most`` for each step.

        With the default, one step has enough of them for levels up to 99.5 percent.
        """
        if len(self.errors) <= most:
            return self
        levels = torch.arange(1, most + 1, dtype=torch.float64) / (most + 1)
        return Intervals(torch.quantile(self.errors.double(), levels, dim=0).to(self.errors.dtype))

    def half_widths(self, level: float) -> Tensor:
        """Return the half-width of the interval at each step, ``(horizon,)``.

        Args:
            level: Coverage, between 0 and 1.

        Raises:
            InputError: If there are too few errors to claim that level.
        """
        count, horizon = self.errors.shape
        needed = math.ceil(level / (1 - level) - 1e-9)  # fewer errors have no such quantile
        steps = min(horizon, math.ceil(max(needed, _ENOUGH) / count))
        if count * steps < needed:
            raise InputError(
                f"level {100 * level:g} needs at least {needed} validation errors, there are {count * steps}. Ask for "
                "a lower level, hold out more for validation, or train with a quantile loss."
            )
        rank = min(math.ceil((count * steps + 1) * level - 1e-9), count * steps)
        return self._pooled(steps).kthvalue(rank).values

    def quantile_offset(self, quantile: float) -> Tensor:
        """Return the distance of a quantile from the point forecast at each step, ``(horizon,)``."""
        if abs(quantile - 0.5) < 1e-9:
            return torch.zeros(self.errors.shape[1])
        width = self.half_widths(abs(2 * quantile - 1))
        return width if quantile > 0.5 else -width

    def offsets(self, quantile: Tensor) -> Tensor:
        """Return how far from the point forecast the given quantiles lie.

        Either side of the forecast has the errors that were measured, so that half of it lies above. Nothing lies
        further away than the largest of them.

        Args:
            quantile: Between 0 and 1, ``(..., horizon, channel)``.
        """
        count, horizon = self.errors.shape
        pooled = self._pooled(min(horizon, math.ceil(_ENOUGH / count))).sort(1).values.to(quantile.device)
        among = pooled.shape[1]
        rank = ((among + 1) * (2 * quantile - 1).abs()).ceil().long().clamp(1, among)
        steps = torch.arange(horizon, device=quantile.device).unsqueeze(1)
        return pooled[steps, rank - 1] * (quantile - 0.5).sign()

    def _pooled(self, steps: int) -> Tensor:
        """Return the errors of each step and those nearest to it, ``steps`` in all, ``(horizon, errors)``."""
        horizon = self.errors.shape[1]
        begins = [min(max(step - steps // 2, 0), horizon - steps) for step in range(horizon)]
        return torch.stack([self.errors[:, begin : begin + steps].flatten() for begin in begins])
