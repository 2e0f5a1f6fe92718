"""Distribution functions and quantiles by arithmetic alone, for exported graphs, which cannot call ``scipy``.

Integrals are sums over Gauss-Legendre nodes, and searches take a fixed number of rounds. Probabilities are within 1e-8
of those of ``scipy``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.distributions.utils import broadcast_all

_NODES = 48
_SHIFT = 8
_REACH = 12  # standard deviations beyond which a density is negligible
_NEWTON_STEPS = 6
_MEDIAN = 1e-6  # probabilities this close to 0.5 are those of the median


def student_t_quantile(df: Tensor, probability: Tensor) -> Tensor:
    """Return quantiles of Student's t distribution, for more than 2 degrees of freedom.

    Newton's method on the logarithm of the tail, from between the quantiles of 2 and of infinitely many degrees of
    freedom, which have formulas. The error is below 2e-6 of a quantile for probabilities from 0.001 to 0.999.
    """
    tail = probability.minimum(1 - probability).clamp_max(0.5 - _MEDIAN)
    normal = -math.sqrt(2) * torch.erfinv(2 * tail - 1)
    two = (1 - 2 * tail) / (2 * tail * (1 - tail)).sqrt()
    value = normal * (two / normal) ** (2 / df)
    root = df.sqrt()
    density_at_zero = _gamma_ratio(df / 2) / math.sqrt(math.pi)
    for _ in range(_NEWTON_STEPS):
        sine = value / (df + value.square()).sqrt()  # of the angle whose tangent is the value over the root
        beyond = 0.5 - density_at_zero * _integral(
            torch.zeros_like(sine), sine, lambda place: ((df / 2 - 1).unsqueeze(-1) * (1 - place.square()).log()).exp()
        )
        density = density_at_zero / root * (-(df + 1) / 2 * (value.square() / df).log1p()).exp()
        value = value + (beyond.clamp_min(1e-14) / tail).log() * beyond / density
    return value.where(probability > 0.5, -value).where((probability - 0.5).abs() > _MEDIAN, 0.0)


def poisson_cdf(value: Tensor, rate: Tensor) -> Tensor:
    """Return the probability of at most ``value``, an integer: that of a gamma variable of that shape plus 1."""
    value, rate = broadcast_all(value, rate)
    size = rate.maximum(value + 1)
    normalizer = _log_gamma(value + 1)
    return _integral(
        rate,
        size + _REACH * size.sqrt() + 40,
        lambda place: (value.unsqueeze(-1) * place.log() - place - normalizer.unsqueeze(-1)).exp(),
    )


def negative_binomial_cdf(value: Tensor, count: Tensor, mean: Tensor) -> Tensor:
    """Return the probability of at most ``value``, an integer; ``count`` is 1 over the dispersion.

    That of more is an integral of the beta distribution, here over minus the logarithm of its variable, where it is
    smooth.
    """
    value, count, mean = broadcast_all(value, count, mean)
    first_part, second_part, total = _log_gamma(torch.stack([count, value + 1, count + value + 1]))
    normalizer = first_part + second_part - total
    last = (mean / count).log1p()
    peak, width = (value / count).log1p(), (value / (count * (count + value))).sqrt()
    first = (peak - _REACH * width).clamp_min(0).minimum(last)

    def density(place: Tensor) -> Tensor:
        rest = (1 - (-place).exp()).log()
        exponent: Tensor = value.unsqueeze(-1) * rest - count.unsqueeze(-1) * place - normalizer.unsqueeze(-1)
        return exponent.exp()

    return 1 - _integral(first, last, density)


def smallest_integer(cdf: Callable[[Tensor], Tensor], probability: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    """Return the smallest integer, from 0 on, whose ``cdf`` reaches a probability between 0 and 1.

    It lies between the bounds of Cantelli's inequality. Each round leaves a sixth of what is between them, all rounds a
    ten millionth.
    """
    spread = variance.sqrt()
    odds = (probability / (1 - probability)).sqrt()
    low = ((mean - spread / odds).floor() - 2).clamp_min(-1)
    high = (mean + spread * odds).ceil() + 1
    parts = _parts(6, low)
    for _ in range(9):
        points = low + ((high - low) * parts).ceil()
        short = cdf(points) < probability
        low, high = points.where(short, low).amax(0), high.where(short, points).amin(0)
    return high


def increasing_root(cdf: Callable[[Tensor], Tensor], probability: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Return where an increasing ``cdf`` reaches a probability, between two bounds."""
    parts = _parts(16, low)
    for _ in range(9):
        points = low + (high - low) * parts
        short = cdf(points) < probability
        low, high = points.where(short, low).amax(0), high.where(short, points).amin(0)
    return (low + high) / 2


def _parts(count: int, like: Tensor) -> Tensor:
    """Return what cuts 0 to 1 into so many parts, on a new first axis."""
    return like.new_tensor([part / count for part in range(1, count)]).reshape(-1, *(1,) * like.ndim)


def _integral(low: Tensor, high: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """Integrate between bounds; the function gets places on a last axis."""
    nodes, weights = (low.new_tensor(part) for part in _quadrature())
    width = high - low
    values = function(low.unsqueeze(-1) + width.unsqueeze(-1) * nodes)
    return width * (weights * values).sum(-1)


def _quadrature() -> tuple[list[float], list[float]]:
    """Return nodes and weights between 0 and 1."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return ((nodes + 1) / 2).tolist(), (weights / 2).tolist()


def _log_gamma(value: Tensor) -> Tensor:
    """Return the logarithm of the gamma function of positive numbers, by Stirling's series of larger ones."""
    far = value + _SHIFT
    inverse = 1 / far
    square = inverse.square()
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    passed = (value.unsqueeze(-1) + value.new_tensor(range(_SHIFT))).log().sum(-1)
    return (far - 0.5) * far.log() - far + 0.5 * math.log(2 * math.pi) + series - passed


def _gamma_ratio(value: Tensor) -> Tensor:
    """Return the gamma function half a step above a number of at least 1, divided by that of the number."""
    inverse = 1 / (value + _SHIFT)
    series = 1 - inverse * (1 / 8 - inverse * (1 / 128 + inverse * (5 / 1024 - inverse * (21 / 32768))))
    series = series - 399 / 262144 * inverse**5
    ratio = (value + _SHIFT).sqrt() * series
    for step in range(_SHIFT):
        ratio = ratio * (value + step) / (value + step + 0.5)
    return ratio
