"""AdaBound."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from neuro_divergent.core.config import knob, register
from neuro_divergent.training.optimizers.base import Beta
from neuro_divergent.training.optimizers.wrapped import LibraryOptimizer


@register("adabound")
class AdaBound(LibraryOptimizer):
    """Adam whose step sizes are bounded more and more tightly, so that it ends as SGD (Luo et al., 2019).

    Weight decay is apart from the gradient. Needs the extra ``optimizers``.

    Attributes:
        final_lr: Rate of the SGD it ends as; the schedule multiplies it, too.
        gamma: How fast the bounds close.
        amsbound: Whether the largest mean of squares so far counts instead of the last.
    """

    arguments: ClassVar[dict[str, str]] = {"amsbound": "ams_bound"}

    betas: tuple[Beta, Beta] = (0.9, 0.999)
    eps: float = Field(default=1e-8, gt=0)
    final_lr: float = knob(0.1, low=1e-2, high=1.0, log=True, gt=0)
    gamma: float = Field(default=1e-3, gt=0)
    amsbound: bool = False
