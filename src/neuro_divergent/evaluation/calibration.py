"""Calibration of a trained forecaster: coverage of its intervals and PIT histogram.

``probabilistic`` has the metrics of single quantiles; the rule ``calibration`` of the doctor tests the coverage in a
backtest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neuro_divergent.core.arrays import AnyFloats, Bools
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage.strict_json import finite_or_none
from neuro_divergent.evaluation.cross_validation.window_list import WindowList
from neuro_divergent.evaluation.levels import supported_levels
from neuro_divergent.evaluation.score_sums import IntervalSums

if TYPE_CHECKING:
    from neuro_divergent.data.windows import Windows
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.forecasting.predictor import WindowForecasts

LEVELS = (10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0)
_BINS = 20
_MOST_WINDOWS = 2000
_MOST_SAMPLED = 200  # where quantiles are those of a thousand sample paths of each window


def check_calibration(forecaster: Forecaster, windows: Windows, *, part: str | None = None) -> dict[str, Any]:
    """Compare the intervals and quantiles of a trained forecaster with the observed values.

    Args:
        forecaster: A trained forecaster.
        windows: Windows that it was not trained on. At most 2,000 of them are forecast, evenly spread; 200 where
            quantiles come from sample paths, which take longer.
        part: Name of the part of the data; unset, ``test``, ``validation`` or ``train`` if they are that part of the
            data of training, else ``new data``.

    Returns:
        Plain values: ``part``; ``windows``, how many were forecast; ``levels``, for each interval of 10 to 90, 95 and
        99 percent that the forecaster supports, its ``level``, its ``coverage`` in percent and its mean ``width``; and
        ``pit``, what ``pit_histogram`` returns: 20 bins if the forecaster supports any quantile, else those between its
        own quantiles. It is ``None`` if the forecaster has no quantiles.

    Raises:
        InputError: If there is no window, or no value in them was observed.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=6, test=36, training=nd.TrainingConfig(max_steps=20))
        >>> _ = forecaster.fit(nd.datasets.air_passengers())
        >>> found = nd.evaluation.check_calibration(forecaster, forecaster.split.test)
        >>> found["part"], found["windows"]
        ('test', 6)
        >>> [row["level"] for row in found["levels"]]
        [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0]
        >>> round(sum(found["pit"]["shares"]), 6)
        1.0
    """
    if not len(windows):
        raise InputError("windows: there is no window to check intervals on.")
    levels, _ = supported_levels(forecaster, windows, LEVELS)
    quantiles = _supported_quantiles(forecaster, windows)
    most = _MOST_SAMPLED if forecaster.fitted.predictor.draws_paths else _MOST_WINDOWS
    result = forecaster.forecast_windows(WindowList.sample(windows, most), levels, quantiles)
    if not result.observed.any():
        raise InputError("windows: no value in them was observed.")
    return {
        "part": _name_of(forecaster, windows) if part is None else part,
        "windows": len(result.rows),
        "levels": finite_or_none(score_intervals(result, result.observed)),
        "pit": pit_histogram(result.actual, result.quantiles, result.observed) if result.quantiles else None,
    }


def score_intervals(result: WindowForecasts, observed: Bools) -> list[dict[str, float]]:
    """Return the ``level`` of each interval, its ``coverage`` in percent and its mean ``width``."""
    sums = IntervalSums()
    sums.add(result.actual, result.lower, result.upper, observed)
    return sums.rows()


def pit_histogram(
    actual: AnyFloats, quantiles: Mapping[float, AnyFloats], observed: Bools | None = None
) -> dict[str, Any]:
    """Return the histogram of the probability integral transform (PIT).

    The PIT of calibrated forecasts is uniform: the fraction of values in each bin equals its width. Forecasts that are
    too narrow give a U, too wide ones a hump, too low ones a slope. A value that equals several quantiles, as counts
    often do, is spread over the bins between them (Czado et al., 2009).

    Arguments are as in ``probabilistic``. The result has ``edges``, from 0 over the levels to 1, and ``shares``, the
    fractions of values between them, which sum to 1.
    """
    known = np.ones(np.shape(actual), np.bool_) if observed is None else observed
    levels = sorted(quantiles)
    values = np.asarray(actual, np.float64)[known]
    stacked = np.stack([np.asarray(quantiles[level], np.float64)[known] for level in levels])
    edges = np.array([0.0, *levels, 1.0])
    first, last = (stacked < values).sum(0), (stacked <= values).sum(0)
    # Each value has the weight 1 on the range from the lower edge of its first bin to the upper edge of its last.
    weight = 1 / (edges[last + 1] - edges[first])
    change = np.bincount(first, weight, len(edges)) - np.bincount(last + 1, weight, len(edges))
    fractions = np.cumsum(change)[:-1] * np.diff(edges) / max(len(values), 1)
    return {"edges": edges.tolist(), "shares": np.maximum(fractions, 0.0).tolist()}


def _supported_quantiles(forecaster: Forecaster, windows: Windows) -> tuple[float, ...]:
    """Return quantiles that the forecaster supports: 19 evenly spread ones, or else those it was trained for."""
    from neuro_divergent.forecasting.uncertainty.requested import interval_quantiles  # loads torch

    loss = forecaster.fitted.task.loss
    own: Sequence[float] = loss.quantile_levels
    if own and not loss.traits.any_level:
        return tuple(quantile for quantile in own if 0 < quantile < 1)
    wanted = [100 - 100 * 2 * place / _BINS for place in range(1, _BINS // 2)]
    possible, _ = supported_levels(forecaster, windows, wanted)
    found = {round(quantile, 9) for level in possible for quantile in interval_quantiles(level)}
    return tuple(sorted({*found, 0.5} if found else found))


def _name_of(forecaster: Forecaster, windows: Windows) -> str:
    split = forecaster.split
    names = ("test", "validation", "train")
    return next((name for name in names if split is not None and getattr(split, name) is windows), "new data")
