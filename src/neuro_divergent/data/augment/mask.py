"""Random masking of the history."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.data.augment.base import Augmentation

if TYPE_CHECKING:
    from neuro_divergent.core.spec import Batch


@register("mask")
class MaskHistory(Augmentation):
    """Hides blocks of the history, each channel by itself, as if they had not been observed.

    Networks that do not read masks see zeros there.

    Attributes:
        share: Fraction of the history that is hidden on average.
        block: Steps hidden at once; shorter at the ends of the history.

    Examples:
        Of many values about the fraction ``share`` is hidden, and is 0 for the network:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> batch = nd.models.Batch(past_y=torch.ones(1000, 24, 1))
        >>> hidden = nd.augment.MaskHistory(share=0.3, block=4, probability=1.0).apply(batch)
        >>> round((hidden.past_mask == 0).float().mean().item(), 1), bool((hidden.past_y == hidden.past_mask).all())
        (0.3, True)
    """

    needs_time: ClassVar[bool] = True

    share: float = knob(0.1, low=0.05, high=0.5, ge=0.0, lt=1.0)
    block: int = Field(default=4, ge=1)

    def change(self, batch: Batch) -> Batch:
        import torch

        size, length, channels = batch.past_y.shape
        device = batch.past_y.device
        # Blocks lie on a grid that starts at a random step in each window, so every step is hidden equally often.
        first = torch.randint(self.block, (size, 1, channels), device=device)
        number = (torch.arange(length, device=device)[:, None] + first) // self.block
        shown = torch.rand(size, (length - 1) // self.block + 2, channels, device=device) >= self.share
        mask = shown.gather(1, number).to(batch.past_y.dtype)
        mask = mask if batch.past_mask is None else batch.past_mask * mask
        return batch._replace(past_y=batch.past_y * mask, past_mask=mask)
