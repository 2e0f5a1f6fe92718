"""The Tweedie distribution with a power between 1 and 2."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Distribution
from torch.distributions.constraints import Constraint
from torch.types import _size

from neuro_divergent.losses.distribution.distributions.solve import between, special

_SMOOTH = 0.05  # dispersion relative to the value below which the saddle point is right to six digits
_SMOOTH_SUM = 0.01  # the same for probabilities
_NEAR = 0.05  # standard deviations
_NEGLIGIBLE = 1e-15


class TweedieDistribution(Distribution):
    """The sum of a Poisson number of gamma distributed amounts.

    The density is the series of Dunn & Smyth, "Series evaluation of Tweedie exponential dispersion model densities"
    (Statistics and Computing 2005), added up in the logarithm over all terms that can matter. Where that would be more
    than a fixed number of them, the saddle point approximation with two corrections takes over, with an error below a
    millionth. Probabilities are sums over the number of amounts, and where those are hundreds a saddle point, too, with
    an error below a hundred thousandth.

    Args:
        dispersion: Variance divided by ``mean ** power``, positive, in the shape of ``mean``.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {}

    def __init__(self, mean: Tensor, dispersion: Tensor, power: float) -> None:
        self._mean, self.dispersion, self.power = mean, dispersion, power
        super().__init__(self._mean.shape, validate_args=False)

    @property
    def mean(self) -> Tensor:
        return self._mean

    @property
    def variance(self) -> Tensor:
        return self.dispersion * self._mean.pow(self.power)

    @property
    def rate(self) -> Tensor:
        """Mean number of amounts; the probability of zero is ``exp(-rate)``."""
        return self._mean.pow(2 - self.power) / (self.dispersion * (2 - self.power))

    def log_prob(self, value: Tensor) -> Tensor:
        some = value != 0
        amount = value.where(some, self._mean.detach())
        roughness = self.dispersion * amount.pow(self.power - 2)
        smooth = roughness < self._roughest
        # Each branch gets values that it can work with wherever the other one is chosen.
        series = self._series(amount, roughness.clamp_min(self._roughest))
        return self._saddle_point(amount, roughness).where(smooth, series).where(some, -self.rate)

    def cdf(self, value: Tensor) -> Tensor:
        many = 1 / ((2 - self.power) * _SMOOTH_SUM)
        counted = special(_compound(self._shape), self.rate.clamp_max(many), value.clamp_min(0) / self._scale)
        return counted.where(self.rate <= many, self._smooth_cdf(value)).where(value >= 0, 0)

    def icdf(self, value: Tensor) -> Tensor:
        spread = self.variance.sqrt()
        high = (self._mean + 2 * spread).expand((value + spread).shape)
        while bool((short := self.cdf(high) < value).any()):
            high = (2 * high + spread).where(short, high)

        def cdf(value: Tensor, mean: Tensor, dispersion: Tensor) -> Tensor:
            return TweedieDistribution(mean, dispersion, self.power).cdf(value)

        found = between(cdf, value, torch.zeros_like(high), high, self._mean, self.dispersion)
        return found.where(value > (-self.rate).exp(), 0)

    def sample(self, sample_shape: _size = torch.Size()) -> Tensor:  # noqa: B008 - as torch has it
        with torch.no_grad():
            count = torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))
            amount = torch._standard_gamma((count * self._shape).clamp_min(torch.finfo(count.dtype).tiny))
            return (amount * self._scale).where(count > 0, 0)

    @property
    def _shape(self) -> float:
        """Shape of the gamma distribution of an amount."""
        return (2 - self.power) / (self.power - 1)

    @property
    def _scale(self) -> Tensor:
        """Scale of the gamma distribution of an amount."""
        return self.dispersion * (self.power - 1) * self._mean.pow(self.power - 1)

    @property
    def _roughest(self) -> float:
        """Where the saddle point takes over; near power 1, once a value can be made of several numbers of amounts."""
        return min(_SMOOTH, (self.power - 1) / (2 - self.power))

    def _exponent(self, amount: Tensor) -> Tensor:
        """Return the part of the logarithm that the mean has to do with."""
        p = self.power
        return (amount * self._mean.pow(1 - p) / (1 - p) - self._mean.pow(2 - p) / (2 - p)) / self.dispersion

    def _saddle_point(self, amount: Tensor, roughness: Tensor) -> Tensor:
        p = self.power
        best = amount.pow(2 - p) / ((1 - p) * (2 - p)) / self.dispersion
        width = (2 * math.pi * self.dispersion).log() + p * amount.log()
        correction = roughness * (p * (3 - p) / 24) * (1 + roughness * ((p - 1) * (2 - p) / 2))
        return self._exponent(amount) - best - width / 2 - correction

    def _series(self, amount: Tensor, roughness: Tensor) -> Tensor:
        p = self.power
        # Terms are powers of z; with roughness r it is a constant times r ** (-1 / (p - 1)).
        logarithm = -roughness.log() / (p - 1) - self._shape * math.log(p - 1) - math.log(2 - p)
        number, constant = _terms(p, self._roughest)
        terms = logarithm.unsqueeze(-1) * number.to(amount) - constant.to(amount)
        return self._exponent(amount) + terms.logsumexp(-1) - amount.log()

    def _smooth_cdf(self, value: Tensor) -> Tensor:
        """Return the probability of a value or less for many amounts: Barndorff-Nielsen's form of the saddle point."""
        spread = self.variance.sqrt()
        place = (value - self._mean) / (_NEAR * spread)
        # At the mean the correction is 0 / 0; a straight line between both sides of it is as good there.
        below, above = (self._root(self._mean + side * spread)[1] for side in (-_NEAR, _NEAR))
        root, correction = self._root(value)
        deviate = root + below.lerp(above, (1 + place) / 2).where(place.abs() < 1, correction)
        probability: Tensor = torch.special.ndtr(deviate)
        return probability

    def _root(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """Return the signed root of the deviance, which is almost normal, and what makes it more so."""
        p, mean = self.power, self._mean
        value = value.maximum(1e-6 * mean)
        best = value.pow(2 - p) / ((1 - p) * (2 - p)) / self.dispersion
        root = (value - mean).sign() * (2 * (best - self._exponent(value))).clamp_min(0).sqrt()
        slope = (value.pow(1 - p) - mean.pow(1 - p)) / (1 - p) * (value.pow(p) / self.dispersion).sqrt()
        return root, (slope / root).log() / root


@lru_cache(maxsize=16)
def _terms(power: float, roughest: float) -> tuple[Tensor, Tensor]:
    """Return the numbers of the terms of the series and the constant part of each."""
    ratio = (2 - power) / (power - 1)
    most = 1 / ((2 - power) * roughest)  # the number of the largest term; those around it fall off like a normal curve
    count = math.ceil(most + 9 * math.sqrt(most * (power - 1)) + 20)
    with torch.inference_mode(mode=False):  # what is kept from a forecast must serve training, too
        number = torch.arange(1, count + 1, dtype=torch.float64)
        return number, torch.lgamma(number + 1) + torch.lgamma(ratio * number)


def _compound(shape: float) -> Any:
    """Return the distribution function of a Poisson number of gamma amounts of this shape and scale 1."""
    from scipy.special import gammainc, gammaln, xlogy

    def cdf(rate: Any, value: Any) -> Any:
        rate, value = np.broadcast_arrays(rate, value)
        total = np.array(np.exp(-rate))
        top = float(np.nan_to_num(rate).max(initial=0.0))
        for number in range(1, math.ceil(top + 9 * math.sqrt(top) + 20)):
            weight = np.exp(xlogy(number, rate) - rate - gammaln(number + 1))
            counts = weight > _NEGLIGIBLE
            total[counts] += weight[counts] * gammainc(number * shape, value[counts])
        return np.where(np.isnan(rate), np.nan, total)

    return cdf
