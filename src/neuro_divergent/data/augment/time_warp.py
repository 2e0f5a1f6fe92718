"""Histories that run faster here and slower there."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.data.augment.base import Augmentation
from neuro_divergent.data.augment.resample import resample_history

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch


@register("time_warp")
class TimeWarp(Augmentation):
    """Bends the time axis of the history smoothly; its ends stay in place and time never runs backwards.

    Um et al., "Data Augmentation of Wearable Sensor Data for Parkinson's Disease Monitoring using Convolutional Neural
    Networks", ICMI 2017. The speed of time is drawn at a few steps, log-normal around 1, and is linear in between.
    Covariates of the history move along with it.

    Attributes:
        sigma: Standard deviation of the logarithm of the speed.
        knots: Steps at which the speed is drawn.

    Examples:
        A history that rises still does, between the same ends:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> history, target = torch.arange(8.0).view(1, 8, 1), torch.ones(1, 2, 1)
        >>> warped, _ = nd.augment.TimeWarp(probability=1.0).apply((history, target))
        >>> warped[0, 0].item(), warped[0, -1].item(), bool((warped.diff(dim=1) > 0).all())
        (0.0, 7.0, True)
    """

    needs_time: ClassVar[bool] = True

    sigma: float = knob(0.2, low=0.05, high=0.5, log=True, ge=0.0)
    knots: int = Field(default=4, ge=2)

    def change(self, batch: Batch) -> Batch:
        if batch.past_y.shape[1] == 1:
            return batch
        return resample_history(batch, self._positions(batch.past_y))

    def _positions(self, history: Tensor) -> Tensor:
        """Return which time each step is read at, ``(batch, history)``."""
        import torch
        from torch.nn import functional

        size, length = history.shape[:2]
        drawn = torch.randn(size, 1, self.knots, device=history.device).mul_(self.sigma).exp_()
        speed = functional.interpolate(drawn, length - 1, mode="linear", align_corners=True).squeeze(1)
        passed = functional.pad(speed.cumsum(1), (1, 0))
        return passed / passed[:, -1:] * (length - 1)
