"""Checks of a matrix of new values against the past of the same series.

Each takes ``past`` and ``new``, ``(series, times)`` with NaN where there is no value, and returns which series are
broken, the first and last place of it, and how large it is.
"""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import Bools, Floats, Ints
from neuro_divergent.lifecycle.drift.run_length import Runs, longest_by_chance, longest_runs

Found = tuple[Ints, Ints, Ints, Floats]

_CHANCE = 1e-3  # of a false incident of one kind in all series together
_LEAST_ROWS = 3
_SUDDEN = 0.5  # of the values that used to be other than zero
_FLOOR = 0.01  # of the values of the past that are zero, if zero is the lowest value that can be


def find_missing(past: Floats, new: Floats) -> Found:
    """Find series without values for longer than ever before, if they had values at the end of the past."""
    known = np.isfinite(past)
    begun = np.maximum.accumulate(known, axis=1)
    continued = np.flip(np.maximum.accumulate(np.flip(known, 1), axis=1), 1)
    inside = begun & continued  # what is missing before the first or after the last value is no gap
    trailing = (~continued).sum(1)
    usual = longest_runs(inside & ~known).lengths
    needed = longest_by_chance(inside & ~known, inside, places=new.size, probability=_CHANCE)
    return _long(longest_runs(~np.isfinite(new)), np.maximum(needed, _LEAST_ROWS), usable=trailing <= usual)


def find_constant(past: Floats, new: Floats) -> Found:
    """Find series that repeat one value for longer than ever before."""
    repeated, known = _repeats(past), np.isfinite(past)
    pairs = np.zeros(past.shape, np.bool_)
    pairs[:, 1:] = known[:, 1:] & known[:, :-1]
    needed = longest_by_chance(repeated, pairs, places=new.size, probability=_CHANCE)
    # Zeros have a memory of their own: demand that is often zero stays zero for longer than other values.
    zeros = longest_by_chance(past == 0, known, places=new.size, probability=_CHANCE)
    runs = longest_runs(_repeats(new))
    begins = np.maximum(runs.begins - 1, 0)  # with the value that is repeated
    first = np.take_along_axis(new, np.minimum(begins, new.shape[1] - 1)[:, None], axis=1)[:, 0]
    needed = np.where(first == 0, np.maximum(needed, zeros), needed) + 1
    lengths = np.where(runs.lengths > 0, runs.lengths + 1, 0)
    return _long(Runs(lengths, begins), needed, usable=repeated.sum(1) < pairs.sum(1))


def find_zeros(past: Floats, new: Floats) -> Found:
    """Find series of which most values that used to be other than zero are zero."""
    from scipy.special import betainc

    count = np.isfinite(new).sum(1)
    zeros, was = (new == 0).sum(1), (past == 0).sum(1)
    usual = (was + 1) / (np.isfinite(past).sum(1) + 2)
    fraction = zeros / np.maximum(count, 1)
    # Zeros come in runs, so as many values as the longest one had count as one.
    trials = np.floor(count / np.maximum(longest_runs(past == 0).lengths, 1))
    hits = np.floor(fraction * trials)
    likely = np.minimum(1.5 * usual, 1)
    # Probability of as many hits in a binomial distribution.
    chance = np.where(hits >= 1, betainc(np.maximum(hits, 1), np.maximum(trials - hits, 0) + 1, likely), 1.0)
    sudden = (fraction - usual > _SUDDEN * (1 - usual)) & (chance * len(new) < _CHANCE) & (zeros >= _LEAST_ROWS)
    return _marked(new == 0, np.flatnonzero(sudden), fraction)


def find_negative(past: Floats, new: Floats) -> Found:
    """Find negative values where zero is the lowest value that can be, or far below all that was there."""
    lowest = np.where(np.isfinite(past), past, np.inf).min(1)
    middle = np.nanmedian(past, axis=1)
    has_floor = ((past == 0).sum(1) >= np.maximum(_FLOOR * np.isfinite(past).sum(1), _LEAST_ROWS)) & (lowest >= 0)
    limit = np.where(has_floor, 0.0, np.minimum(0.0, 2 * lowest - middle))
    below = (new < limit[:, None]) & (lowest >= 0)[:, None]
    return _marked(below, np.flatnonzero(below.any(1)), np.where(below, new, 0.0).min(1))


def _marked(state: Bools, found: Ints, amounts: Floats) -> Found:
    """Return series with the first and last place of a state."""
    if not len(found):
        return found, found, found, np.empty(0)
    ends = state.shape[1] - 1 - np.flip(state[found], 1).argmax(1)
    return found, state[found].argmax(1), ends, amounts[found]


def _long(runs: Runs, needed: Floats, *, usable: Bools) -> Found:
    found = np.flatnonzero(usable & (runs.lengths >= needed))
    begins, lengths = runs.begins[found], runs.lengths[found]
    return found, begins, begins + lengths - 1, lengths.astype(np.float64)


def _repeats(values: Floats) -> Bools:
    """Return where a value is the one before."""
    same = np.zeros(values.shape, np.bool_)
    same[:, 1:] = values[:, 1:] == values[:, :-1]
    return same
