"""Losses that measure the error by the size of something else."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.losses.base import LossTraits, SingleOutput

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch

_ROUNDING = 64  # units in the last place: scaling a value and undoing it costs one or two


class RelativeLoss(SingleOutput):
    """The absolute error divided by a size.

    Where that size is zero the quotient does not exist; such targets are left out: they cost 0 and their gradient is 0.
    Adding a small number to the size instead would make one such target cost more than all others together. A size
    counts as zero when it is no larger than the rounding error of values like those of the history: a target of exactly
    0 that was scaled and brought back to its units is not exactly 0 any more.

    Targets that are left out still count in the mean of the costs, like targets that were forecast perfectly.
    """

    traits: ClassVar[LossTraits] = LossTraits(cost_on_original_scale=True)

    def elementwise(self, raw: Tensor, target: Tensor, batch: Batch | None = None) -> Tensor:
        forecast = self.arrange(raw, target).squeeze(-1)
        error = (forecast - target).abs()
        size = self.size(forecast, target, batch)
        usable = ~(size <= _rounding_error(error, batch))  # NaN is usable: it must come out, not hide as a cost of 0
        # Dividing by 1 where the result is not used keeps the gradient from being infinity times 0.
        return (error / size.where(usable, 1)).where(usable, 0)

    @abstractmethod
    def size(self, forecast: Tensor, target: Tensor, batch: Batch | None) -> Tensor:
        """Return what errors are divided by, not negative, in a shape that broadcasts to that of ``target``."""


def _rounding_error(values: Tensor, batch: Batch | None) -> Tensor | float:
    """Return the size below which a value of a window, ``(batch, 1, channel)``, is nothing but rounding."""
    import torch

    kind = torch.finfo(values.dtype)
    if batch is None:  # targets that are not scaled
        return kind.tiny
    size, mask = batch.past_y.abs(), batch.past_mask
    if mask is None:
        level = size.mean(1, keepdim=True)
    else:
        level = (size * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp_min(1)
    return (_ROUNDING * kind.eps * level).clamp_min(kind.tiny)
