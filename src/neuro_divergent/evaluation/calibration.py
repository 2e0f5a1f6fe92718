"""Whether a forecaster is as certain as it should be: coverage of its intervals, and where values fell in them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neuro_divergent.core.errors import InputError
from neuro_divergent.evaluation import metrics
from neuro_divergent.evaluation.levels import answerable_levels
from neuro_divergent.evaluation.metrics import Floats, Mask
from neuro_divergent.evaluation.window_sample import sample_of

if TYPE_CHECKING:
    from neuro_divergent.data.windows import Windows
    from neuro_divergent.forecasting.forecaster import Forecaster

LEVELS = (10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0)
_BINS = 20
_MOST_WINDOWS = 2000
_MOST_DRAWN = 200  # where quantiles are those of a thousand paths of each window


def check_calibration(forecaster: Forecaster, windows: Windows, *, part: str | None = None) -> dict[str, Any]:
    """Hold the intervals and quantiles of a trained forecaster against what happened.

    Args:
        forecaster: A trained forecaster.
        windows: Windows that it did not learn from. At most 2,000 of them are forecast, evenly spread; 200 where
            quantiles are those of paths, which take long to draw.
        part: What they are; unset, it is known where they are a part of the data of training, and ``new data``
            otherwise.

    Returns:
        Plain values: ``part``; ``windows``, how many were forecast; ``levels``, for each interval that can be given, of
        10 to 90, 95 and 99 percent, its ``level``, its ``coverage`` in percent and its mean ``width``; and ``pit``, the
        ``shares`` of values that fell between quantiles of their forecast and the ``edges``, the shares of those
        quantiles: 20 bins where any quantile can be given, and else those between the quantiles that can. They are as
        wide as the shares should be large. It is ``None`` where no quantile can be given.

    Raises:
        InputError: If there is no window, or nothing in them was observed.
    """
    if not len(windows):
        raise InputError("windows: there is none to check intervals on.")
    levels, _ = answerable_levels(forecaster, windows, LEVELS)
    shares = _answerable_shares(forecaster, windows)
    most = _MOST_DRAWN if forecaster.fitted.predictor.draws_paths else _MOST_WINDOWS
    result = forecaster.forecast_windows(sample_of(windows, most), levels, shares)
    if not result.observed.any():
        raise InputError("windows: nothing in them was observed.")
    found = [
        {
            "level": level,
            "coverage": metrics.coverage(result.actual, low, result.upper[level], result.observed),
            "width": metrics.width(low, result.upper[level], result.observed),
        }
        for level, low in result.lower.items()
    ]
    return {
        "part": _name_of(forecaster, windows) if part is None else part,
        "windows": len(result.rows),
        "levels": [{name: value if math.isfinite(value) else None for name, value in row.items()} for row in found],
        "pit": pit_histogram(result.actual, result.quantiles, result.observed) if result.quantiles else None,
    }


def pit_histogram(actual: Floats, quantiles: Mapping[float, Floats], observed: Mask | None = None) -> dict[str, Any]:
    """Return which share of values fell between which quantiles of their forecasts.

    The probability integral transform of right forecasts is uniform: each bin holds as much as it is wide. Forecasts
    that are too narrow give a U, too wide ones a hump, too low ones a slope. A value that equals several quantiles, as
    counts do, is spread over the bins between them (Czado et al., 2009).

    Args:
        actual: What happened, ``(windows, horizon)``.
        quantiles: Quantiles by their share, each ``(windows, horizon)``.
        observed: Which actual values were observed.

    Returns:
        ``edges``, from 0 over the shares to 1, and ``shares`` of the values between them, which sum to 1.
    """
    known = np.ones(np.shape(actual), np.bool_) if observed is None else observed
    levels = sorted(quantiles)
    values = np.asarray(actual, np.float64)[known]
    stacked = np.stack([np.asarray(quantiles[level], np.float64)[known] for level in levels])
    edges = np.array([0.0, *levels, 1.0])
    first, last = (stacked < values).sum(0), (stacked <= values).sum(0)
    # Each value has the weight 1 on the stretch from the lower edge of its first bin to the upper edge of its last.
    weight = 1 / (edges[last + 1] - edges[first])
    change = np.bincount(first, weight, len(edges)) - np.bincount(last + 1, weight, len(edges))
    shares = np.cumsum(change)[:-1] * np.diff(edges) / max(len(values), 1)
    return {"edges": edges.tolist(), "shares": np.maximum(shares, 0.0).tolist()}


def _answerable_shares(forecaster: Forecaster, windows: Windows) -> tuple[float, ...]:
    """Return quantiles that can be given: 19 evenly spread ones, or else those that were trained."""
    from neuro_divergent.forecasting.predictor import interval_quantiles  # loads torch

    loss = forecaster.fitted.task.loss
    own: Sequence[float] = loss.quantile_levels
    if own and not loss.traits.any_level:
        return tuple(share for share in own if 0 < share < 1)
    wanted = [100 - 100 * 2 * place / _BINS for place in range(1, _BINS // 2)]
    possible, _ = answerable_levels(forecaster, windows, wanted)
    ends = {round(share, 9) for level in possible for share in interval_quantiles(level)}
    return tuple(sorted({*ends, 0.5} if ends else ends))


def _name_of(forecaster: Forecaster, windows: Windows) -> str:
    split = forecaster.split
    names = ("test", "validation", "train")
    return next((name for name in names if split is not None and getattr(split, name) is windows), "new data")
