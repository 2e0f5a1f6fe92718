"""Adam and AdamW."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.optimizers.base import Beta
from neuro_divergent.training.optimizers.wrapped import WrappedOptimizer


@register("adam")
class Adam(WrappedOptimizer):
    """Adam (Kingma & Ba, 2015), in torch's fused form; weight decay is added to the gradient."""

    elementwise: ClassVar[bool] = True

    betas: tuple[Beta, Beta] = (0.9, 0.999)
    eps: float = Field(default=1e-8, gt=0)
    amsgrad: bool = False

    def implementation(self, groups: list[dict[str, Any]]) -> dict[str, bool | None]:
        return {"fused": True}


@register("adamw")
class AdamW(Adam):
    """AdamW (Loshchilov & Hutter, 2019), in torch's fused form; weight decay is apart from the gradient."""

    weight_decay: float = knob(1e-2, low=1e-6, high=1e-1, log=True, ge=0)
