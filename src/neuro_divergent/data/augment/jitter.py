"""Noise on the history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuro_divergent.core.config import knob, register
from neuro_divergent.data.augment.base import Augmentation

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch


@register("jitter")
class Jitter(Augmentation):
    """Adds independent normal noise to each observed value of the history; targets stay as they are.

    Inputs without a time axis get noise in units of the spread of each feature over the batch.

    Attributes:
        sigma: Standard deviation of the noise, in units of the standard deviation of the history it is added to.

    Examples:
        Inputs get noise, and targets stay what they were:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> inputs, targets = torch.arange(8.0).view(1, 8, 1), torch.ones(1, 2, 1)
        >>> noisy, same = nd.augment.Jitter(sigma=0.1, probability=1.0).apply((inputs, targets))
        >>> bool((noisy != inputs).all()), same is targets
        (True, True)
    """

    sigma: float = knob(0.05, low=0.01, high=0.3, log=True, ge=0.0)

    def change(self, batch: Batch) -> Batch:
        values, mask = batch.past_y, batch.past_mask
        noise = values.new_empty(values.shape).normal_() * (self.sigma * _spread(values, mask))
        return batch._replace(past_y=values + (noise if mask is None else noise * mask))


def _spread(values: Tensor, mask: Tensor | None) -> Tensor:
    """Return the standard deviation over time of the observed values, with an axis of size 1 in place of time."""
    axis = 1 if values.ndim == 3 else 0
    if mask is None:
        return values.std(axis, correction=0, keepdim=True)
    count = mask.sum(axis, keepdim=True).clamp(min=1)
    level = (values * mask).sum(axis, keepdim=True) / count
    return (((values - level) * mask).square().sum(axis, keepdim=True) / count).sqrt()
