"""The dependence between the steps of a forecast."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neuro_divergent.core.arrays import Floats, Ints
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.spec import Batch
from neuro_divergent.forecasting.hierarchy.joint_errors import JointErrors
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.distribution.base import DistributionLoss
from neuro_divergent.losses.distribution.natural import NaturalLoss
from neuro_divergent.losses.distribution.units import Units, precise

_BISECTIONS = 12  # windows are only ranked by the result


@dataclass(frozen=True, eq=False)
class Copula:
    """An empirical copula: ranks of past windows by where their observed values lay in the forecast distributions.

    It describes the dependence between steps, whatever the distribution of each step is. That comes from the forecast;
    the copula says which quantiles occur together in a path.

    Attributes:
        ranks: From 0, ``(windows, horizon)``; each column holds each rank once.
    """

    ranks: Tensor

    @classmethod
    def of(cls, scores: Tensor) -> Copula | None:
        """Rank windows at each step; ties are broken by chance, the same for the same scores.

        Args:
            scores: Any increasing function of the observed value, ``(windows, horizon)``, such as the forecast
                distribution function at it. Without any window there is no copula.
        """
        if not len(scores):
            return None
        values = scores.double().numpy()
        chance = np.random.default_rng(0).random(values.shape)
        return cls(torch.from_numpy(_ranks(values, chance).astype(np.int16)))

    @cached_property
    def correlation(self) -> Floats:
        """Correlation ``(horizon, horizon)`` of the normal scores of the ranks, shrunk as errors of series are."""
        scores = torch.special.ndtri((self.ranks.double() + 0.5) / len(self.ranks)).numpy()
        covariance = JointErrors(scores[:, :, None]).covariance()
        deviations = np.sqrt(np.diag(covariance))
        result: Floats = covariance / np.outer(deviations, deviations)
        return result

    def gaussian(self, count: int, rows: int, generator: np.random.Generator) -> Floats:
        """Draw probabilities ``(count, rows, horizon)``; their normal scores are correlated as in past windows."""
        drawn = generator.standard_normal((count, rows, self.ranks.shape[1])) @ np.linalg.cholesky(self.correlation).T
        result: Floats = torch.special.ndtr(torch.from_numpy(drawn)).numpy()
        return result

    def shuffled(self, count: int, rows: int, generator: np.random.Generator) -> Floats:
        """Draw probabilities ``(count, rows, horizon)`` that have, at each step, the ranks of past windows.

        This is the Schaake shuffle (Clark et al., Journal of Hydrometeorology 2004): each path follows one window, and
        every window is followed about as often. With more paths than windows, those of a window are next to each other
        in rank, in an order that is left to chance.
        """
        windows, horizon = self.ranks.shape
        followed = generator.permuted(np.tile(np.arange(windows)[:, None], rows), axis=0)[np.arange(count) % windows]
        template = self.ranks.numpy()[followed]
        order = _ranks(template, generator.random(template.shape))
        result: Floats = np.take_along_axis(np.sort(generator.random((count, rows, horizon)), axis=0), order, 0)
        return result


def independent(count: int, rows: int, horizon: int, generator: np.random.Generator) -> Floats:
    """Draw independent probabilities ``(count, rows, horizon)``."""
    return generator.random((count, rows, horizon))


def cdf_at_target(loss: Loss, raw: Tensor, target: Tensor, batch: Batch) -> Tensor:
    """Return the forecast distribution function at the observed value, to the fourth digit.

    Where the probability of a single value is not 0, as that of a count is not, half of it counts as below.

    Args:
        loss: A probabilistic loss.
        raw: Outputs of the network, ``(batch, horizon, channel, outputs)``.
        target: The observed values, on the scale of the network.
        batch: What the outputs were made from.
    """
    if not isinstance(loss, DistributionLoss):
        return _search(loss, raw, target, batch)
    law, units = loss.distribution(raw, batch), Units.of(batch, raw)
    if not isinstance(loss, NaturalLoss):
        return law.cdf(precise(target)).to(target.dtype)
    value = loss.admit(units.restore(precise(target)), units)
    up_to: Tensor = law.cdf(value)
    below: Tensor = law.cdf((value - 1).clamp_min(0)) if loss.traits.integer_valued else up_to
    # Amounts, like counts, may be 0 with a probability of its own.
    return ((up_to + below.where(value > 0, 0)) / 2).to(target.dtype)


def _search(loss: Loss, raw: Tensor, value: Tensor, batch: Batch) -> Tensor:
    """Return the distribution function at values, by bisection."""
    low, high = torch.zeros_like(value), torch.ones_like(value)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        is_above = loss.inverse(raw, middle.unsqueeze(0), batch).squeeze(0) > value
        low, high = low.where(is_above, middle), middle.where(is_above, high)
    return (low + high) / 2


def _ranks(values: NDArray[np.generic], chance: Floats) -> Ints:
    """Return the rank of each value in its column; ties are broken by ``chance``."""
    return np.argsort(np.lexsort((chance, values), axis=0), axis=0)


def not_measured() -> InputError:
    """Return the error for a model without a copula."""
    return InputError(
        "the dependence between steps was not measured: no series was long enough to hold out a validation "
        "part, or the model was saved by an earlier version. Pass dependence='independent', or train with validation "
        "set to a smaller fraction."
    )
