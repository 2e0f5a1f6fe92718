"""Sample windows for diagnostics of a trained network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from neuro_divergent.core.errors import DataError
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.future import read_future

if TYPE_CHECKING:
    from neuro_divergent.core.arrays import Array, Ints
    from neuro_divergent.forecasting.fitted import FittedModel
    from neuro_divergent.forecasting.forecaster import Forecaster


def sample_windows(forecaster: Forecaster, rows: int) -> Batch:
    """Return up to ``rows`` windows of the training part, evenly spread.

    A loaded forecaster does not hold that part: then they are the ends of its series, without targets. Future
    covariates repeat their last value.
    """
    fitted, split = forecaster.fitted, forecaster.split
    if split is not None:
        batcher = fitted.batcher(split.train.panel)
        return batcher.windows(*split.train.locate(spread(len(split.train), rows)))
    batch = fitted.batcher(fitted.context).context(_ahead(fitted))
    return take(batch, spread(len(batch.past_y), rows))


def take(batch: Batch, chosen: Ints | slice) -> Batch:
    """Return some windows of a batch."""
    return Batch._make(None if item is None else item[chosen] for item in batch)


def spread(count: int, most: int) -> Ints:
    """Return up to ``most`` numbers below ``count``, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(np.int64))


def _ahead(fitted: FittedModel) -> Array | None:
    context, horizon = fitted.context, fitted.task.horizon
    try:
        return read_future(None, context, horizon)
    except DataError:
        assert context.future_x is not None
        last = context.future_x[context.offsets[1:] - 1]
        return np.repeat(last[:, None], horizon, axis=1)
