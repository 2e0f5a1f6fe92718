"""Weights of the rows of a panel in the loss."""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import DataError
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.windows import Windows
from neuro_divergent.losses.weighted import Weighting


def row_weights(panel: Panel, weighting: Weighting | None, train: Windows) -> Array | None:
    """Return one weight for each row, or ``None`` when all count the same.

    A weight column and a weighting multiply.

    Args:
        panel: The series.
        weighting: Weights by age, time or value.
        train: Windows to train on, some of whose targets must have weight.

    Raises:
        DataError: If every target to train on has weight zero.
    """
    weight = panel.weight
    if weighting is not None:
        age = np.concatenate([np.arange(length)[::-1] for length in panel.lengths])
        times = panel.times().to_numpy()
        values = panel.y.astype(np.float64)
        if panel.mask is not None:
            values[~panel.mask] = np.nan
        # Weights may depend on all values at once: those of the training part must not know what comes after it.
        training = np.arange(len(values)) < np.repeat(train.ends, panel.lengths)
        made = weighting.weights(age, times, values).astype(np.float32)
        made[training] = weighting.weights(age[training], times[training], values[training])
        weight = made if weight is None else weight * made
    if weight is not None:
        parts = zip(panel.offsets[:-1] + train.input_size, train.ends, strict=True)
        if not any(weight[begin:end].any() for begin, end in parts):
            raise DataError("every target to train on has weight 0, so there is nothing to train on.")
    return weight
