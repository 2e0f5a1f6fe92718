"""Groups of rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array, Floats, Ints

_CODE = "number of the group"


@dataclass(frozen=True, eq=False)
class Groups:
    """Group of each row.

    Attributes:
        keys: Values of the grouping columns, one entry per group, sorted; empty where all rows are one group.
        count: Number of groups; one may have no rows.
        codes: Index of the group of each row.
    """

    keys: dict[str, pl.Series]
    count: int
    codes: Ints

    @classmethod
    def of(cls, frame: pl.DataFrame, by: tuple[str, ...]) -> Groups:
        """Group the rows of a frame by the values of some columns."""
        if not by:
            return cls({}, 1, np.zeros(frame.height, np.int64))
        keys = frame.select(by).unique().sort(by)
        numbered = keys.with_row_index(_CODE)
        codes = frame.select(by).join(numbered, on=by, how="left", nulls_equal=True, maintain_order="left")[_CODE]
        return cls(keys.to_dict(), len(keys), codes.to_numpy().astype(np.int64))

    def take(self, rows: Ints) -> Groups:
        """Return the same groups for a subset of the rows."""
        return Groups(self.keys, self.count, self.codes[rows])

    @property
    def sizes(self) -> Ints:
        """Number of rows of each group."""
        return np.bincount(self.codes, minlength=self.count)

    def repeated(self, times: int) -> dict[str, Any]:
        """Return the keys of the groups, each repeated ``times`` times."""
        places = np.repeat(np.arange(self.count), times)
        return {name: keys.gather(places) for name, keys in self.keys.items()}


def grouped_mean(values: Floats, codes: Ints, count: int, weight: Floats | None = None) -> Floats:
    """Return the weighted mean of each group, ``(groups,)``; NaN for an empty group."""
    total = np.bincount(codes, values if weight is None else values * weight, minlength=count)
    return ratio(total.astype(np.float64), np.bincount(codes, weight, minlength=count))


def mean_of_parts(scores: Floats, parts: Groups, groups: Groups, weight: Floats | None = None) -> Floats:
    """Return the mean of the scores of the parts of each group, ``(groups,)``; NaN is left out.

    All rows of a part belong to one group; the weight of a part is the mean of its rows.
    """
    owner = np.zeros(parts.count, np.int64)
    owner[parts.codes] = groups.codes
    defined = ~np.isnan(scores)
    sizes = None if weight is None else grouped_mean(weight, parts.codes, parts.count)[defined]
    return grouped_mean(scores[defined], owner[defined], groups.count, sizes)


def ratio(values: Floats, sizes: Array) -> Floats:
    """Return quotients, NaN where the divisor is not positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sizes > 0, values / sizes, np.nan)
