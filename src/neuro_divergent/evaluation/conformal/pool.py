"""Conformal quantiles of scores, pooled over steps and series.

With ``n`` scores that are exchangeable with the next one, the one of rank ``ceil((n + 1) q)`` is not exceeded with a
probability of at least ``q``. Overlapping windows depend on each other: this is still true on average, but the coverage
of a single calibration varies as if there were fewer windows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.core.errors import InputError

ENOUGH = 40  # scores per step from which steps are not pooled, and weight of the pool added to the scores of a series


def widths(scores: Floats, quantile: float, *, by: Literal["step", "pooled"], groups: Ints | None = None) -> Floats:
    """Return the conformal quantile of the scores at each step.

    For a group, its own scores have the weight 1 each, and those of all groups together the weight ``ENOUGH`` (or as
    much as the quantile needs). So a group with few scores has nearly the width of the pool, and one with many its own:
    the weighted conformal quantile of Barber et al. (2023).

    Scores are ``(windows, horizon)``, NaN where the value was not observed, and the quantile lies between 0 and 1.
    ``groups`` has the index of the group of each window. The result is ``(groups + 1, horizon)``; its last row is that
    of the pool.
    """
    needed = math.ceil(quantile / (1 - quantile) - 1e-9)  # fewer scores have no such quantile
    horizon = scores.shape[1]
    count = 0 if groups is None else int(groups.max(initial=-1)) + 1
    result = np.empty((count + 1, horizon))
    for begin, end, steps in _neighbours(scores, needed, by):
        values = scores[:, begin:end]
        seen = ~np.isnan(values)
        pool = values[seen]
        if len(pool) < needed:
            raise InputError(
                f"the quantile {quantile:g} needs at least {needed} errors to calibrate on, there are {len(pool)}. "
                "Request a lower level, calibrate on more data (last=, step=1), or pool the steps (by='pooled')."
            )
        order = np.argsort(pool, kind="stable")
        rank = min(math.ceil((len(pool) + 1) * quantile - 1e-9), len(pool))
        result[-1, steps] = pool[order[rank - 1]]
        if groups is not None:
            owners = np.repeat(groups, seen.sum(1))[order]
            ranks = _ranks_of_groups(owners, count, quantile, max(ENOUGH, needed))
            result[:-1, steps] = pool[order[ranks - 1]][:, None]
    return result


def _neighbours(scores: Floats, needed: int, by: str) -> Iterator[tuple[int, int, list[int]]]:
    """Yield ranges of steps that are pooled, each with the steps that get their width from it."""
    horizon = scores.shape[1]
    fewest = int((~np.isnan(scores)).sum(0).min(initial=len(scores)))
    together = min(horizon, math.ceil(max(needed, ENOUGH) / max(fewest, 1))) if by == "step" else horizon
    begins = [min(max(step - together // 2, 0), horizon - together) for step in range(horizon)]
    for begin in sorted(set(begins)):
        yield begin, begin + together, [step for step, first in enumerate(begins) if first == begin]


def _ranks_of_groups(owners: Ints, count: int, quantile: float, weight: float) -> Ints:
    """Return the rank in the pool of each group's weighted quantile.

    With ``c(r)`` scores of the group among the first ``r`` of ``n``, it is the first rank for which
    ``c(r) + weight * r / n`` reaches ``quantile * (own + weight + 1)``. ``owners`` has the group of each score of the
    pool, in ascending order of the scores.
    """
    total = len(owners)
    by_group = np.argsort(owners, kind="stable")
    own = np.bincount(owners, minlength=count)
    first = np.cumsum(own) - own
    target = quantile * (own + weight + 1) - 1e-9
    # Reached with j own scores: not before the j-th of them, and not before the pool contributes the rest.
    mine = np.arange(total) - first[owners[by_group]] + 1
    rest = np.ceil((target[owners[by_group]] - mine) * total / weight)
    reached = np.maximum(by_group + 1, rest)
    ranks = np.ceil(target * total / weight)  # with no own score
    np.minimum.at(ranks, owners[by_group], reached)
    result: Ints = np.clip(ranks, 1, total).astype(np.int64)
    return result
