"""A panel in memory that grows by series."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array, Bools
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_store.files import BY_ROW


class GrowingPanel:
    """Collects panels of different series, in their order, without ever holding values twice.

    Args:
        rows: How many rows are expected; where gaps are filled there may be more.
    """

    def __init__(self, rows: int) -> None:
        self._expected = rows
        self._rows = 0
        self._arrays: dict[str, Array] = {}
        self._index: list[Panel] = []

    def append(self, part: Panel) -> None:
        """Copy series behind those that are there."""
        end = self._rows + len(part)
        for name in BY_ROW:
            values = getattr(part, name)
            if name == "mask":
                self._append_mask(values, len(part))
            elif values is not None:
                self._room(name, values, end)[self._rows : end] = values
        self._rows = end
        nothing: dict[str, Any] = dict.fromkeys(BY_ROW[1:])
        self._index.append(dataclasses.replace(part, y=part.y[:0].copy(), **nothing))

    def finish(self) -> Panel:
        """Return the panel; nothing may be appended any more."""
        lengths = np.concatenate([part.lengths for part in self._index])
        arrays: dict[str, Any] = {}
        while self._arrays:
            name, array = self._arrays.popitem()
            array.resize((self._rows, *array.shape[1:]), refcheck=False)
            arrays[name] = array
        first = self._index[0]
        if first.static_x is not None:
            arrays["static_x"] = np.concatenate([part.static_x for part in self._index if part.static_x is not None])
        return dataclasses.replace(
            first,
            ids=pl.concat([part.ids for part in self._index]),
            starts=pl.concat([part.starts for part in self._index]),
            offsets=np.concatenate([[0], np.cumsum(lengths)]),
            **arrays,
        )

    def _append_mask(self, mask: Bools | None, rows: int) -> None:
        """Note which rows were observed; there is no array as long as all were."""
        if mask is None and "mask" not in self._arrays:
            return
        observed = np.ones(rows, np.bool_) if mask is None else mask
        is_first = "mask" not in self._arrays
        array = self._room("mask", observed, self._rows + rows)
        if is_first:
            array[: self._rows] = True
        array[self._rows : self._rows + rows] = observed

    def _room(self, name: str, like: Array, rows: int) -> Array:
        """Return an array with room for so many rows; pages that were never written take no memory."""
        array = self._arrays.get(name)
        if array is None:
            array = self._arrays[name] = np.empty((max(self._expected, rows), *like.shape[1:]), like.dtype)
        if len(array) < rows:
            array.resize((max(rows, len(array) + len(array) // 16), *like.shape[1:]), refcheck=False)
        return array
