"""Distributions of the privacy loss on a grid: how far an output tells two neighbouring data sets apart.

The privacy loss of an output is the logarithm of its probability with a participant over that without. Its
distribution tells delta for every epsilon, and losses of independent rounds add up, so composition is a convolution.
Everything that is left out or rounded counts as loss: what comes out is never less than the truth, up to rounding of
float64.

References:
    Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, Connect the Dots: Tighter Discrete Approximations of Privacy Loss
    Distributions, PoPETs 2022. Koskela, Jälkö and Honkela, Computing Tight Differential Privacy Guarantees Using FFT,
    AISTATS 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from neuro_divergent.core.arrays import Floats

_TILTS = np.geomspace(1e-3, 1e4, 60)  # of the Chernoff bounds


@dataclass(frozen=True)
class PrivacyLoss:
    """The distribution of the privacy loss on multiples of a width.

    Attributes:
        width: Distance of two points of the grid.
        start: The first point, as a number of widths.
        mass: Probability of each point.
        infinite: Probability of a loss without bound.
    """

    width: float
    start: int
    mass: Floats
    infinite: float

    @property
    def losses(self) -> Floats:
        """The points of the grid."""
        return self.width * np.arange(self.start, self.start + len(self.mass), dtype=np.float64)

    def delta(self, epsilon: float) -> float:
        """Return the delta that goes with an epsilon."""
        losses = self.losses
        above = losses > epsilon
        return float(min(self.infinite - np.sum(np.expm1(epsilon - losses[above]) * self.mass[above]), 1.0))

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon that goes with a delta; infinity if there is none."""
        if self.infinite > delta:
            return float("inf")
        low, high = 0.0, float(self.losses[-1])
        if high <= 0 or self.delta(0.0) <= delta:
            return 0.0
        while high - low > 1e-9 * max(high, 1.0):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high


def discretize(curve: Callable[[Floats], Floats], low: float, high: float, width: float) -> PrivacyLoss:
    """Return a distribution whose delta equals a curve at every point of a grid, and is above it between them.

    As a function of the exponential of epsilon, the delta of a distribution on a grid is a line between points, and the
    one of any mechanism is convex: lines that connect its points lie above it.

    Args:
        curve: Delta for each epsilon, of one round.
        low: Where the grid begins; smaller losses count as this one.
        high: Where it ends at least; larger losses count as infinite.
        width: Distance of two points.
    """
    start = int(np.floor(low / width))
    grid = width * np.arange(start, int(np.ceil(high / width)) + 2, dtype=np.float64)
    deltas = np.clip(curve(grid), 0.0, 1.0)
    points = np.exp(grid)
    slopes = np.clip((deltas[:-1] - deltas[1:]) / np.diff(points), 0.0, 1.0)
    slopes = np.append(np.maximum.accumulate(slopes[::-1])[::-1], 0.0)  # that they fall, rounding may break
    mass = points[1:] * (slopes[:-1] - slopes[1:])
    infinite = float(deltas[-1])
    first = max(1.0 - float(mass.sum()) - infinite, 0.0)
    return PrivacyLoss(width, start, np.concatenate([[first], mass]), infinite)


def compose(parts: Sequence[tuple[PrivacyLoss, int]], tail: float) -> PrivacyLoss:
    """Return the distribution of the sum of independent losses.

    Args:
        parts: Distributions of one width, and how often each of them is drawn.
        tail: Probability on either side that may be left out; it counts as infinite loss.
    """
    width = parts[0][0].width
    start = sum(part.start * number for part, number in parts)
    stop = sum((part.start + len(part.mass) - 1) * number for part, number in parts)
    # Chernoff: the sum exceeds (growth - log tail) / tilt with a probability of at most the tail.
    upper = np.min((_growth(parts, _TILTS) - np.log(tail)) / _TILTS)
    lower = np.max((np.log(tail) - _growth(parts, -_TILTS)) / _TILTS)
    first = max(int(np.floor(lower / width)), start)
    last = min(int(np.ceil(upper / width)), stop)
    size = 1 << int(np.ceil(np.log2(max(last - first + 2, *(len(part.mass) for part, _ in parts)))))
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for part, number in parts:
        spectrum *= np.fft.rfft(part.mass, size) ** number
    around = np.fft.irfft(spectrum, size)  # what does not fit wraps around, which is at most the tails
    mass = np.maximum(around[(np.arange(first, last + 1) - start) % size], 0.0)
    finite = sum(number * np.log1p(-part.infinite) for part, number in parts)
    infinite = max(-np.expm1(finite) + 2 * tail, 1.0 - mass.sum())  # what was lost on the way is no privacy
    return PrivacyLoss(width, first, mass, float(infinite))


def _growth(parts: Sequence[tuple[PrivacyLoss, int]], tilts: Floats) -> Floats:
    """Return the logarithm of the moment generating function of a sum."""
    found = np.zeros_like(tilts)
    for part, number in parts:
        losses = part.losses
        found += [number * logsumexp(tilt * losses, b=part.mass) for tilt in tilts]
    return found
