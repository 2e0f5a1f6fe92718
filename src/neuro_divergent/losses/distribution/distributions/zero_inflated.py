"""A distribution of counts that gives zero instead with some probability."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch.distributions import Distribution
from torch.distributions.constraints import Constraint
from torch.nn.functional import logsigmoid
from torch.types import _size

from neuro_divergent.losses.distribution.distributions.count import CountDistribution


class ZeroInflatedDistribution(CountDistribution):
    """Zero with some probability, given by its logit, else what a distribution of counts gives."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {}

    def __init__(self, counts: Distribution, logit: Tensor) -> None:
        self.counts = counts
        self.logit = logit
        super().__init__(counts.batch_shape, validate_args=False)

    @property
    def mean(self) -> Tensor:
        return self.logit.neg().sigmoid() * self.counts.mean

    @property
    def variance(self) -> Tensor:
        """By the law of total variance."""
        mean = self.counts.mean
        return self.logit.neg().sigmoid() * (self.counts.variance + self.logit.sigmoid() * mean.square())

    def log_prob(self, value: Tensor) -> Tensor:
        counted: Tensor = logsigmoid(-self.logit) + self.counts.log_prob(value)
        return torch.logaddexp(logsigmoid(self.logit), counted).where(value == 0, counted)

    def cdf(self, value: Tensor) -> Tensor:
        zero = self.logit.sigmoid()
        return zero + (1 - zero) * self.counts.cdf(value)

    def sample(self, sample_shape: _size = torch.Size()) -> Tensor:  # noqa: B008 - as torch has it
        with torch.no_grad():
            counts = self.counts.sample(sample_shape)
            return counts.where(torch.rand_like(counts) >= self.logit.sigmoid(), 0)
