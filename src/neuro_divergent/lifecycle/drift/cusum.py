"""Cumulative sums (CUSUM, Page 1954) of many series, with p values by a block bootstrap of the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.lifecycle.drift.standardization import mean_of

_ALLOWANCE = 0.5  # half the change in standard deviations that is found soonest
_PATHS = 3_000
_WARM_UP = 50
_TAIL = 0.05  # of the bootstrapped maxima, which is extended by an exponential distribution


@dataclass(frozen=True, eq=False)
class Cusum:
    """The largest cumulative sum of each series.

    Attributes:
        maxima: The largest sum, upwards or downwards; 0 where a series never leaves the allowance.
        begins: Column at which that sum began, which estimates the time of the change.
        p_values: Probability of as large a sum if the new values are like the reference.
    """

    maxima: Floats
    begins: Ints
    p_values: Floats


def cusum_tests(reference: Floats, new: Floats, *, block: int, seed: int = 0) -> tuple[Cusum, Cusum]:
    """Accumulate new values beyond an allowance, and compare with paths drawn from the reference.

    Each series gets mean 0 and standard deviation 1 in the reference. A path of the bootstrap is as long as reference
    and new part together, is made of blocks of residuals of any series, and is standardized by its own first part in
    the same way: with a short reference, the error of its mean makes sums larger. Maxima beyond the 95 % quantile of
    the bootstrap have p values by an exponential tail, which is that of a cumulative sum with a drift downwards;
    otherwise none could be below one over the number of paths.

    Args:
        reference: ``(series, times)``; NaN where there is no value.
        new: The same for the new values.
        block: Length of the blocks of residuals.
        seed: Of the bootstrap.

    Returns:
        Sums of the values, upwards and downwards, and sums of their absolute values, upwards.
    """
    past = max(2, int(np.median(np.isfinite(reference).sum(1))))
    paths = _draw(_unit(reference, new)[0], past + new.shape[1], block, np.random.default_rng(seed))
    drawn = paths[:, :past], paths[:, past:]
    level = _compare((reference, new), drawn, two_sided=True)
    centre, middle = mean_of(reference, 1)[:, None], mean_of(drawn[0], 1)[:, None]
    sizes = np.abs(reference - centre), np.abs(new - centre)
    return level, _compare(sizes, (np.abs(drawn[0] - middle), np.abs(drawn[1] - middle)), two_sided=False)


def _compare(given: tuple[Floats, Floats], drawn: tuple[Floats, Floats], *, two_sided: bool) -> Cusum:
    """Return the sums of given values, with p values by those of drawn ones."""
    maxima, begins = _accumulate(_unit(*given)[1], two_sided=two_sided)
    others = np.sort(_accumulate(_unit(*drawn)[1], two_sided=two_sided)[0])
    p_values = (len(others) - np.searchsorted(others, maxima, side="left") + 1) / (len(others) + 1)
    limit = float(np.quantile(others, 1 - _TAIL))
    if (others > limit).any():
        far = maxima > limit
        p_values[far] = _TAIL * np.exp(-(maxima[far] - limit) / (others[others > limit] - limit).mean())
    return Cusum(maxima, begins, p_values)


def _unit(reference: Floats, new: Floats) -> tuple[Floats, Floats]:
    """Give each series mean 0 and standard deviation 1 in the reference."""
    centre = mean_of(reference, 1)[:, None]
    spread = np.sqrt(mean_of(np.square(reference - centre), 1))[:, None]
    spread = np.where(spread > 0, spread, 1.0)
    return (reference - centre) / spread, (new - centre) / spread


def _accumulate(values: Floats, *, two_sided: bool) -> tuple[Floats, Ints]:
    """Return the largest sum of each series, and where it began."""
    count, length = values.shape
    signs = np.array([1.0, -1.0] if two_sided else [1.0])[:, None]
    sums, largest = np.zeros((len(signs), count)), np.zeros((len(signs), count))
    began, begins = np.zeros(sums.shape, np.int64), np.zeros(sums.shape, np.int64)
    columns = np.nan_to_num(values, nan=0.0).T
    for time in range(length):
        began[sums <= 0] = time
        sums += signs * columns[time] - _ALLOWANCE
        np.maximum(sums, 0, out=sums)
        higher = sums > largest
        largest[higher], begins[higher] = sums[higher], began[higher]
    side = largest.argmax(0)
    every = np.arange(count)
    return largest[side, every], begins[side, every]


def _draw(reference: Floats, length: int, block: int, rng: np.random.Generator) -> Floats:
    """Return paths like the reference: blocks of its one-step residuals of any series, with its autocorrelation.

    Blocks of the values themselves would end long excursions at their borders, and have no means of their own because
    the mean of each series was removed.
    """
    count, width = reference.shape
    values = np.nan_to_num(reference, nan=0.0)
    memory = _autocorrelation(values, reference)
    residuals = values[:, 1:] - memory * values[:, :-1]
    block, total = max(1, min(block, width - 1)), length + _WARM_UP
    pieces = -(-total // block)
    series = rng.integers(count, size=(_PATHS, pieces))
    starts = rng.integers(width - block, size=(_PATHS, pieces))
    drawn = residuals[series[:, :, None], starts[:, :, None] + np.arange(block)].reshape(_PATHS, -1)
    paths = np.ascontiguousarray(drawn[:, :total].T)
    for time in range(1, total):
        paths[time] += memory * paths[time - 1]
    return paths[_WARM_UP:].T


def _autocorrelation(values: Floats, reference: Floats) -> float:
    """Return the autocorrelation at lag 1 of all series together, corrected for the mean that was removed of each."""
    power = float(np.square(values).sum())
    plain = float((values[:, 1:] * values[:, :-1]).sum()) / power if power > 0 else 0.0
    corrected = plain + (1 + 3 * plain) / max(float(np.median(np.isfinite(reference).sum(1))), 1.0)
    return float(np.clip(corrected, 0.0, 0.98))
