"""Rows of a table in groups, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array, Floats, Ints

_CODE = "number of the group"


@dataclass(frozen=True, eq=False)
class Groups:
    """Which group each of some rows belongs to.

    Attributes:
        keys: What the groups are called, one entry per group, sorted; empty where all rows are one group.
        count: How many groups there are; one may have no rows.
        codes: Number of the group of each row.
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
        """Return the same groups with some of the rows."""
        return Groups(self.keys, self.count, self.codes[rows])

    @property
    def sizes(self) -> Ints:
        """Number of rows of each group."""
        return np.bincount(self.codes, minlength=self.count)

    def repeated(self, times: int) -> dict[str, Any]:
        """Return the names of the groups, each some times in a row."""
        places = np.repeat(np.arange(self.count), times)
        return {name: keys.gather(places) for name, keys in self.keys.items()}


def grouped_mean(values: Floats, codes: Ints, count: int, weight: Floats | None = None) -> Floats:
    """Return the weighted mean of each group, ``(groups,)``; NaN where nothing counts."""
    total = np.bincount(codes, values if weight is None else values * weight, minlength=count)
    return ratio(total.astype(np.float64), np.bincount(codes, weight, minlength=count))


def mean_of_parts(scores: Floats, parts: Groups, groups: Groups, weight: Floats | None = None) -> Floats:
    """Return the mean of the scores of the parts of each group, ``(groups,)``; those that are NaN do not count.

    Args:
        scores: Score of each part, ``(parts,)``.
        parts: Which part each row belongs to; all rows of a part belong to one group.
        groups: Which group each row belongs to.
        weight: How much each row counts; a part counts as much as its rows do on average.
    """
    owner = np.zeros(parts.count, np.int64)
    owner[parts.codes] = groups.codes
    defined = ~np.isnan(scores)
    sizes = None if weight is None else grouped_mean(weight, parts.codes, parts.count)[defined]
    return grouped_mean(scores[defined], owner[defined], groups.count, sizes)


def ratio(values: Floats, sizes: Array) -> Floats:
    """Return quotients, NaN where there is nothing to divide by."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sizes > 0, values / sizes, np.nan)
