"""Fitting of a series scaler to every series of a panel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Array, Ints
from neuro_divergent.core.errors import DataError
from neuro_divergent.data.io.table import describe
from neuro_divergent.data.panel import BLOCK_ROWS, Panel
from neuro_divergent.data.scaling.base import SeriesScaler
from neuro_divergent.data.windows import spread_numbers

_READ = 2**18  # rows of several series that are read together


def fit_series_scaler(scaler: SeriesScaler, panel: Panel, ends: Ints) -> Array:
    """Fit a scaler to each series up to (not including) row ``ends`` of the panel; return ``(num_series, params)``.

    Rows are read one after another. A series of more than four million rows is read in blocks or, where the scaler
    needs all values at once, by as many rows, evenly spread.

    Raises:
        DataError: If a value is outside the domain of the scaler, with the series named.
    """
    params: list[Any] = []
    for first, last in panel.series_blocks(_READ):
        begin, end = int(panel.offsets[first]), int(panel.offsets[last])
        if end - begin > BLOCK_ROWS:
            params.append(_fit_long(scaler, panel, first, int(ends[first])))
        else:
            rows = _Rows.read(panel, begin, end)
            stops = (ends[first:last] - begin).tolist()
            edges = (panel.offsets[first : last + 1] - begin).tolist()
            for place, (low, stop, high) in enumerate(zip(edges[:-1], stops, edges[1:], strict=True), first):
                if scaler.lowest > -np.inf:
                    _check_domain(scaler, panel, place, rows.observed(low, high))
                params.append(_fit(scaler, rows.observed(low, stop)))
    return np.stack(params)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Consecutive rows of a panel in memory, or mapped: the target, and where it was observed."""

    y: Array
    mask: Array | None

    @classmethod
    def read(cls, panel: Panel, begin: int, end: int) -> _Rows:
        mask = None if panel.mask is None else np.asarray(panel.mask[begin:end])
        return cls(np.asarray(panel.y[begin:end]), mask)

    def observed(self, begin: int, end: int) -> Array:
        """Return the observed values of some of the rows."""
        values: Array = self.y[begin:end]
        return values if self.mask is None else values[self.mask[begin:end]]


def _fit(scaler: SeriesScaler, values: Array) -> Array:
    """Fit to observed values; without any, as to a constant series, at a value that is allowed."""
    return scaler.fit(values.astype(np.float64) if values.size else np.array([max(scaler.lowest + 1.0, 0.0)]))


def _fit_long(scaler: SeriesScaler, panel: Panel, series: int, end: int) -> Array:
    """Fit to a series that is too long to be read at once."""
    begin, last = int(panel.offsets[series]), int(panel.offsets[series + 1])

    def blocks(stop: int) -> Iterator[Array]:
        for first in range(begin, stop, BLOCK_ROWS):
            size = min(BLOCK_ROWS, stop - first)
            yield _Rows.read(panel, first, first + size).observed(0, size)

    if scaler.lowest > -np.inf:
        for block in blocks(last):
            _check_domain(scaler, panel, series, block)
    params = None
    if any(block.size for block in blocks(end)):
        params = scaler.fit_blocks(block.astype(np.float64) for block in blocks(end) if block.size)
    if params is not None:
        return params
    chosen = begin + spread_numbers(max(end - begin, 1), BLOCK_ROWS)
    values = panel.y[chosen] if panel.mask is None else panel.y[chosen][panel.mask[chosen]]
    return _fit(scaler, values[: end - begin])


def _check_domain(scaler: SeriesScaler, panel: Panel, series: int, values: Array) -> None:
    """Refuse a series with a value that a scaler has no transformation for."""
    if values.size and values.min() <= scaler.lowest:
        message = (
            f"series {panel.ids[series]!r}: value {values.min():g} cannot be scaled with {scaler.name!r}, which "
            f"needs values above {scaler.lowest:g}. Choose another series scaler."
        )
        raise DataError(describe(panel.source, message))
