"""Jumps of the level by the factor between two units: grams and kilograms, hours and days, cents and euros."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from neuro_divergent.core.arrays import Bools, Floats, Ints
from neuro_divergent.lifecycle.drift.run_length import longest_by_chance, longest_runs

FACTORS = (10.0, 24.0, 60.0, 100.0, 1_000.0, 3_600.0, 1e6)
"""Factors of a jump upwards; downwards it is their inverse."""

_FAR = math.log(5.0)  # from the usual value, before a value can be one of another unit
_TOLERANCE, _MOST_TOLERANCE = math.log(1.25), math.log(1.6)  # of a jump, by the noise of its series
_CHANCE = 1e-3
_CERTAIN = math.log(50.0)  # from where on two values are enough
_LEAST_CYCLES = 4  # of a season in the past, so that each of its phases has a usual value
_FIRST, _BEFORE = 3, 7  # values right after and before a jump: between them a trend or a random walk changes little


def find_unit_jumps(past: Floats, new: Floats, season_length: int) -> Iterator[tuple[float, Ints, Ints, Ints]]:
    """Yield for each factor the series that jump by it, and first and last place of the jump.

    Values are compared with the median of the same phase of the season. A jump is a run of values that are far from it,
    longer than chance makes it for the series, and near one of ``FACTORS`` times the values right before it.

    Args:
        past: ``(series, times)``; NaN where there is no value. Zeros do not count.
        new: The values to check, which follow the past.
        season_length: Rows in a season.
    """
    usual, apart = _usual(past, new.shape[1], season_length)
    with np.errstate(divide="ignore", invalid="ignore"):
        before = np.log(np.abs(past)) - apart
        distance = np.log(np.abs(new)) - usual
    before[~np.isfinite(before)] = np.nan
    distance[~np.isfinite(distance)] = np.nan
    known = np.isfinite(before)
    farthest = np.nan_to_num(np.abs(before), nan=0.0).max(1)
    noise = _median(np.abs(before)) / 0.6745
    tolerance = np.clip(2.5 * noise / math.sqrt(_BEFORE), _TOLERANCE, _MOST_TOLERANCE)
    places = np.arange(new.shape[1])
    for sign in (1.0, -1.0):
        runs = longest_runs(_through_gaps(sign * distance > _FAR, distance))
        needed = longest_by_chance(sign * before > _FAR, known, places=distance.size, probability=_CHANCE)
        begins, ends = runs.begins[:, None], (runs.begins + runs.lengths)[:, None]
        inside = (places >= begins) & (places < ends)
        level = _median(np.where(inside, sign * distance, np.nan))
        first = _median(np.where(inside & (places < begins + _FIRST), sign * distance, np.nan))
        earlier = sign * _last_before(np.concatenate([before, distance], axis=1), past.shape[1] + runs.begins)
        certain = (level > _CERTAIN) & (level > 2 * farthest)
        counted = (inside & np.isfinite(distance)).sum(1)
        is_long = counted >= np.where(certain, 2, needed)
        # Of a certain jump only the factor is in doubt: a season longer than ``season_length`` moves the values nearby.
        allowed = np.where(certain, _MOST_TOLERANCE, tolerance)
        jump = np.where(is_long & (np.abs(first - level) < 2 * allowed), level - earlier, np.nan)
        for factor, found in _by_factor(jump, allowed):
            yield factor**sign, found, runs.begins[found], runs.begins[found] + runs.lengths[found] - 1


def _by_factor(jump: Floats, tolerance: Floats) -> Iterator[tuple[float, Ints]]:
    """Yield the factors of jumps, and their series; where series disagree by noise only, the most common counts."""
    factors = np.log(FACTORS)
    apart = np.abs(np.nan_to_num(jump, nan=np.inf)[:, None] - factors)
    nearest = apart.argmin(1)
    fits = apart.min(1) < tolerance
    if not fits.any():
        return
    usual = int(np.bincount(nearest[fits], minlength=len(factors)).argmax())
    nearest[apart[:, usual] < 2 * tolerance] = usual
    for place in np.unique(nearest[fits]).tolist():
        yield FACTORS[place], np.flatnonzero(fits & (nearest == place))


def _last_before(values: Floats, places: Ints) -> Floats:
    """Return the median of the last few values before a place of each row; NaN where there is none nearby."""
    columns = places[:, None] - 1 - np.arange(4 * _BEFORE)
    nearby = np.take_along_axis(values, np.maximum(columns, 0), axis=1)
    nearby[(columns < 0) | ~np.isfinite(nearby)] = np.nan
    nearby[np.cumsum(np.isfinite(nearby), axis=1) > _BEFORE] = np.nan
    return _median(nearby)


def _usual(past: Floats, ahead: int, season_length: int) -> tuple[Floats, Floats]:
    """Return the logarithm of the usual absolute value, for the new places and for those of the past."""
    count, length = past.shape
    season = season_length if length >= _LEAST_CYCLES * season_length else 1
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(past))
    logs[~np.isfinite(logs)] = np.nan
    overall = _median(logs)
    phases = np.empty((count, season))
    for phase in range(season):
        phases[:, phase] = _median(logs[:, phase::season])
    phases = np.where(np.isfinite(phases), phases, overall[:, None])
    return phases[:, np.arange(length, length + ahead) % season], phases[:, np.arange(length) % season]


def _median(values: Floats) -> Floats:
    """Return the median of each row; NaN where it has no value."""
    counts = np.isfinite(values).sum(1)
    ordered = np.sort(values, axis=1)
    low, high = np.maximum((counts - 1) // 2, 0)[:, None], np.minimum(counts // 2, values.shape[1] - 1)[:, None]
    middle = (np.take_along_axis(ordered, low, 1) + np.take_along_axis(ordered, high, 1))[:, 0] / 2
    return np.where(counts > 0, middle, np.nan)


def _through_gaps(state: Bools, values: Floats) -> Bools:
    """Carry a state on over places without a value, so that zeros and gaps do not end a run."""
    places = np.where(np.isfinite(values), np.arange(values.shape[1]), -1)
    last = np.maximum.accumulate(places, axis=1)
    carried = np.take_along_axis(state, np.maximum(last, 0), axis=1)
    return carried & (last >= 0)
