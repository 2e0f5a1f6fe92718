"""All metrics of tables of forecasts.

Each is a formula over means of groups of values, so that one pass scores every series, step or cut-off.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from neuro_divergent.core.arrays import Bools, Floats, Ints
from neuro_divergent.evaluation import pointwise
from neuro_divergent.evaluation.scoring.groups import grouped_mean, ratio


@dataclass(frozen=True, eq=False)
class Values:
    """Forecasts of one model and observed values, in groups; arrays are ``(values,)``.

    Attributes:
        group: Index of the group of each value.
        num_groups: Number of groups; one may be empty.
        forecast: Point forecast; NaN where it has none.
        quantiles: Quantile forecasts by their level between 0 and 1.
        intervals: Lower and upper bounds by their level in percent.
        weight: Weight of each value, or ``None`` if all are equal.
        scale: Naive error of the series of each value, for MASE; ``squared_scale`` likewise for RMSSE.
        before: Actual value and forecast of the step before, NaN where there is none.
    """

    group: Ints
    num_groups: int
    actual: Floats
    forecast: Floats
    quantiles: dict[float, Floats] = field(default_factory=dict)
    intervals: dict[float, tuple[Floats, Floats]] = field(default_factory=dict)
    weight: Floats | None = None
    scale: Floats | None = None
    squared_scale: Floats | None = None
    before: tuple[Floats, Floats] | None = None

    @property
    def error(self) -> Floats:
        """Forecast minus actual."""
        return self.forecast - self.actual

    def only(self, number: float) -> Values:
        """Return the same values with the quantile or interval of one level only."""
        return dataclasses.replace(
            self,
            quantiles={key: value for key, value in self.quantiles.items() if key == number},
            intervals={key: value for key, value in self.intervals.items() if key == number},
        )

    def mean(self, values: Floats, where: Bools | None = None) -> Floats:
        """Return the weighted mean of each group, ``(groups,)``; NaN if it is empty. ``where`` marks what counts."""
        group, weight = self.group, self.weight
        if where is not None:
            group, values = group[where], values[where]
            weight = None if weight is None else weight[where]
        return grouped_mean(values, group, self.num_groups, weight)


@dataclass(frozen=True)
class Metric:
    """A metric of tables of forecasts.

    Attributes:
        measure: Takes values and returns a score for each group, ``(groups,)``; unset if the metric is computed from
            the scores of other metrics.
        needs: What a model must forecast.
        scaled: Whether it needs the naive errors of the history.
        ordered: Whether it uses the step before.
        each: Whether it is computed for each level or quantile separately.
        narrows: Whether it can be computed for a single quantile.
        parts: Metrics whose ratios to the scores of a reference model are averaged.
        saved: Whether the score is one minus that average, a skill score.
        is_error: Whether it is 0 at best and higher where a forecast is worse, so that a skill score exists.
    """

    measure: Callable[[Values], Floats] | None = None
    needs: Literal["point", "quantiles", "intervals"] = "point"
    scaled: bool = False
    ordered: bool = False
    each: bool = False
    narrows: bool = False
    parts: tuple[str, ...] = ()
    saved: bool = False
    is_error: bool = True


def _mae(values: Values) -> Floats:
    return values.mean(np.abs(values.error))


def _mse(values: Values) -> Floats:
    return values.mean(np.square(values.error))


def _rmse(values: Values) -> Floats:
    return np.sqrt(_mse(values))


def _bias(values: Values) -> Floats:
    return values.mean(values.error)


def _mape(values: Values) -> Floats:
    size = np.abs(values.actual)
    with np.errstate(divide="ignore", invalid="ignore"):
        return 100 * values.mean(np.abs(values.error) / size, where=size > 0)


def _smape(values: Values) -> Floats:
    return values.mean(pointwise.symmetric_percentage(values.actual, values.forecast))


def _wape(values: Values) -> Floats:
    return 100 * ratio(_mae(values), values.mean(np.abs(values.actual)))


def _mase(values: Values) -> Floats:
    assert values.scale is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        return values.mean(np.abs(values.error) / values.scale, where=values.scale > 0)


def _rmsse(values: Values) -> Floats:
    assert values.squared_scale is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = values.error / values.squared_scale
    return np.sqrt(values.mean(np.square(scaled), where=values.squared_scale > 0))


def _r2(values: Values) -> Floats:
    # Relative to one of them, equal values of a group are exactly 0; relative to their rounded mean they need not be.
    some = np.zeros(values.num_groups)
    some[values.group] = values.actual
    shifted = values.actual - some[values.group]
    variance = values.mean(np.square(shifted - values.mean(shifted)[values.group]))
    return 1 - ratio(_mse(values), variance)


def _directional_accuracy(values: Values) -> Floats:
    assert values.before is not None
    actual, forecast = values.before
    same = np.sign(values.actual - actual) == np.sign(values.forecast - forecast)
    return 100 * values.mean(same.astype(np.float64), where=~(np.isnan(actual) | np.isnan(forecast)))


def _pinball(values: Values) -> Floats:
    costs = [values.mean(pointwise.pinball(values.actual, value, level)) for level, value in values.quantiles.items()]
    return np.asarray(np.mean(costs, axis=0))


def _crps(values: Values) -> Floats:
    return 2 * _pinball(values)


def _scaled_crps(values: Values) -> Floats:
    return 100 * ratio(_crps(values), values.mean(np.abs(values.actual)))


def _calibration(values: Values) -> Floats:
    (quantile,) = values.quantiles.values()
    return 100 * values.mean((values.actual <= quantile).astype(np.float64))


def _calibration_error(values: Values) -> Floats:
    distances = [np.abs(_calibration(values.only(level)) - 100 * level) for level in values.quantiles]
    return np.asarray(np.mean(distances, axis=0))


def _coverage(values: Values) -> Floats:
    ((lower, upper),) = values.intervals.values()
    return 100 * values.mean(pointwise.is_covered(values.actual, lower, upper))


def _width(values: Values) -> Floats:
    ((lower, upper),) = values.intervals.values()
    return values.mean(upper - lower)


def _winkler(values: Values) -> Floats:
    ((level, (lower, upper)),) = values.intervals.items()
    return values.mean(pointwise.winkler(values.actual, lower, upper, level))


METRICS: dict[str, Metric] = {
    "mae": Metric(_mae),
    "mse": Metric(_mse),
    "rmse": Metric(_rmse),
    "bias": Metric(_bias, is_error=False),
    "mape": Metric(_mape),
    "smape": Metric(_smape),
    "wape": Metric(_wape),
    "mase": Metric(_mase, scaled=True),
    "rmsse": Metric(_rmsse, scaled=True),
    "owa": Metric(parts=("mase", "smape"), is_error=False),
    "r2": Metric(_r2, is_error=False),
    "directional_accuracy": Metric(_directional_accuracy, ordered=True, is_error=False),
    "skill": Metric(parts=("mae",), saved=True, is_error=False),
    "pinball": Metric(_pinball, needs="quantiles", narrows=True),
    "crps": Metric(_crps, needs="quantiles"),
    "scaled_crps": Metric(_scaled_crps, needs="quantiles"),
    "calibration": Metric(_calibration, needs="quantiles", each=True, is_error=False),
    "calibration_error": Metric(_calibration_error, needs="quantiles"),
    "coverage": Metric(_coverage, needs="intervals", each=True, is_error=False),
    "width": Metric(_width, needs="intervals", each=True, is_error=False),
    "winkler": Metric(_winkler, needs="intervals", each=True),
}
