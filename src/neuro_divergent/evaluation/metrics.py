"""Metrics of point forecasts and intervals.

Every function takes arrays of the same shape, usually ``(windows, horizon)``, in the units of the data, and a mask of
the observed values (``None`` if all were observed). Values outside the mask are ignored. The result is a number, or NaN
where it is not defined, for instance because nothing was observed.
"""

from __future__ import annotations

import numpy as np

from neuro_divergent.core.arrays import AnyFloats, Bools, Floats, Ints
from neuro_divergent.evaluation.continued_bincount import continued_bincount
from neuro_divergent.evaluation.pointwise import error, is_covered, mean_of, symmetric_percentage

_ROWS = 2**20  # of a panel that are looked at together


def mae(actual: AnyFloats, forecast: AnyFloats, observed: Bools | None = None) -> float:
    """Mean absolute error.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> nd.metrics.mae(np.array([[100.0, 200.0]]), np.array([[110.0, 180.0]]))  # errors of 10 and 20
        15.0
    """
    return mean_of(np.abs(error(actual, forecast)), observed)


def mse(actual: AnyFloats, forecast: AnyFloats, observed: Bools | None = None) -> float:
    """Mean squared error.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> nd.metrics.mse(np.array([[100.0, 200.0]]), np.array([[110.0, 180.0]]))  # the mean of 100 and 400
        250.0
    """
    return mean_of(np.square(error(actual, forecast)), observed)


def rmse(actual: AnyFloats, forecast: AnyFloats, observed: Bools | None = None) -> float:
    """Root of the mean squared error.

    Examples:
        The root of 250, which is more than the mean absolute error of 15, since the errors differ:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> round(nd.metrics.rmse(np.array([[100.0, 200.0]]), np.array([[110.0, 180.0]])), 2)
        15.81
    """
    return float(np.sqrt(mse(actual, forecast, observed)))


def bias(actual: AnyFloats, forecast: AnyFloats, observed: Bools | None = None) -> float:
    """Mean of forecast minus actual: positive when forecasts are too high.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> nd.metrics.bias(np.array([[100.0, 200.0]]), np.array([[110.0, 180.0]]))  # too low by 5 on average
        -5.0
    """
    return mean_of(error(actual, forecast), observed)


def mape(actual: AnyFloats, forecast: AnyFloats, observed: Bools | None = None) -> float:
    """Mean absolute error in percent of the actual value; actual values of zero are left out.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> actual, forecast = np.array([[100.0, 200.0, 0.0]]), np.array([[110.0, 160.0, 5.0]])
        >>> round(nd.metrics.mape(actual, forecast), 2)  # the mean of 10 % and 20 %
        15.0
    """
    size = np.abs(np.asarray(actual, np.float64))
    usable = size > 0 if observed is None else (size > 0) & observed
    with np.errstate(divide="ignore", invalid="ignore"):
        return 100 * mean_of(np.abs(error(actual, forecast)) / size, usable)


def smape(actual: AnyFloats, forecast: AnyFloats, observed: Bools | None = None) -> float:
    """Symmetric percentage error as in the M4 competition: ``200 |e| / (|actual| + |forecast|)``, from 0 to 200.

    It is 0 where both are zero.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> nd.metrics.smape(np.array([[100.0, 0.0, 0.0]]), np.array([[300.0, 5.0, 0.0]]))  # the mean of 100, 200 and 0
        100.0
    """
    return mean_of(symmetric_percentage(actual, forecast), observed)


def wape(actual: AnyFloats, forecast: AnyFloats, observed: Bools | None = None) -> float:
    """Sum of absolute errors in percent of the sum of absolute actual values.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> actual, forecast = np.array([[100.0, 200.0, 0.0]]), np.array([[110.0, 180.0, 30.0]])
        >>> round(nd.metrics.wape(actual, forecast), 2)  # errors of 60 in all, of values of 300
        20.0
    """
    return 100 * _ratio(mae(actual, forecast, observed), mean_of(np.abs(np.asarray(actual, np.float64)), observed))


def mase(actual: AnyFloats, forecast: AnyFloats, scale: AnyFloats, observed: Bools | None = None) -> float:
    """Mean absolute scaled error (Hyndman & Koehler, 2006): errors divided by the naive error of the history.

    ``scale`` is the ``seasonal_error`` of the series of each window, ``(windows,)``. Windows whose scale is zero or NaN
    (a constant or too short a history) are left out.

    Examples:
        Errors of 10 and 20, where a naive forecast of the history was off by 10 on average:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> nd.metrics.mase(np.array([[100.0, 200.0]]), np.array([[110.0, 180.0]]), scale=np.array([10.0]))
        1.5
    """
    scaled, usable = _scaled(error(actual, forecast), scale, observed)
    return mean_of(np.abs(scaled), usable)


def rmsse(actual: AnyFloats, forecast: AnyFloats, scale: AnyFloats, observed: Bools | None = None) -> float:
    """Root mean squared scaled error (M5 competition, 2020): ``mase`` with squared errors.

    ``scale`` is the ``seasonal_error(..., squared=True)`` of the series of each window.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> score = nd.metrics.rmsse(np.array([[100.0, 200.0]]), np.array([[110.0, 180.0]]), scale=np.array([10.0]))
        >>> round(score, 3)  # the root of the mean of 1 and 4
        1.581
    """
    scaled, usable = _scaled(error(actual, forecast), scale, observed)
    return float(np.sqrt(mean_of(np.square(scaled), usable)))


def owa(
    actual: AnyFloats, forecast: AnyFloats, reference: AnyFloats, scale: AnyFloats, observed: Bools | None = None
) -> float:
    """Overall weighted average (M4 competition, 2018): half of MASE and half of sMAPE, each relative to a reference.

    The reference is, in the competition, the seasonally adjusted naive forecast ("Naive 2"); ``scale`` is as for
    ``mase``. The result is 1 where the forecast is as good as the reference, less where it is better, and NaN where the
    reference is perfect.

    Examples:
        Half of the error of the reference at each step:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> actual, reference = np.array([[100.0, 200.0]]), np.array([[120.0, 240.0]])
        >>> round(nd.metrics.owa(actual, np.array([[110.0, 220.0]]), reference, scale=np.array([10.0])), 2)
        0.51
    """
    scaled = mase(actual, forecast, scale, observed), mase(actual, reference, scale, observed)
    symmetric = smape(actual, forecast, observed), smape(actual, reference, observed)
    return (_ratio(*scaled) + _ratio(*symmetric)) / 2


def r2(actual: AnyFloats, forecast: AnyFloats, observed: Bools | None = None) -> float:
    """Coefficient of determination: the fraction of the variance of the actual values that the forecast explains.

    1 is perfect, 0 is as good as the mean of the actual values, below 0 is worse; NaN where those are all the same.

    Examples:
        Squared errors of 250 on average, where the values spread around their mean by 2,500:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> nd.metrics.r2(np.array([[100.0, 200.0]]), np.array([[110.0, 180.0]]))
        0.9
    """
    values = np.asarray(actual, np.float64)
    chosen = values.reshape(-1) if observed is None else values[observed]
    # Relative to one of them, equal values are exactly 0; relative to their rounded mean they need not be.
    shifted = chosen - chosen[:1]
    variance = float(np.square(shifted - shifted.mean()).mean()) if chosen.size else 0.0
    return 1 - _ratio(mse(actual, forecast, observed), variance)


def directional_accuracy(
    actual: AnyFloats, forecast: AnyFloats, last: AnyFloats | None = None, observed: Bools | None = None
) -> float:
    """Percentage of steps at which forecast and actual value change in the same direction: up, down or not at all.

    A change is relative to the step before, of the forecast and of the actual values each. A step counts where both
    actual values were observed. The first step is compared with ``last``, the last value before each window,
    ``(windows,)``; it does not count where that is NaN or unset.

    Examples:
        The values go up, up and down; the forecast goes up, down and down:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> actual, forecast = np.array([[1.0, 2.0, 3.0, 2.0]]), np.array([[1.0, 3.0, 2.0, 1.0]])
        >>> round(nd.metrics.directional_accuracy(actual, forecast), 1)
        66.7
    """
    known = np.ones(np.shape(actual), np.bool_) if observed is None else observed
    if last is not None:
        before = np.asarray(last, np.float64)[:, None]
        actual, forecast = np.concatenate([before, actual], axis=1), np.concatenate([before, forecast], axis=1)
        known = np.concatenate([~np.isnan(before), known], axis=1)
    same = np.sign(np.diff(actual, axis=1)) == np.sign(np.diff(forecast, axis=1))
    return 100 * mean_of(same.astype(np.float64), known[:, 1:] & known[:, :-1])


def coverage(actual: AnyFloats, lower: AnyFloats, upper: AnyFloats, observed: Bools | None = None) -> float:
    """Percentage of actual values inside the interval, bounds included.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> actual = np.array([[10.0, 20.0, 30.0, 40.0]])
        >>> nd.metrics.coverage(actual, lower=actual - 5, upper=np.array([[15.0, 25.0, 29.0, 40.0]]))  # 30 is outside
        75.0
    """
    return 100 * mean_of(is_covered(actual, lower, upper), observed)


def width(lower: AnyFloats, upper: AnyFloats, observed: Bools | None = None) -> float:
    """Mean width of the interval.

    Examples:
        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> nd.metrics.width(lower=np.array([[8.0, 7.0]]), upper=np.array([[12.0, 13.0]]))
        5.0
    """
    return mean_of(error(lower, upper), observed)


def skill(error: float, reference: float) -> float:
    """``1 - error / reference``: 1 is perfect, 0 is as good as the reference, below 0 is worse.

    Examples:
        An error of 3 where the reference has one of 4 is a quarter less:

        >>> import neuro_divergent as nd
        >>> nd.metrics.skill(error=3.0, reference=4.0)
        0.25
    """
    return 1 - _ratio(error, reference)


def seasonal_error(
    values: AnyFloats,
    offsets: Ints,
    ends: Ints,
    season_length: int,
    observed: Bools | None = None,
    *,
    squared: bool = False,
) -> Floats:
    """Return the mean absolute difference between values one season apart, for each series.

    Args:
        values: All series end to end.
        offsets: Where each series begins, and the end, ``(num_series + 1,)``.
        ends: Row after the last one to use, for each series.
        season_length: Rows in a season; 1 uses neighbouring rows.
        observed: Which values were observed; a pair counts when both were.
        squared: Whether to return the root of the mean squared difference instead.

    Returns:
        One number per series; NaN where there is no pair.

    Examples:
        Two series end to end, of four rows and of three:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> values = np.array([1.0, 3.0, 2.0, 4.0, 10.0, 10.0, 13.0])
        >>> offsets = np.array([0, 4, 7])
        >>> nd.metrics.seasonal_error(values, offsets, ends=offsets[1:], season_length=2).tolist()
        [1.0, 3.0]
    """
    count = len(offsets) - 1
    totals, pairs = np.zeros(count), np.zeros(count, np.int64)
    for begin in range(season_length, len(values), _ROWS):
        rows = slice(begin, min(begin + _ROWS, len(values)))
        earlier = slice(rows.start - season_length, rows.stop - season_length)
        first = int(np.searchsorted(offsets, earlier.start, side="right")) - 1
        last = int(np.searchsorted(offsets, earlier.stop, side="left"))
        borders = np.clip(offsets[first : last + 1], earlier.start, earlier.stop)
        series = np.repeat(np.arange(last - first), np.diff(borders))
        usable = np.arange(rows.start, rows.stop) < ends[first:last][series]
        if observed is not None:
            usable &= np.asarray(observed[earlier]) & np.asarray(observed[rows])
        difference = error(values[earlier], values[rows])[usable]
        terms, series = difference**2 if squared else np.abs(difference), series[usable]
        # Each series is summed separately: differences of cumulative sums would lose small series next to large ones.
        totals[first:last] = continued_bincount(totals[first:last], series, terms)
        pairs[first:last] += np.bincount(series, minlength=last - first)
    with np.errstate(invalid="ignore"):
        mean: Floats = totals / pairs
    return np.sqrt(mean) if squared else mean


def _scaled(errors: Floats, scale: AnyFloats, observed: Bools | None) -> tuple[Floats, Bools]:
    """Return the errors of windows divided by their scale, and which windows have one."""
    usable = np.broadcast_to((np.isfinite(scale) & (scale > 0))[:, None], errors.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        return errors / np.asarray(scale, np.float64)[:, None], usable if observed is None else usable & observed


def _ratio(value: float, size: float) -> float:
    return value / size if size > 0 else float("nan")
