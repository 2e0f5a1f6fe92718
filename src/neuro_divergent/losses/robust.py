"""Smooth losses on which outliers have little or no pull."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from neuro_divergent.core.config import knob, register
from neuro_divergent.losses.base import PointLoss

if TYPE_CHECKING:
    from torch import Tensor


@register("log_cosh")
class LogCosh(PointLoss):
    """``log(cosh(e))``: half the squared error near the target, the absolute error less ``log 2`` far from it.

    Like Huber's loss, but smooth to every order and with nothing to set. The gradient is ``tanh(e)``.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> costs = nd.losses.LogCosh().elementwise(torch.tensor([0.1, 100.0]), torch.zeros(2))
        >>> [round(cost, 3) for cost in costs.tolist()]  # half of 0.1 squared, and 100 less log 2
        [0.005, 99.307]
    """

    def cost(self, forecast: Tensor, target: Tensor) -> Tensor:
        error = forecast - target
        # cosh(e) overflows for large errors, and near 0 subtracting log 2 would leave nothing but rounding:
        # each way of writing it is used where it is exact. The clamp keeps the unused one finite.
        near = 2 * (error.clamp(-1, 1) / 2).sinh().square()
        return near.log1p().where(error.abs() < 1, error.logaddexp(-error) - math.log(2))


@register("tukey")
class Tukey(PointLoss):
    """Tukey's biweight: ``c**2 / 6 * (1 - (1 - (e / c)**2)**3)`` up to ``c``, and ``c**2 / 6`` beyond it.

    An error beyond ``c`` costs no more for being larger and has a gradient of 0: outliers are ignored altogether. So is
    everything else while the network is still that far off, which makes this a loss for targets on a scale where usual
    errors are about 1, as windows scaled by the default are. There, 4.685 keeps 95 % of the efficiency that the squared
    error has on data without outliers (Holland & Welsch, 1977).

    Attributes:
        c: Error beyond which a value is ignored, on the scale of the network.

    Examples:
        Beyond ``c`` an error costs no more for being larger:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> costs = nd.losses.Tukey(c=2.0).elementwise(torch.tensor([1.0, 2.0, 20.0]), torch.zeros(3))
        >>> [round(cost, 3) for cost in costs.tolist()]
        [0.385, 0.667, 0.667]
    """

    c: float = knob(4.685, low=2.0, high=10.0, log=True, gt=0, allow_inf_nan=False)

    def cost(self, forecast: Tensor, target: Tensor) -> Tensor:
        ratio = ((forecast - target) / self.c).clamp(-1, 1).square()
        # 1 - (1 - s)**3 multiplied out, which keeps small errors exact.
        return self.c**2 / 6 * ratio * (3 - 3 * ratio + ratio.square())
