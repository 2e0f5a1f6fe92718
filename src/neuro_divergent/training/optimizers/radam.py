"""RAdam."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.training.optimizers.base import Beta
from neuro_divergent.training.optimizers.wrapped import WrappedOptimizer


@register("radam")
class RAdam(WrappedOptimizer):
    """Rectified Adam (Liu et al., 2020): no adaptive step before its variance is known.

    It warms up by itself. Weight decay is apart from the gradient, as in AdamW, unless ``decoupled`` is off.
    """

    elementwise: ClassVar[bool] = True
    arguments: ClassVar[dict[str, str]] = {"decoupled": "decoupled_weight_decay"}

    betas: tuple[Beta, Beta] = (0.9, 0.999)
    eps: float = Field(default=1e-8, gt=0)
    decoupled: bool = True

    def implementation(self, groups: list[dict[str, Any]]) -> dict[str, bool | None]:
        # Updating all tensors at once is faster here at every size that was measured, 1.04 to 1.5 times.
        return {"foreach": True}
