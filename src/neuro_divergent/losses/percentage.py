"""Losses relative to the target: 0.08 stands for 8 %."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuro_divergent.core.config import register
from neuro_divergent.losses.relative import RelativeLoss

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch


@register("mape")
class MAPE(RelativeLoss):
    """Absolute error relative to the target, ``|e| / |y|``, in the units of the data.

    A target of zero has no percentage: it costs 0 whatever is forecast, and its gradient is 0. Nothing is then learned
    from it; where zeros matter, MASE or MAE are the losses to use. Small targets weigh the most, so forecasts come out
    low on the whole.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> forecast, target = torch.tensor([125.0, 10.0, 5.0]), torch.tensor([100.0, 8.0, 0.0])
        >>> nd.losses.MAPE().elementwise(forecast, target).tolist()  # a target of 0 has no percentage
        [0.25, 0.25, 0.0]
    """

    def size(self, forecast: Tensor, target: Tensor, batch: Batch | None) -> Tensor:
        return target.abs()


@register("smape")
class SMAPE(RelativeLoss):
    """Symmetric relative error ``2 |e| / (|y| + |f|)``, from 0 to 2, in the units of the data (as in M4).

    A target of zero costs 2 for any forecast but zero: the worst cost there is, with a gradient of 0, since it is the
    same everywhere around. Zero forecast as zero costs 0, with a gradient of 0.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> forecast, target = torch.tensor([3.0, 5.0, 0.0]), torch.tensor([1.0, 0.0, 0.0])
        >>> nd.losses.SMAPE().elementwise(forecast, target).tolist()
        [1.0, 2.0, 0.0]
    """

    def size(self, forecast: Tensor, target: Tensor, batch: Batch | None) -> Tensor:
        return (forecast.abs() + target.abs()) / 2
