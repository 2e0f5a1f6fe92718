"""Mixtures of distributions of one family, with quantiles."""

from __future__ import annotations

import math
from typing import Self

import torch
from torch import Tensor
from torch.distributions import Categorical, Distribution, MixtureSameFamily, Normal

from neuro_divergent.core.exporting import is_exporting
from neuro_divergent.losses.distribution.distributions import traced
from neuro_divergent.losses.distribution.distributions.count import CountDistribution
from neuro_divergent.losses.distribution.distributions.solve import between


class MixtureDistribution(MixtureSameFamily):
    """Torch's mixture, made from logits."""

    @classmethod
    def of(cls, logits: Tensor, components: Distribution) -> Self:
        """Make it from logits of the weights and the components, both with the components on the last axis."""
        return cls(Categorical(logits=logits, validate_args=False), components, validate_args=False)


class GaussianMixtureDistribution(MixtureDistribution):
    """A mixture of normal distributions."""

    def icdf(self, value: Tensor) -> Tensor:
        components = self.component_distribution
        assert isinstance(components, Normal)
        ends: Tensor = components.icdf(value.unsqueeze(-1))  # type: ignore[no-untyped-call]
        if is_exporting():
            return self._traced_icdf(value, ends)
        parameters = (self.mixture_distribution.probs, components.loc, components.scale)
        count = ends.shape[-1]

        def cdf(value: Tensor, *parts: Tensor) -> Tensor:
            total = torch.zeros_like(value)
            for weight, mean, spread in zip(parts[:count], parts[count:-count], parts[-count:], strict=True):
                total += weight * torch.special.ndtr((value - mean) / spread)
            return total

        return between(cdf, value, *ends.aminmax(dim=-1), *(part for item in parameters for part in item.unbind(-1)))

    def _traced_icdf(self, value: Tensor, ends: Tensor) -> Tensor:
        components, weights = self.component_distribution, self.mixture_distribution.probs
        assert isinstance(components, Normal)

        def cdf(points: Tensor) -> Tensor:
            deviate = (points.unsqueeze(-1) - components.loc) / components.scale
            # Runtimes of graphs have the error function in 32 bits.
            error = torch.erf((deviate / math.sqrt(2)).float()).to(deviate)
            return (weights * (1 + error) / 2).sum(-1)

        return traced.increasing_root(cdf, value, ends.amin(-1), ends.amax(-1))


class CountMixtureDistribution(CountDistribution, MixtureDistribution):
    """A mixture of distributions of counts."""
