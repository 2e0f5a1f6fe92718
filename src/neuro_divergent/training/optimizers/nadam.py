"""NAdam."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.optimizers.base import Beta
from neuro_divergent.training.optimizers.wrapped import WrappedOptimizer


@register("nadam")
class NAdam(WrappedOptimizer):
    """Adam with Nesterov's momentum (Dozat, 2016).

    Weight decay is apart from the gradient, as in AdamW, unless ``decoupled`` is off.

    Attributes:
        momentum_decay: How fast the first beta grows to its full value.
    """

    elementwise: ClassVar[bool] = True
    arguments: ClassVar[dict[str, str]] = {"decoupled": "decoupled_weight_decay"}

    betas: tuple[Beta, Beta] = (0.9, 0.999)
    eps: float = Field(default=1e-8, gt=0)
    momentum_decay: float = Field(default=4e-3, ge=0)
    decoupled: bool = True
