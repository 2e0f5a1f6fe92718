"""RMSprop."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.optimizers.wrapped import WrappedOptimizer


@register("rmsprop")
class RMSprop(WrappedOptimizer):
    """Divides the gradient by a running root mean square of itself (Hinton, 2012)."""

    elementwise: ClassVar[bool] = True

    alpha: float = Field(default=0.99, gt=0, lt=1)
    eps: float = Field(default=1e-8, gt=0)
    momentum: float = Field(default=0.0, ge=0, lt=1)
