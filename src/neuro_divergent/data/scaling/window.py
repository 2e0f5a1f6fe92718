"""Window scalers, fitted on the history of each window."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.core.exporting import is_exporting
from neuro_divergent.data.scaling.base import SMALLEST, WindowScaler, sum_over_time

if TYPE_CHECKING:
    from torch import Tensor


@register("identity")
class IdentityScaler(WindowScaler):
    """Leaves windows as they are.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> loc, scale = nd.scalers.IdentityScaler().statistics(torch.tensor([10.0, 14.0]).view(1, 2, 1), None)
        >>> loc.item(), scale.item()
        (0.0, 1.0)
    """

    applied: ClassVar[bool] = False
    has_scale: ClassVar[bool] = False

    def statistics(self, past: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        shape = (past.shape[0], 1, past.shape[2])
        return past.new_zeros(1).expand(shape), past.new_ones(1).expand(shape)


@register("standard")
class StandardScaler(WindowScaler):
    """Subtracts the mean and divides by the standard deviation.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> history = torch.tensor([10.0, 14.0]).view(1, 2, 1)
        >>> loc, scale = nd.scalers.StandardScaler().statistics(history, None)
        >>> loc.item(), scale.item(), ((history - loc) / scale).flatten().tolist()
        (12.0, 2.0, [-1.0, 1.0])
    """

    def statistics(self, past: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        if mask is None:
            # Two passes: torch's var_mean along a row is eight times slower on a CPU.
            mean = past.mean(1, keepdim=True)
            return mean, (past - mean).square_().mean(1, keepdim=True).sqrt_()
        mean = _mean(past, mask)
        if is_exporting():  # products round more than sums do, and a constant history must not get a spread by that
            mean = mean + _mean(past - mean, mask)
        return mean, _mean((past - mean).square(), mask).sqrt()


@register("robust")
class RobustScaler(WindowScaler):
    """Subtracts the median and divides by the spread between the quartiles.

    The spread is multiplied by 0.7413, which makes it the standard deviation of normal data. Where at least half of the
    values are equal, the mean absolute deviation from the median is used instead.

    Examples:
        One outlier moves neither the level nor the scale:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> history = torch.tensor([1.0, 2.0, 3.0, 4.0, 100.0]).view(1, 5, 1)
        >>> loc, scale = nd.scalers.RobustScaler().statistics(history, None)
        >>> loc.item(), round(scale.item(), 3)
        (3.0, 1.483)
    """

    def statistics(self, past: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        low, median, high = _quartiles(past, mask)
        deviation = (past - median).abs()
        fallback = deviation.mean(1, keepdim=True) if mask is None else _mean(deviation, mask)
        spread = 0.7413 * (high - low)
        return median, spread.where(spread > SMALLEST * median.abs(), fallback)


@register("minmax")
class MinMaxScaler(WindowScaler):
    """Maps the lowest value to 0 and the highest to 1.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> history = torch.tensor([10.0, 15.0, 20.0]).view(1, 3, 1)
        >>> loc, scale = nd.scalers.MinMaxScaler().statistics(history, None)
        >>> ((history - loc) / scale).flatten().tolist()
        [0.0, 0.5, 1.0]
    """

    def statistics(self, past: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        if mask is None:
            low, high = past.aminmax(dim=1, keepdim=True)
        else:
            seen = mask.bool()
            low = past.where(seen, math.inf).amin(1, keepdim=True)
            high = past.where(seen, -math.inf).amax(1, keepdim=True)
            low, high = low.nan_to_num(posinf=0.0), high.nan_to_num(neginf=0.0)
        return low, high - low


@register("mean_abs")
class MeanAbsScaler(WindowScaler):
    """Divides by the mean absolute value and keeps zero at zero, which suits counts and intermittent demand.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> history = torch.tensor([0.0, 0.0, 6.0]).view(1, 3, 1)  # two days without sales
        >>> loc, scale = nd.scalers.MeanAbsScaler().statistics(history, None)
        >>> ((history - loc) / scale).flatten().tolist()
        [0.0, 0.0, 3.0]
    """

    def statistics(self, past: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        scale = past.abs().mean(1, keepdim=True) if mask is None else _mean(past.abs(), mask)
        return scale.new_zeros(()).expand_as(scale), scale


@register("revin")
class RevIN(StandardScaler):
    """Standardises inside the network, with a learned gain and shift per channel, and undoes it on the output.

    The loss is then measured in the units of the data (or of the series scaler), so windows of larger spread weigh
    more. Reversible instance normalisation, Kim et al., ICLR 2022.

    Examples:
        Batches come unscaled, and the network takes care of it:

        >>> import neuro_divergent as nd
        >>> scaler = nd.Forecaster("nlinear", horizon=12, scaler="revin").task.scaler
        >>> scaler.applied, scaler.reversible
        (False, True)
    """

    applied: ClassVar[bool] = False
    reversible: ClassVar[bool] = True


def _quartiles(past: Tensor, mask: Tensor | None) -> tuple[Tensor, ...]:
    """Return the three quartiles of the observed values over time; 0 without any."""
    if mask is not None and is_exporting():
        return tuple(_masked_quantile(past, mask, level) for level in (0.25, 0.5, 0.75))
    values = past if mask is None else past.where(mask.bool(), math.nan)
    return values.nanquantile(past.new_tensor([0.25, 0.5, 0.75]), dim=1, keepdim=True).nan_to_num().unbind()


def _masked_quantile(past: Tensor, mask: Tensor, level: float) -> Tensor:
    """Return a quantile of the observed values without NaN, which ONNX does not sort."""
    ordered = past.where(mask.bool(), math.inf).sort(1).values
    count = mask.sum(1, keepdim=True)
    rank = level * (count - 1).clamp_min(0)
    below = rank.floor()
    above = (below + 1).minimum((count - 1).clamp_min(0))
    low, high = (ordered.gather(1, place.long()) for place in (below, above))
    return (low + (high - low) * (rank - below)).masked_fill(count == 0, 0.0)


def _mean(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of the observed values over time; 0 without any."""
    return sum_over_time(values * mask) / sum_over_time(mask).clamp_min(1)
