"""Quantile trackers: widths that are updated with each new score.

A width increases when a value was not covered and decreases when it was, so that the long-run coverage is the nominal
one for any series: the quantile tracker of conformal PID control (Angelopoulos, Candes and Tibshirani 2023), which is
adaptive conformal inference (Gibbs and Candes 2021) on the scale of the scores, where no interval is infinite. The
learning rate is not a setting: several run in parallel and are averaged by their recent loss (Gibbs and Candes 2024).
The excess of misses of the average is accumulated and corrected, which keeps the guarantee of a single tracker.
"""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import Bools, Floats, Ints

_SPEEDS = np.array([0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2])  # learning rates, in units of the scale
_MEMORY = 100  # scores over which the rates are weighted and the scale is estimated
WIDE = 3  # mean distances from the median to the scale: about that from the lowest tenth to the highest
_RETURN = 0.02  # how fast excess misses are corrected, in units of the scale


class Trackers:
    """Many widths, each updated with its own scores.

    Args:
        start: Initial widths, ``(trackers, levels, sides)``.
        middle: Median of the scores, in the same shape.
        scale: Initial spread of the scores around it; positive.
        misses: Miscoverage allowed, ``(levels, 1)``.
    """

    def __init__(self, start: Floats, middle: Floats, scale: Floats, misses: Floats) -> None:
        self.middle = middle
        self.scale = scale.copy()
        self.misses = misses
        self.widths = np.repeat(start[..., None], len(_SPEEDS), axis=-1)
        self.weights = np.full_like(self.widths, 1 / len(_SPEEDS))
        self.excess = np.zeros_like(start)
        # Learning rate and mixing weight of DtACI, for losses with the variance of those of a calibrated width.
        variance = np.square(1 - misses) * misses**3 + np.square(misses) * (1 - misses) ** 3
        self._rate = np.sqrt(3 / _MEMORY * (np.log(len(_SPEEDS) * _MEMORY) + 2) / variance)[..., None]

    def current(self) -> Floats:
        """Return the current widths, ``(trackers, levels, sides)``."""
        mean: Floats = (self.weights * self.widths).sum(-1) + _RETURN * self.scale * self.excess
        return mean

    def learn(self, trackers: Ints, scores: Floats) -> None:
        """Update each tracker with the mean of its scores, ``(scores, levels, sides)``, of one time."""
        used, place = np.unique(trackers, return_inverse=True)
        missed = _mean(scores > self.current()[trackers], place) - self.misses
        apart = scores[..., None] - self.widths[trackers]
        too_narrow = _mean(apart > 0, place) - self.misses[..., None]
        # Pinball loss of the quantile 1 - misses.
        loss = _mean(np.maximum((1 - self.misses)[..., None] * apart, -self.misses[..., None] * apart), place)
        scale = self.scale[used]
        weights = self.weights[used] * np.exp(-self._rate * np.minimum(loss / scale[..., None], 1))
        weights /= weights.sum(-1, keepdims=True)
        mixing = 1 / (2 * _MEMORY)
        self.weights[used] = (1 - mixing) * weights + mixing / len(_SPEEDS)
        self.widths[used] += _SPEEDS * scale[..., None] * too_narrow
        self.excess[used] += missed
        # The scale follows errors that grow or shrink.
        self.scale[used] += (WIDE * _mean(np.abs(scores - self.middle[trackers]), place) - scale) / _MEMORY


def _mean(values: Bools | Floats, place: Ints) -> Floats:
    """Average values that have the same index."""
    count = np.bincount(place)
    if len(count) == len(place):
        result = np.empty(values.shape)
        result[place] = values
        return result
    result = np.zeros((len(count), *values.shape[1:]))
    np.add.at(result, place, values)
    mean: Floats = result / count.reshape(-1, *[1] * (values.ndim - 1))
    return mean
