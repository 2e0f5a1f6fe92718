"""Losses whose forecast is a single number per step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.losses.base import PointLoss

if TYPE_CHECKING:
    from torch import Tensor


@register("mse")
class MSE(PointLoss):
    """Squared error; forecasts the mean.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> forecast, target = torch.tensor([11.0, 12.0, 14.0]), torch.tensor([10.0, 10.0, 10.0])
        >>> nd.losses.MSE().elementwise(forecast, target).tolist()  # twice the error costs four times as much
        [1.0, 4.0, 16.0]
    """

    def cost(self, forecast: Tensor, target: Tensor) -> Tensor:
        return (forecast - target).square()


@register("rmse")
class RMSE(PointLoss):
    """Root of the mean squared error; forecasts the mean, as MSE does.

    The root is taken of the mean over all targets of a step, so the gradient keeps its size as the error shrinks. Where
    every error is 0 the root has no slope; its gradient is taken to be 0 there.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> loss = nd.losses.RMSE()
        >>> costs = loss.elementwise(torch.tensor([13.0, 6.0]), torch.tensor([10.0, 10.0]))
        >>> costs.tolist(), round(loss.finish(costs.mean()).item(), 3)  # the root of 12.5
        ([9.0, 16.0], 3.536)
    """

    def cost(self, forecast: Tensor, target: Tensor) -> Tensor:
        return (forecast - target).square()

    def finish(self, mean: Tensor) -> Tensor:
        zero = mean == 0
        # The root of 1 stands in where the slope would be infinite: infinity times 0 would make the gradient NaN.
        return mean.where(~zero, 1).sqrt().where(~zero, 0)


@register("mae")
class MAE(PointLoss):
    """Absolute error; forecasts the median.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> forecast, target = torch.tensor([11.0, 12.0, 14.0]), torch.tensor([10.0, 10.0, 10.0])
        >>> nd.losses.MAE().elementwise(forecast, target).tolist()
        [1.0, 2.0, 4.0]
    """

    def cost(self, forecast: Tensor, target: Tensor) -> Tensor:
        return (forecast - target).abs()


@register("huber")
class Huber(PointLoss):
    """Squared error near the target and absolute error beyond ``delta``, so that outliers pull with bounded force.

    ``e**2 / 2`` up to ``delta`` and ``delta * (e - delta / 2)`` above it, on the scale the network sees.

    Attributes:
        delta: Error up to which the cost is quadratic, on the scale of the network.

    Examples:
        An outlier of 30 costs 29.5 instead of half its square, 450:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> nd.losses.Huber(delta=1.0).elementwise(torch.tensor([0.5, 3.0, 30.0]), torch.zeros(3)).tolist()
        [0.125, 2.5, 29.5]
    """

    delta: float = Field(default=1.0, gt=0)

    def cost(self, forecast: Tensor, target: Tensor) -> Tensor:
        error = (forecast - target).abs()
        inner = error.clamp_max(self.delta)
        return inner * (error - 0.5 * inner)
