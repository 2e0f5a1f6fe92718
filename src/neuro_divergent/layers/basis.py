"""Fixed functions of time that a few coefficients are expanded on, as matrices ``(coefficients, steps)``."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

Interpolation = Literal["linear", "nearest", "cubic"]


def polynomial_basis(steps: int, degree: int) -> Tensor:
    """Return the powers 0 to ``degree`` of a clock that runs from 0 to just below 1 over the steps."""
    clock = torch.arange(steps, dtype=torch.float64) / steps
    powers = torch.arange(degree + 1, dtype=torch.float64)
    return (clock[None, :] ** powers[:, None]).to(torch.get_default_dtype())


def harmonic_basis(steps: int, period: int, harmonics: int, direction: int = 1) -> Tensor:
    """Return cosines, then sines, of every frequency that a horizon (``period``) can tell apart.

    The frequencies are 0, then 1 to half the period in steps of ``1 / harmonics``. ``direction`` is 1 when the steps
    run forwards in time, -1 when they run backwards.
    """
    above_zero = torch.arange(harmonics, harmonics / 2 * period, dtype=torch.float64) if period > 2 else torch.empty(0)
    frequency = torch.cat([torch.zeros(1, dtype=torch.float64), above_zero / harmonics])
    clock = direction * torch.arange(steps, dtype=torch.float64) / period
    angle = 2 * torch.pi * frequency[:, None] * clock[None, :]
    return torch.cat([angle.cos(), angle.sin()]).to(torch.get_default_dtype())


def interpolation_basis(knots: int, steps: int, mode: Interpolation) -> Tensor:
    """Return the matrix that spreads knots over the steps as ``torch.nn.functional.interpolate`` does."""
    identity = torch.eye(knots)
    if mode == "cubic":
        return functional.interpolate(identity[None, None], size=(knots, steps), mode="bicubic")[0, 0]
    return functional.interpolate(identity[None], size=steps, mode=mode)[0]
