"""Every process trains alone, also where a launcher started several."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import register
from neuro_divergent.training.strategy import SingleDevice, Strategy, StrategyConfig

if TYPE_CHECKING:
    import torch


@register("single")
class Single(StrategyConfig):
    """Nothing is shared: for processes that train different things."""

    is_shared: ClassVar[bool] = False

    def join(self, device: torch.device) -> Strategy:
        return SingleDevice()
