"""A loss for all quantiles at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from neuro_divergent.core.config import knob, register
from neuro_divergent.losses.base import Forecast, Loss, LossTraits
from neuro_divergent.losses.quantile import pinball

if TYPE_CHECKING:
    from torch import Tensor

    from neuro_divergent.core.spec import Batch

_GRID = 64  # levels of validation


@register("implicit_quantile")
class ImplicitQuantileLoss(Loss):
    """Pinball loss of levels drawn again for each target, so that any level can be requested when forecasting.

    The outputs of the network are the coefficients of a function of the level: the median, plus functions that rise
    with the level, each as much as the softplus of its coefficient says, so that quantiles cannot cross. Those are the
    sums of Bernstein polynomials from one on to the last, which reach any rising function between the ends as their
    ``degree`` grows, and an exponential tail on either side, without which there would be ends. The median is the point
    forecast.

    Unlike in Gouttes et al., "Probabilistic Time Series Forecasting with Implicit Quantile Networks" (2021), the
    network does not read the level: it runs once for all of them.

    In training, levels are drawn by torch's global generator, one from each of ``draws`` equal parts of what lies
    between 0 and 1. In torch's inference mode, as in validation, they are the middles of 64 such parts. The mean over
    the levels is half the continuous ranked probability score.

    Attributes:
        degree: Degree of the polynomials.
        draws: Levels for each target and step of training.

    Examples:
        One training serves all levels:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> loss = nd.losses.ImplicitQuantileLoss()
        >>> forecast = loss.forecast(torch.zeros(1, 1, 1, loss.outputs), levels=(0.01, 0.05, 0.95, 0.99))
        >>> [round(quantile, 2) for quantile in forecast.quantiles.flatten().tolist()]
        [-3.52, -2.35, 2.35, 3.52]
    """

    traits: ClassVar[LossTraits] = LossTraits(probabilistic=True, any_level=True, point_valued=False)

    degree: int = knob(8, low=4, high=16, ge=1, le=64)
    draws: int = knob(8, low=2, high=16, log=True, ge=1)

    @property
    def outputs(self) -> int:
        return self.degree + 3

    def elementwise(self, raw: Tensor, target: Tensor, batch: Batch | None = None) -> Tensor:
        import torch

        raw = self.arrange(raw, target)
        # Without gradients, a cost may still be one of training: finite differences need the levels of its gradient.
        drawing = not torch.is_inference_mode_enabled()
        count = self.draws if drawing else _GRID
        within = torch.rand(*target.shape, count, dtype=raw.dtype, device=raw.device) if drawing else 0.5
        probability = (torch.arange(count, dtype=raw.dtype, device=raw.device) + within) / count
        error = target.unsqueeze(-1) - self._at(raw.unsqueeze(-2), self._rises(probability).to(raw.dtype))
        return pinball(error, probability).mean(-1)

    def forecast(self, raw: Tensor, levels: tuple[float, ...] = (), batch: Batch | None = None) -> Forecast:
        point = raw[..., 0]
        if not levels:
            return Forecast(point)
        probability = raw.new_tensor(levels).reshape(-1, *(1,) * point.ndim)
        return Forecast(point, self.inverse(raw, probability, batch).movedim(0, -1))

    def inverse(self, raw: Tensor, probability: Tensor, batch: Batch | None = None) -> Tensor:
        # Rounded once, a function that rises still does; rounded on the way, it may not.
        return self._at(raw, self._rises(probability.double()).to(raw.dtype))

    def _at(self, raw: Tensor, rises: Tensor) -> Tensor:
        """Return the quantiles of levels at which functions have risen as far as is given along the last axis."""
        from torch.nn.functional import softplus

        return raw[..., 0] + (softplus(raw[..., 1:]) * rises).sum(-1)

    def _rises(self, probability: Tensor) -> Tensor:
        """Return how far each function has risen above its value at the median, ``(..., degree + 2)``."""
        import torch

        probability = probability.clamp(2**-24, 1 - 2**-24)
        places = torch.arange(self.degree + 1, dtype=probability.dtype, device=probability.device)
        ways = probability.new_tensor([math.comb(self.degree, place) for place in range(self.degree + 1)])
        up, down = probability.unsqueeze(-1) ** places, (1 - probability).unsqueeze(-1) ** (self.degree - places)
        reached = (ways * up * down).flip(-1).cumsum(-1).flip(-1)[..., 1:]
        half = (ways * 0.5**self.degree).flip(-1).cumsum(-1).flip(-1)[..., 1:]
        tails = torch.stack([(2 * probability).log(), -(2 * (1 - probability)).log()], -1)
        # A degree more is a finer function, not a wider one.
        return torch.cat([(reached - half) / self.degree, tails], -1)
