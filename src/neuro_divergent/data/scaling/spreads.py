"""The usual scale of the windows of each series, for windows whose history does not tell one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.data.announce import announce
from neuro_divergent.data.panel import BLOCK_ROWS
from neuro_divergent.data.scaling.base import ROUNDING, SMALLEST
from neuro_divergent.data.scaling.moments import Moments

if TYPE_CHECKING:
    from neuro_divergent.data.batcher import WindowBatcher
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.data.windows import Windows

_PER_SERIES = 9  # windows of a series that are looked at
_AT_ONCE = 512 * _PER_SERIES  # windows that are measured together, all those of a series in one block
_MOST_VALUES = 2**26  # of windows that span all series, so many values
_RELATIVE = 0.01  # scale of a constant series compared with its level, where no series of the panel changes


@dataclass(frozen=True, eq=False)
class Spreads:
    """Usual scales of windows, as the window scaler measures scale.

    Attributes:
        relative: Median over all series of the usual scale divided by the level.
        absolute: Median over all series of the usual scale.
        series: The usual scale of each series, ``(num_series,)``; ``None`` where the series are not known.
    """

    relative: float
    absolute: float
    series: Floats | None = None

    @classmethod
    def fit(cls, batcher: WindowBatcher, windows: Windows) -> Spreads:
        """Measure the median scale of windows of each series, of which up to nine are looked at, evenly spread.

        Windows whose targets have no weight do not count.

        A series without windows is measured by its last history before the end of the range of the windows, and one
        whose histories are all constant by the standard deviation of its training part. One that never changes gets the
        part of its level that is usual in the panel, and at level 0 the median over all series.

        Args:
            batcher: Cuts and scales the windows.
            windows: Windows of the training part.
        """
        count = batcher.panel.num_series
        scale, level = np.zeros(count), np.zeros(count)
        series, rows = windows.locate(windows.spread_out(_PER_SERIES))
        places = np.arange(count) if batcher.joint else series[::_PER_SERIES]
        scale[places], level[places] = _usual(batcher, series, rows)
        missing = np.setdiff1d(np.arange(count), places)
        scale[missing], level[missing] = _last_histories(batcher, missing, windows.ends)
        if batcher.series_scaler is None:
            for place in np.flatnonzero(scale == 0):
                scale[place] = _deviation(batcher.panel, int(place), int(windows.ends[place]))
        is_known = scale > 0
        has_level = is_known & (level > 0)
        found = cls(
            relative=float(np.median(scale[has_level] / level[has_level])) if has_level.any() else _RELATIVE,
            absolute=float(np.median(scale[is_known])) if is_known.any() else 1.0,
        )
        return cls(found.relative, found.absolute, found._completed(scale, level))

    def of_others(self, batcher: WindowBatcher, series: Ints, ends: Ints) -> Floats:
        """Return the scale of the last history of series that were not fitted, before row ``ends`` of the panel."""
        return self._completed(*_last_histories(batcher, series, ends))

    def _completed(self, scale: Floats, level: Floats) -> Floats:
        """Replace scales of 0 by what is usual at their level."""
        return np.where(scale > 0, scale, np.where(level > 0, self.relative * level, self.absolute))


def _deviation(panel: Panel, series: int, end: int) -> float:
    """Return the standard deviation of the observed values of a series before a row; 0 if it is only rounding."""
    found, size = Moments(), 0.0
    for first in range(int(panel.first_observed[series]), end, BLOCK_ROWS):
        rows = slice(first, min(first + BLOCK_ROWS, end))
        values = panel.y[rows] if panel.mask is None else panel.y[rows][panel.mask[rows]]
        if len(values):
            found = found.merge(Moments.of(values))
            size += (float(np.abs(values).mean(dtype=np.float64)) - size) * (len(values) / found.count)
    if found.count < 2:
        return 0.0
    return found.deviation if found.deviation > SMALLEST + ROUNDING * size else 0.0


def _usual(batcher: WindowBatcher, series: Ints, rows: Ints) -> tuple[Floats, Floats]:
    """Return the median scale and level of the windows of each series; by blocks, unless a window has all series."""
    if batcher.joint:
        return _medians(*_joined(_measured(batcher, series, rows, weighted=True)), joint=True)
    return _joined(
        _medians(scale, level, joint=False) for scale, level in _measured(batcher, series, rows, weighted=True)
    )


def _measured(
    batcher: WindowBatcher, series: Ints, rows: Ints, *, weighted: bool = False
) -> Iterator[tuple[Floats, Floats]]:
    """Yield scale and level of the histories that begin at some rows, ``(rows, channels)`` each, by blocks.

    Where ``weighted``, windows whose targets have no weight get a scale of NaN.
    """
    at_once = _AT_ONCE
    if batcher.joint:
        at_once = max(1, min(at_once, _MOST_VALUES // (batcher.panel.num_series * batcher.input_size)))
    for first in range(0, len(rows), at_once):
        chosen = rows[first : first + at_once]
        _announce(batcher, rows[first + at_once : first + 2 * at_once] if first else rows[: 2 * at_once])
        scale, level = batcher.history_scale(series[first : first + at_once], chosen)
        if weighted and (weight := batcher.target_weight(chosen)) is not None:
            scale[(weight == 0).all(1).cpu().numpy()] = np.nan
        yield scale, level


def _joined(parts: Iterable[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    scale, level = (np.concatenate(part) for part in zip(*parts, strict=True))
    return scale, level


def _announce(batcher: WindowBatcher, rows: Ints) -> None:
    """Say which histories are read next, where they are read from disk: they are far apart."""
    panel = batcher.panel
    if panel.is_memory_mapped and not batcher.joint:
        announce(panel.y, rows, batcher.input_size)
        announce(panel.mask, rows, batcher.input_size)


def _medians(scale: Floats, level: Floats, *, joint: bool) -> tuple[Floats, Floats]:
    """Return the medians over the windows of each series; the mean of their scales where most are 0.

    A scale of NaN does not count, and a series with no other has scale 0.
    """
    if not joint:
        scale, level = (values.reshape(-1, _PER_SERIES).T for values in (scale, level))
    usable = ~np.isnan(scale).all(0)
    median = np.zeros(scale.shape[1])
    median[usable] = np.nanmedian(scale[:, usable], axis=0)
    mean = np.nansum(scale, axis=0) / np.maximum((~np.isnan(scale)).sum(0), 1)
    return np.where(median > 0, median, mean), np.median(level, axis=0)


def _last_histories(batcher: WindowBatcher, series: Ints, ends: Ints) -> tuple[Floats, Floats]:
    """Return scale and level of the last history of some series before row ``ends`` of the panel."""
    if not len(series):
        return np.zeros(0), np.zeros(0)
    first = np.maximum(ends[series] - batcher.input_size, batcher.panel.offsets[series])
    if batcher.joint:  # one row cuts the history of all series
        scale, level = _joined(_measured(batcher, series[:1], first[:1]))
        return scale[0, series], level[0, series]
    scale, level = _joined(_measured(batcher, series, first))
    return scale[:, 0], level[:, 0]
