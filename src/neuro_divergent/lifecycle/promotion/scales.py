"""Scales of series, so that one large series does not decide for all."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.errors import InputError
from neuro_divergent.evaluation.metrics import seasonal_error
from neuro_divergent.lifecycle.promotion.held_out import find_id


def series_scales(
    history: pl.DataFrame,
    *,
    season_length: int,
    target: str = "y",
    id: str | None = None,  # noqa: A002 (as in a schema)
    time: str = "ds",
) -> dict[Any, float]:
    """Return the mean absolute difference one season apart of each series, the denominator of MASE.

    For a series that repeats its season exactly, where that is 0, it is the mean absolute value. Series that are always
    0 or no longer than a season have none and are left out. Rows must have no gaps in time; fill them with null.

    Args:
        history: Values that were known before the forecasts to compare.
        season_length: Rows in a season.
        target: Column of values.
        id: Column of ids; unset, ``unique_id``.
        time: Column of times.
    """
    if season_length < 1:
        raise InputError(f"season_length: {season_length!r} must be at least 1.")
    name = find_id(history, id)
    rows = history.select(name, time, pl.col(target).cast(pl.Float64)).sort(name, time)
    lengths = rows.group_by(name, maintain_order=True).len()
    offsets = np.concatenate([[0], np.cumsum(lengths["len"].to_numpy())]).astype(np.int64)
    values = rows[target].fill_null(np.nan).to_numpy()
    scales = seasonal_error(np.nan_to_num(values), offsets, offsets[1:], season_length, np.isfinite(values))
    levels = rows.group_by(name, maintain_order=True).agg(pl.col(target).abs().mean())[target].to_numpy()
    scales = np.where(scales == 0, levels, scales)
    return {key: float(scale) for key, scale in zip(lengths[name], scales, strict=True) if scale > 0}
