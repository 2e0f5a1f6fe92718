"""The list of the series of a run, by pages and by search."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Literal

import polars as pl

Match = Literal["contains", "prefix", "exact"]


class SeriesList:
    """Names of series in their order, of which there may be millions. May be used by several threads."""

    def __init__(self, names: pl.Series) -> None:
        self.names = names
        self._last: tuple[tuple[str, Match], pl.Series] | None = None  # pages of one search follow each other
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """The bytes in memory."""
        return 2 * int(self.names.estimated_size())  # with the names in lower case

    def __contains__(self, name: str) -> bool:
        return self.names.index_of(name) is not None

    def find(self, search: str, match: Match = "contains") -> pl.Series:
        """Return the names that contain a text, begin with it, or are it; only the last heeds capital letters.

        Without a text, these are all.
        """
        if not search:
            return self.names
        with self._lock:
            if self._last is None or self._last[0] != (search, match):
                self._last = (search, match), self.names.filter(self._fits(search, match))
            return self._last[1]

    def page_of(self, name: str, found: pl.Series, size: int) -> int | None:
        """Return the place where the page with a name begins; ``None`` if it is not among those found."""
        place = found.index_of(name)
        return None if place is None else place // size * size

    def _fits(self, search: str, match: Match) -> pl.Series:
        if match == "exact":
            return self.names == search
        if match == "prefix":
            return self._lowered.str.starts_with(search.lower())
        return self._lowered.str.contains(search.lower(), literal=True)

    @cached_property
    def _lowered(self) -> pl.Series:
        lowered = self.names.str.to_lowercase()
        return self.names if lowered.equals(self.names) else lowered
