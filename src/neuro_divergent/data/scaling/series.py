"""Series scalers, fitted on the training part of each series."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.config import register
from neuro_divergent.data.scaling.base import LARGEST, SeriesScaler, usable_spread
from neuro_divergent.data.scaling.moments import Moments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor

_LARGEST_LOGARITHM = 80.0  # e to the power of 89 does not fit 32-bit floats


class _Affine(SeriesScaler):
    """A shift and a division; subclasses define the parameters."""

    affine: ClassVar[bool] = True

    def transform(self, values: Tensor, params: Tensor) -> Tensor:
        return (values - params[..., 0]) / params[..., 1]

    def inverse(self, values: Tensor, params: Tensor) -> Tensor:
        return values * params[..., 1] + params[..., 0]


@register("standard")
class StandardSeriesScaler(_Affine):
    """Subtracts the mean and divides by the standard deviation of the training part.

    Examples:
        Mean 12 and spread 2 of the training part are used for later values, too:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> import torch
        >>> scaler = nd.scalers.StandardSeriesScaler()
        >>> params = torch.from_numpy(scaler.fit(np.array([10.0, 14.0])))
        >>> scaler.transform(torch.tensor([10.0, 14.0, 18.0]), params).tolist()
        [-1.0, 1.0, 3.0]
    """

    def fit(self, values: Array) -> Array:
        return _shift_and_spread(values.mean(), values.std())

    def fit_blocks(self, blocks: Iterable[Array]) -> Array:
        found = Moments.of_blocks(blocks)
        return _shift_and_spread(found.mean, found.deviation)


@register("robust")
class RobustSeriesScaler(_Affine):
    """Subtracts the median and divides by 0.7413 times the spread between the quartiles.

    Examples:
        Median and spread, which one outlier does not move:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> nd.scalers.RobustSeriesScaler().fit(np.array([1.0, 2.0, 3.0, 4.0, 100.0])).round(3).tolist()
        [3.0, 1.483]
    """

    def fit(self, values: Array) -> Array:
        low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
        return _shift_and_spread(median, 0.7413 * (high - low) or np.abs(values - median).mean())


@register("minmax")
class MinMaxSeriesScaler(_Affine):
    """Maps the lowest training value to 0 and the highest to 1.

    Examples:
        A value after the training part may lie beyond 1:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> import torch
        >>> scaler = nd.scalers.MinMaxSeriesScaler()
        >>> params = torch.from_numpy(scaler.fit(np.array([10.0, 15.0, 20.0])))
        >>> scaler.transform(torch.tensor([10.0, 15.0, 25.0]), params).tolist()
        [0.0, 0.5, 1.5]
    """

    def fit(self, values: Array) -> Array:
        return _shift_and_spread(values.min(), values.max() - values.min())

    def fit_blocks(self, blocks: Iterable[Array]) -> Array:
        ends = [(values.min(), values.max()) for values in blocks]
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        return _shift_and_spread(low, high - low)


@register("log")
class LogSeriesScaler(SeriesScaler):
    """Takes ``log(1 + y)``, for series that grow by factors; values must be above -1.

    Examples:
        Growth by a factor of ten becomes a step of the same size, wherever it starts:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> scaled = nd.scalers.LogSeriesScaler().transform(torch.tensor([0.0, 9.0, 99.0, 999.0]), torch.zeros(0))
        >>> [round(value, 3) for value in scaled.tolist()]
        [0.0, 2.303, 4.605, 6.908]
    """

    lowest: ClassVar[float] = -1.0

    def fit(self, values: Array) -> Array:
        return np.zeros(0)

    def transform(self, values: Tensor, params: Tensor) -> Tensor:
        return values.log1p()

    def inverse(self, values: Tensor, params: Tensor) -> Tensor:
        return values.clamp_max(_LARGEST_LOGARITHM).expm1()


@register("boxcox")
class BoxCoxSeriesScaler(SeriesScaler):
    """Takes ``(y**power - 1) / power``, with the power (-1 to 2) that makes the training part most normal.

    The power maximises the profile likelihood over a grid of steps of 0.05, among those that bring no value beyond what
    32-bit floats can be squared at. Values must be positive. A forecast outside the range of the transformation is
    brought to its edge.

    Examples:
        For a series that doubles at each step the best power is 0, which is the logarithm:

        >>> import neuro_divergent as nd
        >>> import numpy as np
        >>> nd.scalers.BoxCoxSeriesScaler().fit(np.array([1.0, 2.0, 4.0, 8.0, 16.0])).tolist()
        [0.0]
    """

    lowest: ClassVar[float] = 0.0

    def fit(self, values: Array) -> Array:
        logs = np.log(values)
        powers = np.linspace(-1, 2, 61)
        likelihood = [_box_cox_likelihood(logs, power) for power in powers]
        return np.array([powers[int(np.argmax(likelihood))]])

    def transform(self, values: Tensor, params: Tensor) -> Tensor:
        power = params[..., 0]
        safe = power.masked_fill(power == 0, 1.0)
        return values.log().where(power == 0, (safe * values.log()).expm1() / safe)

    def inverse(self, values: Tensor, params: Tensor) -> Tensor:
        power = params[..., 0]
        safe = power.masked_fill(power == 0, 1.0)
        powered = ((safe * values).clamp_min(-1 + 1e-6).log1p() / safe).clamp_max(_LARGEST_LOGARITHM).exp()
        return values.clamp_max(_LARGEST_LOGARITHM).exp().where(power == 0, powered)


def _shift_and_spread(shift: float, spread: float) -> Array:
    return np.array([shift, usable_spread(spread, shift)])


def _box_cox_likelihood(logs: Array, power: float) -> float:
    """Profile log-likelihood of a power, up to a constant."""
    if np.abs(power * logs).max() > np.log(LARGEST):
        return -np.inf
    transformed = np.expm1(power * logs) / power if abs(power) > 1e-12 else logs
    variance = transformed.var()
    return float((power - 1) * logs.sum() - 0.5 * len(logs) * np.log(max(variance, 1e-300)))
