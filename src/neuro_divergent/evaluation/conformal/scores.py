"""Conformity scores: signed distances of observed values from the uncalibrated bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints, Objects
from neuro_divergent.core.errors import InputError
from neuro_divergent.evaluation.conformal.bounds import Bounds, Pair, nearest_pair


@dataclass(frozen=True, eq=False)
class Scores:
    """Signed distances of observed values from the bounds, divided by the spread of each window.

    Attributes:
        pairs: Quantiles of the bounds.
        ids: Series of each window, ``(windows,)``.
        times: Time of each step, ``(windows, horizon)``, as the integers behind the time column.
        below: Distance of the observed value below the lower bound (negative: above it), ``(pairs, windows, horizon)``;
            NaN where it was not observed.
        above: Distance above the upper bound.
    """

    pairs: tuple[Pair, ...]
    ids: Objects
    times: Ints
    below: Floats
    above: Floats

    @classmethod
    def of(
        cls, pairs: tuple[Pair, ...], ids: Objects, times: Ints, bounds: Bounds, actual: Floats, spread: Floats
    ) -> Self:
        """Compute the scores of forecasts; ``actual`` is NaN where it was not observed."""
        unit = spread[:, None]
        return cls(pairs, ids, times, (bounds.lower - actual) / unit, (actual - bounds.upper) / unit)

    def __len__(self) -> int:
        """Number of windows."""
        return len(self.ids)

    def join(self, later: Scores) -> Scores:
        """Return these scores followed by others."""
        return Scores(
            self.pairs,
            np.concatenate([self.ids, later.ids]),
            np.concatenate([self.times, later.times]),
            np.concatenate([self.below, later.below], axis=1),
            np.concatenate([self.above, later.above], axis=1),
        )

    def for_level(self, level: float, *, symmetric: bool) -> Floats:
        """Return the scores for a level in percent, ``(sides, windows, horizon)``: one side if symmetric, else two."""
        place = nearest_pair(self.pairs, level)
        below, above = self.below[place], self.above[place]
        return np.maximum(below, above)[None] if symmetric else np.stack([below, above])

    def last_times(self) -> dict[Any, int]:
        """Return the latest time of each series."""
        latest: dict[Any, int] = {}
        for name, time in zip(self.ids.tolist(), self.times[:, -1].tolist(), strict=True):
            latest[name] = max(time, latest.get(name, time))
        return latest

    def without_context(self) -> Scores:
        """Return the scores of the same windows in another order, without the series and times they are of."""
        order = np.random.default_rng(0).permutation(len(self))
        nobody = np.full(len(self), None, dtype=object)
        return Scores(self.pairs, nobody, np.zeros_like(self.times), self.below[:, order], self.above[:, order])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; ``None`` where the value was not observed."""
        return {
            "pairs": [list(pair) for pair in self.pairs],
            "ids": self.ids.tolist(),
            "times": self.times.tolist(),
            "below": _plain(self.below),
            "above": _plain(self.above),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Restore what ``to_dict`` returned."""
        try:
            ids, times = names(values["ids"]), np.array(values["times"], dtype=np.int64)
            below, above = (np.array(values[side], dtype=np.float64) for side in ("below", "above"))
            pairs = tuple((float(low), float(high)) for low, high in values["pairs"])
            shape = (len(pairs), *times.shape)
            if times.ndim != 2 or len(ids) != len(times) or not below.shape == above.shape == shape:
                raise ValueError("the shapes of the arrays differ")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"these are not the scores of a calibration: {error}. Pass what to_dict returned."
            ) from None
        return cls(pairs, ids, times, below, above)


def names(values: list[Any]) -> Objects:
    """Return the names of series as an array of objects, whatever their type."""
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def _plain(values: Floats) -> Any:
    plain = values.astype(object)
    plain[np.isnan(values)] = None
    return plain.tolist()
