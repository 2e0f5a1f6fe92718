"""Parts of a history, stretched to its length."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from neuro_divergent.core.config import knob, register
from neuro_divergent.data.augment.base import Augmentation
from neuro_divergent.data.augment.resample import resample_history

if TYPE_CHECKING:
    from neuro_divergent.core.spec import Batch


@register("window_slice")
class WindowSlice(Augmentation):
    """Cuts a random part out of the history and stretches it to the full length.

    Le Guennec et al., "Data Augmentation for Time Series Classification using Convolutional Neural Networks", ECML
    workshop 2016. Covariates of the history are cut and stretched along with it.

    Attributes:
        share: Smallest fraction of the history that is kept; that of each window is drawn between this and 1.
        position: Which part is kept: the ``end``, which the target follows, or one that lies ``anywhere``, which suits
            targets that describe the window as a whole.

    Examples:
        At least the last half of the history is kept, and stretched to its length:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> history, target = torch.arange(8.0).view(1, 8, 1), torch.ones(1, 2, 1)
        >>> stretched, _ = nd.augment.WindowSlice(share=0.5, probability=1.0).apply((history, target))
        >>> 0 <= stretched[0, 0].item() <= 3.5, stretched[0, -1].item(), stretched.shape == history.shape
        (True, 7.0, True)
    """

    needs_time: ClassVar[bool] = True

    share: float = knob(0.7, low=0.5, high=0.95, gt=0.0, le=1.0)
    position: Literal["end", "anywhere"] = "end"

    def change(self, batch: Batch) -> Batch:
        import torch

        size, length = batch.past_y.shape[:2]
        random = torch.rand(2, size, 1, device=batch.past_y.device)
        kept = (self.share + (1 - self.share) * random[0]) * (length - 1)
        end = length - 1 - (random[1] * (length - 1 - kept) if self.position == "anywhere" else 0)
        back = torch.linspace(1, 0, length, device=kept.device)
        return resample_history(batch, (end - kept * back).clamp(min=0))
