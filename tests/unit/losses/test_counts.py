"""Mean and variance of distributions of counts, against sums over their probabilities."""

from __future__ import annotations

import pytest
import torch

from neuro_divergent.losses.distribution.base import DistributionLoss
from neuro_divergent.losses.distribution.mixture import NegativeBinomialMixture, PoissonMixture
from neuro_divergent.losses.distribution.negative_binomial import NegativeBinomial
from neuro_divergent.losses.distribution.poisson import Poisson
from neuro_divergent.losses.distribution.zero_inflated import ZeroInflatedNegativeBinomial, ZeroInflatedPoisson

COUNTS = [
    Poisson(),
    NegativeBinomial(),
    ZeroInflatedPoisson(),
    ZeroInflatedNegativeBinomial(),
    PoissonMixture(2),
    NegativeBinomialMixture(2),
]


@pytest.mark.parametrize("loss", COUNTS, ids=lambda loss: loss.name)
def test_mean_and_variance_are_sums_over_the_probabilities(loss: DistributionLoss) -> None:
    raw = torch.sin(torch.arange(5 * loss.outputs, dtype=torch.float64)).view(5, loss.outputs)
    law = loss.distribution(raw)
    count = torch.arange(2000, dtype=torch.float64)[:, None]
    probability = law.log_prob(count).exp()
    torch.testing.assert_close(probability.sum(0), torch.ones(5, dtype=torch.float64))
    mean = (probability * count).sum(0)
    torch.testing.assert_close(law.mean, mean)
    torch.testing.assert_close(law.variance, (probability * (count - mean).square()).sum(0))
