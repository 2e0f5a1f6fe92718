"""The sampled Gaussian mechanism: one round, in which participants are drawn and noise is added to their sum."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from neuro_divergent.core.arrays import Floats
from neuro_divergent.privacy.privacy_loss import PrivacyLoss, discretize


class SampledGaussian:
    """A sum of vectors of norm one at most, each of them there by chance, with Gaussian noise.

    With one participant more, the projection of the output on its vector is drawn from the mixture of N(0, s²) and
    N(1, s²) with the weights 1 - q and q, and without from N(0, s²); that is the worst case (Mironov, Talwar and
    Zhang, Rényi Differential Privacy of the Sampled Gaussian Mechanism, 2019).

    Args:
        participation: Probability q with which each takes part, independently of all others.
        noise_multiplier: Standard deviation s of the noise over the largest norm of a vector.
    """

    def __init__(self, participation: float, noise_multiplier: float) -> None:
        self.participation = participation
        self.noise_multiplier = noise_multiplier

    def removal(self, epsilon: Floats) -> Floats:
        """Return delta for each epsilon, where the data set with the participant is compared with the other."""
        chance, noise = self.participation, self.noise_multiplier
        cut = self._output(np.exp(epsilon))
        above = (1.0 - chance) * ndtr(-cut / noise) + chance * ndtr((1.0 - cut) / noise)
        return np.asarray(above - np.exp(epsilon) * ndtr(-cut / noise))

    def addition(self, epsilon: Floats) -> Floats:
        """Return delta for each epsilon, where the data set without the participant is compared with the other."""
        chance, noise = self.participation, self.noise_multiplier
        cut = self._output(np.exp(-epsilon))
        below = (1.0 - chance) * ndtr(cut / noise) + chance * ndtr((cut - 1.0) / noise)
        return np.asarray(ndtr(cut / noise) - np.exp(epsilon) * below)

    def privacy_losses(self, width: float, tail: float) -> tuple[PrivacyLoss, PrivacyLoss]:
        """Return the distributions of the privacy loss for removal and addition, on a grid.

        Args:
            width: Distance of two points.
            tail: Probability that may lie beyond the grid.
        """
        low, high = self._range(tail)
        return discretize(self.removal, low, high, width), discretize(self.addition, -high, -low, width)

    def span(self, tail: float) -> float:
        """Return the length of the interval that a loss is in but for a probability."""
        low, high = self._range(tail)
        return high - low

    def _range(self, tail: float) -> tuple[float, float]:
        reach = -float(ndtri(tail)) * self.noise_multiplier
        return self._loss(-reach), self._loss(1.0 + reach)

    def _loss(self, output: float) -> float:
        """Return the logarithm of the ratio of both densities at an output."""
        exponent = (2 * output - 1) / (2 * self.noise_multiplier**2)
        with np.errstate(divide="ignore"):
            return float(np.logaddexp(np.log1p(-self.participation), np.log(self.participation) + exponent))

    def _output(self, ratio: Floats) -> Floats:
        """Return the output at which the densities have a ratio; minus infinity where they have a larger one always."""
        rest = (ratio - (1.0 - self.participation)) / self.participation
        with np.errstate(divide="ignore"):
            logarithm = np.log(np.maximum(rest, 0.0))
        return self.noise_multiplier**2 * logarithm + 0.5
