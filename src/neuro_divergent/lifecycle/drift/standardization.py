"""Errors in units of the size that they have in a reference."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Bools, Floats, Ints
from neuro_divergent.lifecycle.drift.errors import Errors

LEAST_VALUES = 20  # of a series in the reference, so that it has a size to divide by
CLIP = 8.0
_GAUSSIAN = math.sqrt(math.pi / 2)  # standard deviation of a normal distribution in mean absolute deviations
_LEAST_OF_STEP = 50  # values of a step in the reference, so that its errors have a size of their own


@dataclass(frozen=True, eq=False)
class Standardized:
    """Errors of the series that both sides have, with mean 0 and size 1 in the reference.

    Attributes:
        ids: The series.
        reference: ``(series, times)``, clipped at ``CLIP`` so that one value does not decide about a panel.
        new: The same for the new errors.
        left_out: How many series of the new errors have no size in the reference, by reason.
    """

    ids: pl.Series
    reference: Floats
    new: Floats
    left_out: dict[str, int]


def standardize(reference: Errors, new: Errors) -> Standardized:
    """Subtract the mean of each series in the reference and divide by its size there.

    The size is the mean absolute deviation, times a constant that makes it the standard deviation of a normal
    distribution. Later steps of a forecast have larger errors and often a bias: what the series have in common by step
    is removed in the same way.
    """
    places = _places_of(new.ids, reference.ids)
    known = np.flatnonzero(places >= 0)
    old, fresh = reference.values[places[known]], new.values[known]
    counts = np.isfinite(old).sum(1)
    centre = mean_of(old, 1)
    size = _GAUSSIAN * mean_of(np.abs(old - centre[:, None]), 1)
    largest = np.maximum(_largest(old), 1e-300)
    enough, varies = counts >= LEAST_VALUES, size > 1e-9 * largest
    present = np.isfinite(fresh).any(1)
    kept = enough & varies & present
    places, known = places[known][kept], known[kept]
    with np.errstate(over="ignore", invalid="ignore"):
        old = (old[kept] - centre[kept, None]) / size[kept, None]
        fresh = (fresh[kept] - centre[kept, None]) / size[kept, None]
    if reference.steps is not None and new.steps is not None and reference.horizon > 1:
        _level_steps(old, reference.steps[places], fresh, new.steps[known])
    left_out = {
        "new series": int(new.num_series - len(enough)),
        "too few errors in the reference": int((~enough).sum()),
        "errors that never vary in the reference": int((enough & ~varies).sum()),
        "no new errors": int((enough & varies & ~present).sum()),
    }
    return Standardized(
        ids=new.ids.gather(known),
        reference=np.clip(old, -CLIP, CLIP, out=old),
        new=np.clip(fresh, -CLIP, CLIP, out=fresh),
        left_out={reason: count for reason, count in left_out.items() if count},
    )


def mean_of(values: Floats, axis: int) -> Floats:
    """Return the mean of what is finite; NaN where nothing is."""
    finite = np.isfinite(values)
    counts = finite.sum(axis)
    total = values.sum(axis) if finite.all() else np.where(finite, values, 0.0).sum(axis)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


def _largest(values: Floats) -> Floats:
    """Return the largest absolute value of each series; 0 where there is none."""
    largest: Floats = np.nan_to_num(np.abs(values), nan=0.0, posinf=0.0).max(1, initial=0.0)
    return largest


def _places_of(ids: pl.Series, among: pl.Series) -> Ints:
    """Return where each id is among others; -1 where it is not."""
    table = pl.DataFrame({"id": among, "place": np.arange(len(among))})
    wanted = pl.DataFrame({"id": ids.cast(among.dtype, strict=False)})
    found = wanted.join(table, on="id", how="left", maintain_order="left")["place"]
    return found.fill_null(-1).to_numpy().astype(np.int64)


def _level_steps(old: Floats, old_steps: Ints, fresh: Floats, fresh_steps: Ints) -> None:
    """Remove mean and size that the errors of a step have in common, in place."""
    horizon = int(max(old_steps.max(initial=0), fresh_steps.max(initial=0)))
    finite = np.isfinite(old)
    counts = np.bincount(old_steps[finite], minlength=horizon + 1)
    centre = np.bincount(old_steps[finite], old[finite], horizon + 1) / np.maximum(counts, 1)
    apart = np.abs(old[finite] - centre[old_steps[finite]])
    size = _GAUSSIAN * np.bincount(old_steps[finite], apart, horizon + 1) / np.maximum(counts, 1)
    usable: Bools = (counts >= _LEAST_OF_STEP) & (size > 0)
    centre, size = np.where(usable, centre, 0.0), np.where(usable, size, 1.0)
    for values, steps in ((old, old_steps), (fresh, fresh_steps)):
        values -= centre[steps]
        values /= size[steps]
