"""Widths that follow the scores as they arrive.

A width moves up where the truth was missed and down where it was covered, so that in the long run it misses as often as
it may, whatever the series does: the quantile tracker of conformal PID control (Angelopoulos, Candes and Tibshirani
2023), which is adaptive conformal inference (Gibbs and Candes 2021) on the scale of the scores, where no interval is
ever infinite. How far it moves is not a setting: several speeds run beside each other and are averaged by how well each
has done lately (Gibbs and Candes 2024). What the average still misses too often or too rarely is added up and worked
off, which keeps the promise of a single tracker.
"""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import Bools, Floats, Ints

_SPEEDS = np.array([0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2])  # moves per truth, in units of the scale
_MEMORY = 100  # truths over which the speeds are judged and the scale is measured
WIDE = 3  # mean distances from the median to the scale: about that from the lowest tenth to the highest
_RETURN = 0.02  # how fast excess misses are worked off, in units of the scale


class Trackers:
    """Many widths, each following scores of its own.

    Args:
        start: Where the widths begin, ``(trackers, levels, ends)``.
        middle: Median of the scores, in the same shape.
        scale: How widely they spread around it, to begin with; positive.
        misses: Share that may be missed, ``(levels, 1)``.
    """

    def __init__(self, start: Floats, middle: Floats, scale: Floats, misses: Floats) -> None:
        self.middle = middle
        self.scale = scale.copy()
        self.misses = misses
        self.widths = np.repeat(start[..., None], len(_SPEEDS), axis=-1)
        self.trust = np.full_like(self.widths, 1 / len(_SPEEDS))
        self.excess = np.zeros_like(start)
        # The rate and the share of fresh trust of DtACI, for costs that vary as those of a calibrated width do.
        variance = np.square(1 - misses) * misses**3 + np.square(misses) * (1 - misses) ** 3
        self._rate = np.sqrt(3 / _MEMORY * (np.log(len(_SPEEDS) * _MEMORY) + 2) / variance)[..., None]

    def current(self) -> Floats:
        """Return the widths as of now, ``(trackers, levels, ends)``."""
        mean: Floats = (self.trust * self.widths).sum(-1) + _RETURN * self.scale * self.excess
        return mean

    def learn(self, trackers: Ints, scores: Floats) -> None:
        """Move on after truths that became known at one time.

        Args:
            trackers: Which tracker each score belongs to; several of one count as one, on average.
            scores: ``(scores, levels, ends)``.
        """
        used, place = np.unique(trackers, return_inverse=True)
        missed = _mean(scores > self.current()[trackers], place) - self.misses
        apart = scores[..., None] - self.widths[trackers]
        too_narrow = _mean(apart > 0, place) - self.misses[..., None]
        # Pinball cost of the quantile 1 - misses.
        cost = _mean(np.maximum((1 - self.misses)[..., None] * apart, -self.misses[..., None] * apart), place)
        scale = self.scale[used]
        trust = self.trust[used] * np.exp(-self._rate * np.minimum(cost / scale[..., None], 1))
        trust /= trust.sum(-1, keepdims=True)
        fresh = 1 / (2 * _MEMORY)
        self.trust[used] = (1 - fresh) * trust + fresh / len(_SPEEDS)
        self.widths[used] += _SPEEDS * scale[..., None] * too_narrow
        self.excess[used] += missed
        # Widths must be able to keep up with errors that grow, and settle with errors that shrink.
        self.scale[used] += (WIDE * _mean(np.abs(scores - self.middle[trackers]), place) - scale) / _MEMORY


def _mean(values: Bools | Floats, place: Ints) -> Floats:
    """Average values that have the same place."""
    count = np.bincount(place)
    if len(count) == len(place):
        result = np.empty(values.shape)
        result[place] = values
        return result
    result = np.zeros((len(count), *values.shape[1:]))
    np.add.at(result, place, values)
    mean: Floats = result / count.reshape(-1, *[1] * (values.ndim - 1))
    return mean
