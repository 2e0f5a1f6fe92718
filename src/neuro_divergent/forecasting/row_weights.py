"""Weights of the rows of a panel in the loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import AnyFloats, Array, Floats32, Ints
from neuro_divergent.core.errors import ConfigError, DataError
from neuro_divergent.data.panel import BLOCK_ROWS, Panel
from neuro_divergent.data.splits import rows_before
from neuro_divergent.data.windows import Windows
from neuro_divergent.losses.weighted import Weighting

_READ = 2**20  # rows of a large panel that are read together
_LOOKED_AT = 2**16  # rows in which a weight is looked for


@dataclass(frozen=True, eq=False)
class RowWeights:
    """The weights of the rows of a large panel, computed for the rows that are asked for.

    Attributes:
        panel: The series, with the weights of a column if there is one.
        weighting: Weights by age, time or value.
        ends: Row after the last one of training, per series.
        trained: What the weighting was fitted to in the rows before that.
        fitted: What it was fitted to in all rows, for the others.
    """

    panel: Panel
    weighting: Weighting
    ends: Ints
    trained: Any
    fitted: Any

    @classmethod
    def fit(cls, panel: Panel, weighting: Weighting, ends: Ints) -> RowWeights:
        """Fit a weighting to the training rows, and to all rows."""
        trained = weighting.fit(values[rows_before(panel, ends, block)] for block, values in _values(panel))
        fitted = weighting.fit(values for _, values in _values(panel))
        return cls(panel, weighting, ends, trained, fitted)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.panel)

    def cut(self, rows: Ints, size: int) -> Floats32:
        """Return ``size`` weights from each row on, ``(rows, size)``; all of them lie in the series of the first."""
        panel = self.panel
        series = np.searchsorted(panel.offsets, rows, side="right") - 1
        places = (rows[:, None] + np.arange(size)).reshape(-1)
        repeated = np.repeat(series, size)
        age = panel.offsets[repeated + 1] - 1 - places
        starts = panel.starts.gather(repeated)
        time = panel.frequency.time_at(starts, places - panel.offsets[repeated]).to_numpy()
        values, observed = panel.values_from(rows, size)
        values = np.where(observed, values, np.nan).reshape(-1).astype(np.float64)
        training = places < self.ends[repeated]
        made = np.empty(len(places), np.float32)
        for fitted, chosen in ((self.trained, training), (self.fitted, ~training)):
            if chosen.any():
                some = age[chosen], time[chosen], values[chosen]
                made[chosen] = self.weighting.weights_of_rows(fitted, *some)
        if panel.weight is not None:
            made = panel.weight[places] * made
        return made.reshape(len(rows), size)


def row_weights(panel: Panel, weighting: Weighting | None, train: Windows) -> Array | RowWeights | None:
    """Return one weight for each row, or ``None`` when all count the same.

    A weight column and a weighting multiply. Of a panel of more than four million rows, weights are computed when a
    batch is cut, if the weighting allows it.

    Args:
        panel: The series.
        weighting: Weights by age, time or value.
        train: Windows to train on, some of whose targets must have weight.

    Raises:
        ConfigError: If the panel is on disk, has more than four million rows, and the weighting needs all at once.
        DataError: If every target to train on has weight zero.
    """
    if weighting is None:
        weight: Array | RowWeights | None = panel.weight
    elif len(panel) > BLOCK_ROWS and weighting.is_rowwise:
        weight = RowWeights.fit(panel, weighting, train.ends)
    elif len(panel) > BLOCK_ROWS and panel.is_memory_mapped:
        raise ConfigError(
            f"weighting: {weighting.name} weighs all rows at once, and these are {len(panel):,} on disk. "
            f"{_cure(weighting)}, or read the panel into memory with Panel.open(path, mmap=False)."
        )
    else:
        weight = _weigh_all(panel, weighting, train.ends)
    if weight is not None and not _has_weight(weight, panel.offsets[:-1] + train.input_size, train.ends):
        raise DataError("every target to train on has weight 0, so there is nothing to train on.")
    return weight


def _weigh_all(panel: Panel, weighting: Weighting, ends: Ints) -> Array:
    """Return the weight of every row, all computed at once."""
    age = np.concatenate([np.arange(length)[::-1] for length in panel.lengths])
    times = panel.times().to_numpy()
    values = panel.y.astype(np.float64)
    if panel.mask is not None:
        values[~panel.mask[:]] = np.nan
    # Weights may depend on all values at once: those of the training part must not know what comes after it.
    training = np.arange(len(values)) < np.repeat(ends, panel.lengths)
    made = weighting.weights(age, times, values).astype(np.float32)
    made[training] = weighting.weights(age[training], times[training], values[training])
    return made if panel.weight is None else panel.weight[:] * made


def _values(panel: Panel) -> Iterator[tuple[slice, AnyFloats]]:
    """Yield the target in blocks, NaN where it was not observed."""
    for block in panel.blocks(_READ):
        values = panel.y[block].astype(np.float64)
        if panel.mask is not None:
            values[~panel.mask[block]] = np.nan
        yield block, values


def _has_weight(weight: Array | RowWeights, begins: Ints, ends: Ints) -> bool:
    """Whether any of the rows from ``begins`` to ``ends`` of each series has weight."""
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        for first in range(begin, end, _LOOKED_AT):
            last = min(first + _LOOKED_AT, end)
            some = weight.cut(np.array([first]), last - first) if isinstance(weight, RowWeights) else weight[first:last]
            if some.any():
                return True
    return False


def _cure(weighting: Weighting) -> str:
    """Return what lets rows be weighed a few at a time."""
    if "rowwise" in type(weighting).model_fields:
        return "Pass rowwise=True if the weight of a row depends on its own time and value alone"
    return "Define is_rowwise, fit and weigh_rows, see Weighting"
