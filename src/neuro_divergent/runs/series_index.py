"""Which rows of a table belong to which series, found by going once through the column of ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import UntrustedFileError

_MOST_BYTES = 512 * 1024**2  # of all names together
_NAMES_BETWEEN_CHECKS = 2**22


@dataclass(frozen=True)
class SeriesIndex:
    """The names of the series of a table, and the rows of each.

    Attributes:
        names: Each name once, as text, in the order of the rows.
        first: The first row of each; ``None`` where the rows of a series are not consecutive.
        count: How many rows each has; ``None`` as well.
    """

    names: pl.Series
    first: Ints | None
    count: Ints | None

    @property
    def nbytes(self) -> int:
        """The bytes in memory."""
        return int(self.names.estimated_size()) + sum(0 if rows is None else rows.nbytes for rows in self._rows)

    @property
    def _rows(self) -> tuple[Ints | None, Ints | None]:
        return self.first, self.count

    def find(self, name: str) -> tuple[int, int] | None:
        """Return the first row and the number of rows of a series; ``None`` where that is not known."""
        place = self.names.index_of(name)
        if place is None or self.first is None or self.count is None:
            return None
        return int(self.first[place]), int(self.count[place])


def index_series(pieces: Iterable[pl.Series], dtype: pl.DataType | None = None) -> SeriesIndex:
    """Return the index of a column of ids that comes piece by piece; ``dtype`` is their type, if they come as text.

    Memory holds one name for each group of neighbours with the same id, not one for each row.

    Raises:
        UntrustedFileError: If the names need more memory than a list of series may take.
    """
    builder = _Builder(dtype)
    for piece in pieces:
        if len(piece):
            builder.add(piece.alias("series"))
    return builder.finish()


class _Builder:
    def __init__(self, dtype: pl.DataType | None) -> None:
        self._dtype = dtype
        self._names: list[pl.Series] = []  # as text, one for each group of neighbours; null for rows without an id
        self._first: list[Ints] = []
        self._rows = 0
        self._last: Any = None
        self._is_rising = True  # sorted ids, as we write them: then none comes back later
        self._is_grouped = True
        self._unchecked = 0

    def add(self, ids: pl.Series) -> None:
        """Take the ids of the next rows."""
        begins = ids.ne_missing(ids.shift(1)).to_numpy().copy()
        begins[0] = self._rows == 0 or ids[0] != self._last
        found = ids.filter(pl.Series(begins))
        if self._dtype is not None and self._dtype != pl.String:
            found = found.cast(self._dtype, strict=False)
        if len(found):
            self._is_rising = self._is_rising and self._rises(found)
            self._end = found[-1]
            # By way of a list, because a piece of texts would keep all the texts in memory that it was cut from.
            self._names.append(pl.Series("series", found.cast(pl.String).to_list(), pl.String))
            self._first.append(np.flatnonzero(begins) + self._rows)
            self._unchecked += len(found)
        self._rows, self._last = self._rows + len(ids), ids[-1]
        if self._unchecked > _NAMES_BETWEEN_CHECKS:
            self._check()

    def finish(self) -> SeriesIndex:
        """Return the index of all rows."""
        self._check()
        names = pl.concat([pl.Series("series", [], pl.String), *self._names], rechunk=True)
        known = names.is_not_null().to_numpy()
        if not self._is_grouped:
            return SeriesIndex(names.drop_nulls(), None, None)
        first = np.concatenate([np.zeros(0, np.int64), *self._first])
        count = np.diff(first, append=self._rows)
        if known.all():
            return SeriesIndex(names, first, count)
        # Rows without an id may lie anywhere: they are no series.
        return SeriesIndex(names.drop_nulls(), first[known], count[known])

    def _rises(self, found: pl.Series) -> bool:
        try:
            is_later = not self._first or bool(self._end < found[0])
            return is_later and not found.null_count() and found.is_sorted()
        except (TypeError, pl.exceptions.PolarsError):  # a type without an order
            return False

    def _check(self) -> None:
        """Forget names that come again; the rows of their series are then not consecutive."""
        self._unchecked = 0
        if not self._is_rising and self._names:
            names = pl.concat(self._names)
            kept = names.unique(maintain_order=True)
            again = names.drop_nulls().len() - kept.drop_nulls().len()
            if again or not self._is_grouped:
                self._is_grouped, self._first = False, []
                self._names = [kept]
        if sum(names.estimated_size() for names in self._names) > _MOST_BYTES:
            raise UntrustedFileError(f"the names of the series take more than {_MOST_BYTES:,} bytes.")
