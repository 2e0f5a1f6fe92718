"""Distribution losses against scipy, integrals, finite differences and simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, special, stats
from torch import Tensor

from neuro_divergent.core.spec import Batch
from neuro_divergent.losses.distribution.base import DistributionLoss
from neuro_divergent.losses.distribution.bernoulli import Bernoulli
from neuro_divergent.losses.distribution.beta import Beta
from neuro_divergent.losses.distribution.distributions.spline import SplineDistribution
from neuro_divergent.losses.distribution.distributions.tweedie import TweedieDistribution
from neuro_divergent.losses.distribution.isqf import ISQF
from neuro_divergent.losses.distribution.laplace import Laplace
from neuro_divergent.losses.distribution.log_normal import LogNormal
from neuro_divergent.losses.distribution.mixture import GaussianMixture, NegativeBinomialMixture, PoissonMixture
from neuro_divergent.losses.distribution.negative_binomial import NegativeBinomial
from neuro_divergent.losses.distribution.normal import Normal
from neuro_divergent.losses.distribution.poisson import Poisson
from neuro_divergent.losses.distribution.student_t import StudentT
from neuro_divergent.losses.distribution.tweedie import Tweedie
from neuro_divergent.losses.distribution.zero_inflated import ZeroInflatedNegativeBinomial, ZeroInflatedPoisson

B, H, C = 4, 3, 2
SHARES = (1e-4, 0.05, 0.3, 0.5, 0.8, 0.99)
Array = Any


def softplus(x: Array) -> Array:
    return np.logaddexp(0, x)


def spread(x: Array) -> Array:
    return softplus(x) + 1e-6


def level(x: Array, loc: Array, scale: Array) -> Array:
    return scale * softplus(x + loc / scale)


def share(x: Array, loc: Array, scale: Array) -> Array:
    return scale * (softplus(x + loc / scale) - softplus(x + (loc - 1) / scale))


class Blend:
    """A mixture of scipy's distributions, shares on the last axis, with a zero as one of them where asked for."""

    def __init__(self, shares: Array, parts: list[Any], zeros: Array = 0.0) -> None:
        self.shares, self.parts, self.zeros = shares, parts, zeros

    def logpdf(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            likelihoods = [log_likelihood(part, x) + np.log(self.shares[..., k]) for k, part in enumerate(self.parts)]
            zeros = np.log(self.zeros * (x == 0))
        return np.logaddexp(zeros, np.log1p(-self.zeros) + special.logsumexp(likelihoods, axis=0))

    def cdf(self, x: Array) -> Array:
        below = sum(self.shares[..., k] * part.cdf(x) for k, part in enumerate(self.parts))
        return self.zeros * (x >= 0) + (1 - self.zeros) * below

    def mean(self) -> Array:
        return (1 - self.zeros) * sum(self.shares[..., k] * part.mean() for k, part in enumerate(self.parts))


def log_likelihood(law: Any, value: Array) -> Array:
    """Return what scipy calls ``logpmf`` for whole numbers and ``logpdf`` for all others."""
    return law.logpmf(value) if hasattr(law, "logpmf") else law.logpdf(value)


def negative_binomial(mean: Array, dispersion: Array) -> Any:
    return stats.nbinom(1 / dispersion, 1 / (1 + mean * dispersion))


def blend(kind: Callable[..., Any], shares: Array, *parameters: Array) -> Blend:
    count = shares.shape[-1]
    return Blend(special.softmax(shares, -1), [kind(*(item[..., k] for item in parameters)) for k in range(count)])


APART = np.linspace(-1, 1, 3)
# What each loss stands for, in the units of the data, from its outputs (first axis) and the units.
FAMILIES: list[tuple[DistributionLoss, Callable[..., Any]]] = [
    (Normal(), lambda r, a, s: stats.norm(a + s * r[0], s * spread(r[1]))),
    (Laplace(), lambda r, a, s: stats.laplace(a + s * r[0], s * spread(r[1]))),
    (StudentT(), lambda r, a, s: stats.t(2.001 + softplus(r[0]), a + s * r[1], s * spread(r[2]))),
    (StudentT(df=4.5), lambda r, a, s: stats.t(4.5, a + s * r[0], s * spread(r[1]))),
    (LogNormal(), lambda r, a, s: stats.lognorm(spread(r[1]) * s / (abs(a) + s), scale=level(r[0], a, s))),
    (Poisson(), lambda r, a, s: stats.poisson(level(r[0], a, s))),
    (NegativeBinomial(), lambda r, a, s: negative_binomial(level(r[0], a, s), spread(r[1]))),
    (
        ZeroInflatedPoisson(),
        lambda r, a, s: Blend(np.ones(1), [stats.poisson(level(r[0], a, s))], special.expit(r[1])),
    ),
    (
        ZeroInflatedNegativeBinomial(),
        lambda r, a, s: Blend(np.ones(1), [negative_binomial(level(r[1], a, s), spread(r[2]))], special.expit(r[0])),
    ),
    (
        GaussianMixture(),
        lambda r, a, s: blend(
            stats.norm, in_threes(r[:3]), a + s * (in_threes(r[3:6]) + APART), s * spread(in_threes(r[6:]))
        ),
    ),
    (PoissonMixture(), lambda r, a, s: blend(stats.poisson, in_threes(r[3:]), level(in_threes(r[:3]) + APART, a, s))),
    (
        NegativeBinomialMixture(),
        lambda r, a, s: blend(
            negative_binomial, in_threes(r[:3]), level(in_threes(r[3:6]) + APART, a, s), spread(in_threes(r[6:]))
        ),
    ),
]
OF_SHARES: list[tuple[DistributionLoss, Callable[..., Any]]] = [
    (Beta(), lambda r, a, s: beta(share(r[0], a, s), spread(r[1]) * (1 + 0.25 / s**2))),
    (Bernoulli(), lambda r, a, s: stats.bernoulli(share(r[0], a, s))),
]
UNITS = [(0.0, 1.0), (12.0, 5.0), (1e-6, 5e-7), (1e6, 3e4), (0.0, 1e6)]
SHARE_UNITS = [(0.0, 1.0), (0.4, 0.1), (1e-3, 1e-3), (0.97, 0.05)]
CASES = [
    *((loss, make, units) for loss, make in FAMILIES for units in UNITS),
    *((loss, make, units) for loss, make in OF_SHARES for units in SHARE_UNITS),
]
every_case = pytest.mark.parametrize(
    ("loss", "make", "units"), CASES, ids=[f"{loss} in {units}" for loss, _, units in CASES]
)
LOSSES = [*(loss for loss, _ in [*FAMILIES, *OF_SHARES]), Tweedie(), Tweedie(1.2), ISQF(), ISQF([0.2, 0.5], pieces=1)]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=str)


def in_threes(raw: Array) -> Array:
    return np.moveaxis(raw, 0, -1)


def beta(mean: Array, total: Array) -> Any:
    return stats.beta(mean * total, (1 - mean) * total)


def random(*shape: int, seed: int = 3) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def number(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def batch_in(units: tuple[float, float], dtype: torch.dtype = torch.float64) -> Batch:
    loc, scale = (torch.full((B, 1, C), number, dtype=dtype) for number in units)
    none = torch.zeros(B, 1, C, dtype=dtype)
    return Batch(past_y=none, past_mask=none, unit_loc=loc, unit_scale=scale)


def possible(loss: DistributionLoss, units: tuple[float, float], *shape: int, seed: int = 5) -> Tensor:
    """Return values in the units of the data that a distribution of the size of the window may well take."""
    noise = random(*shape, seed=seed)
    if loss.name == "beta":
        return noise.sigmoid()
    if loss.name == "bernoulli":
        return (noise > 0).double()
    value = units[0] + units[1] * noise
    if not loss.traits.requires_original_scale:
        return value
    return value.abs().round() if loss.traits.integer_valued else value.abs()


@every_case
def test_the_cost_is_the_log_likelihood_in_the_units_of_the_data(
    loss: DistributionLoss, make: Callable[..., Any], units: tuple[float, float]
) -> None:
    raw, value = random(B, H, C, loss.outputs), possible(loss, units, B, H, C)
    cost = loss.elementwise(raw, (value - units[0]) / units[1], batch_in(units))
    law = make(raw.movedim(-1, 0).numpy(), *units)
    expected = log_likelihood(law, value.numpy())
    assert np.allclose(-cost.numpy(), expected, rtol=1e-7, atol=1e-7)
    if units == (0.0, 1.0):
        assert torch.equal(loss.elementwise(raw, value), cost)


@every_case
def test_quantiles_and_means_are_those_of_scipy(
    loss: DistributionLoss, make: Callable[..., Any], units: tuple[float, float]
) -> None:
    raw = random(B, H, C, loss.outputs)
    law = make(raw.movedim(-1, 0).numpy(), *units)
    forecast = loss.forecast(raw, SHARES, batch_in(units))
    assert forecast.quantiles is not None
    found = units[0] + units[1] * forecast.quantiles.movedim(-1, 0).numpy()
    for wanted, quantile in zip(SHARES, found, strict=True):
        if isinstance(law, Blend) and loss.traits.integer_valued:
            quantile = quantile.round()
            assert (law.cdf(quantile) >= wanted - 1e-9).all()
            assert (law.cdf(quantile - 1) < wanted + 1e-9).all()
        elif isinstance(law, Blend):
            assert np.allclose(law.cdf(quantile), wanted, rtol=1e-9, atol=1e-10)
        else:
            assert np.allclose(quantile, law.ppf(wanted), rtol=1e-7, atol=1e-9 * units[1])
    assert np.allclose(units[0] + units[1] * forecast.point.numpy(), law.mean(), rtol=1e-9)


@every_loss
def test_shares_and_values_are_each_others_inverse(loss: DistributionLoss) -> None:
    raw = random(B, H, C, loss.outputs)
    law = loss.distribution(raw)
    shares = torch.linspace(0.01, 0.99, 21, dtype=torch.float64).reshape(-1, 1, 1, 1)
    values = loss.inverse(raw, shares)
    assert values.shape == (21, B, H, C)
    reached = law.cdf(values)
    if loss.traits.integer_valued:
        assert (reached >= shares).all()
    else:
        expected = shares.expand_as(reached)
        if isinstance(law, TweedieDistribution):  # zero has a probability of its own
            expected = expected.maximum((-law.rate).exp())
        assert torch.allclose(reached, expected, atol=1e-9)


@every_loss
def test_draws_have_shares_of_their_own(loss: DistributionLoss) -> None:
    raw = random(B, H, C, loss.outputs)
    shares = torch.rand(7, B, H, C, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    together = loss.inverse(raw, shares)
    for place in range(7):
        assert torch.allclose(loss.inverse(raw, shares[place : place + 1])[0], together[place], rtol=1e-6)


@every_loss
def test_the_gradient_is_that_of_finite_differences(loss: DistributionLoss) -> None:
    raw, value = random(2, 2, loss.outputs), possible(loss, (0.0, 1.0), 2, 2)
    assert torch.autograd.gradcheck(lambda outputs: loss.elementwise(outputs, value), (raw.requires_grad_(),))


CORNERS = (-50.0, -20.0, -1.0, 0.0, 1.0, 20.0, 50.0)


@every_loss
@pytest.mark.parametrize(
    "units", [None, (0.0, 1.0), (0.0, 1e-6), (1e-6, 1e-7), (1e6, 1e5), (1e6, 1.0), (0.0, 1e6)], ids=str
)
def test_extreme_outputs_and_sizes_have_finite_costs_and_gradients(
    loss: DistributionLoss, units: tuple[float, float] | None
) -> None:
    generator = torch.Generator().manual_seed(0)
    choice = torch.randint(len(CORNERS), (B, 200, C, loss.outputs), generator=generator)
    raw = torch.tensor(CORNERS)[choice].requires_grad_()
    loc, scale = units or (0.0, 1.0)
    sizes = torch.tensor([0.0, 1e-6, 1.0, loc, loc + scale, 1e6])
    if loss.name in {"beta", "bernoulli"}:
        if loc > 1:  # no share is that large
            return
        sizes = torch.tensor([0.0, 1.0]) if loss.traits.integer_valued else torch.tensor([0.0, 1e-6, 0.5, 1.0])
    value = sizes[torch.randint(len(sizes), (B, 200, C), generator=generator)]
    batch = None if units is None else batch_in(units, torch.float32)
    cost = loss.elementwise(raw, (value - loc) / scale, batch)
    cost.mean().backward()
    assert cost.dtype == torch.float32
    assert torch.isfinite(cost).all()
    assert raw.grad is not None
    assert torch.isfinite(raw.grad).all()


@every_loss
def test_quantiles_of_extreme_outputs_are_numbers_and_in_order(loss: DistributionLoss) -> None:
    generator = torch.Generator().manual_seed(0)
    raw = torch.tensor(CORNERS)[torch.randint(len(CORNERS), (B, 10, C, loss.outputs), generator=generator)]
    levels = (0.0, 0.01, 0.5, 0.99, 1.0)
    quantiles = loss.forecast(raw, levels, batch_in((3.0, 2.0), torch.float32)).quantiles
    assert quantiles is not None
    assert not quantiles.isnan().any()
    assert (quantiles.diff(dim=-1) >= 0).all()


class TestTweedie:
    @pytest.mark.parametrize("power", [1.01, 1.1, 1.5, 1.8, 1.99])
    @pytest.mark.parametrize("dispersion", [3.0, 0.3, 0.03, 0.003])
    def test_the_density_is_that_of_a_poisson_number_of_gamma_amounts(self, power: float, dispersion: float) -> None:
        mean = 2.0
        rate = mean ** (2 - power) / (dispersion * (2 - power))
        shape, scale = (2 - power) / (power - 1), dispersion * (power - 1) * mean ** (power - 1)
        deviation = math.sqrt(dispersion * mean**power)
        value = np.linspace(max(mean - 4 * deviation, 0.05), mean + 6 * deviation, 40)
        number = np.arange(1, int(rate + 12 * math.sqrt(rate) + 60))[:, None]
        parts = stats.poisson.logpmf(number, rate) + stats.gamma.logpdf(value, number * shape, scale=scale)
        law = TweedieDistribution(*(torch.full((40,), item, dtype=torch.float64) for item in (mean, dispersion)), power)
        found = law.log_prob(torch.from_numpy(value)).numpy()
        assert np.allclose(found, special.logsumexp(parts, axis=0), rtol=0, atol=1e-6)

    @pytest.mark.parametrize("power", [1.1, 1.5, 1.9])
    def test_density_and_probability_of_zero_add_up_to_one(self, power: float) -> None:
        law = TweedieDistribution(number(1.3), number(0.7), power)
        zero = float(law.log_prob(number(0.0)).exp())
        assert zero == pytest.approx(math.exp(-(1.3 ** (2 - power)) / (0.7 * (2 - power))), rel=1e-12)

        def density(x: float) -> float:
            return float(law.log_prob(number(x)).exp())

        above = [integrate.quad(density, low, high, limit=200)[0] for low, high in ((0, 0.5), (0.5, 5), (5, 60))]
        assert zero + sum(above) == pytest.approx(1, abs=1e-6)

    def test_draws_have_the_mean_the_variance_and_the_quantiles(self) -> None:
        torch.manual_seed(0)
        law = TweedieDistribution(number(2.0), number(0.8), 1.4)
        drawn = law.sample(torch.Size([200_000]))
        assert float(drawn.mean()) == pytest.approx(2, rel=0.01)
        assert float(drawn.var()) == pytest.approx(0.8 * 2**1.4, rel=0.02)
        assert float((drawn == 0).double().mean()) == pytest.approx(math.exp(-float(law.rate)), rel=0.05)
        for level_ in (0.3, 0.6, 0.95):
            quantile = law.icdf(number(level_))
            assert float((drawn <= quantile).double().mean()) == pytest.approx(level_, abs=0.005)

    @pytest.mark.parametrize("power", [1.05, 1.5, 1.9])
    def test_the_probability_is_the_same_on_both_sides_of_many_amounts(self, power: float) -> None:
        limit = 1 / ((2 - power) * 0.01)
        shares = torch.tensor([0.001, 0.1, 0.5, 0.9, 0.999], dtype=torch.float64)
        ends = []
        for rate in (limit * (1 - 1e-9), limit * (1 + 1e-9)):
            dispersion = torch.tensor([1 / (rate * (2 - power))], dtype=torch.float64)
            ends.append(TweedieDistribution(torch.ones(1, dtype=torch.float64), dispersion, power).icdf(shares))
        assert torch.allclose(ends[0], ends[1], rtol=2e-6)


class TestISQF:
    def law(self, seed: int = 3, **settings_: Any) -> SplineDistribution:
        loss = ISQF(**settings_)
        law = loss.distribution(random(5, loss.outputs, seed=seed))
        assert isinstance(law, SplineDistribution)
        return law

    @pytest.mark.parametrize("pieces", [1, 2, 5])
    def test_the_density_integrates_to_one(self, pieces: int) -> None:
        law = self.law(pieces=pieces)
        ends = law.icdf(torch.tensor([[1e-6], [1 - 1e-6]]).double())
        grid = ends[0] + (ends[1] - ends[0]) * torch.linspace(0, 1, 400_001, dtype=torch.float64)[:, None]
        area = torch.trapezoid(law.log_prob(grid).exp(), grid, dim=0)
        assert torch.allclose(area, torch.ones(5, dtype=torch.float64), atol=1e-3)

    def test_the_density_is_the_slope_of_the_probability(self) -> None:
        law, value = self.law(), random(50, 5, seed=8) * 3
        step = 1e-7
        slope = (law.cdf(value + step) - law.cdf(value - step)) / (2 * step)
        assert torch.allclose(slope, law.log_prob(value).exp(), rtol=1e-5, atol=1e-7)

    def test_quantiles_never_cross(self) -> None:
        loss = ISQF()
        raw = 20 * torch.randn(10_000, loss.outputs, generator=torch.Generator().manual_seed(0))
        levels = tuple(np.linspace(0.001, 0.999, 41))
        quantiles = loss.forecast(raw, levels).quantiles
        assert quantiles is not None
        assert (quantiles.diff(dim=-1) >= 0).all()
        exact = loss.inverse(raw.double(), torch.tensor(levels, dtype=torch.float64)[:, None])
        assert (exact.diff(dim=0) > 0).all()

    @settings(max_examples=30, deadline=None)
    @given(st.integers(0, 10_000), st.floats(-8, 8), st.integers(1, 4))
    def test_the_score_is_twice_the_pinball_cost_over_all_levels(self, seed: int, value: float, pieces: int) -> None:
        law = self.law(seed=seed, pieces=pieces)
        # Levels as the mass of a logistic curve: fine at both ends, where quantiles run off to infinity.
        place = torch.linspace(-30, 30, 40_001, dtype=torch.float64)
        levels = place.sigmoid()[:, None]
        error = value - law.icdf(levels)
        pinball = torch.maximum(levels * error, (levels - 1) * error)
        weight = (levels * (1 - levels)).expand_as(pinball)
        expected = 2 * torch.trapezoid(pinball * weight, place, dim=0)
        assert torch.allclose(law.crps(torch.full((5,), value).double()), expected, rtol=1e-5, atol=1e-6)

    def test_outputs_of_zero_are_nearly_a_standard_normal_distribution(self) -> None:
        loss = ISQF()
        raw = torch.zeros(1, loss.outputs, dtype=torch.float64)
        at = torch.tensor(loss.quantiles, dtype=torch.float64)
        assert np.allclose(loss.inverse(raw, at[:, None])[:, 0], stats.norm.ppf(loss.quantiles), atol=1e-4)
        assert float(loss.forecast(raw).point) == pytest.approx(0, abs=1e-9)
        for value in (-3.0, -0.5, 0.0, 2.0):
            score = loss.elementwise(raw, torch.tensor([value]).double())
            exact = value * (2 * stats.norm.cdf(value) - 1) + 2 * stats.norm.pdf(value) - 1 / math.sqrt(math.pi)
            assert float(score) == pytest.approx(exact, rel=0.05)

    def test_the_mean_is_that_of_many_draws(self) -> None:
        torch.manual_seed(0)
        law = self.law()
        drawn = law.rsample(torch.Size([200_000]))
        assert torch.allclose(drawn.mean(0), law.mean, atol=0.03)


def fitted(loss: DistributionLoss, sample: Array, start: Tensor) -> Tensor:
    """Return the outputs that make a sample most likely, by gradients of the loss."""
    value = torch.from_numpy(np.asarray(sample, dtype=np.float64))

    def objective(outputs: Array) -> tuple[float, Array]:
        raw = torch.from_numpy(outputs).requires_grad_()
        cost = loss.elementwise(raw.expand(len(value), -1), value).mean()
        (gradient,) = torch.autograd.grad(cost, raw)
        return cost.item(), gradient.numpy()

    found = optimize.minimize(objective, start.numpy(), jac=True, method="L-BFGS-B", options={"maxiter": 100})
    return torch.from_numpy(found.x)


RECOVERED: list[tuple[DistributionLoss, list[float], float]] = [
    (Normal(), [1.5, -0.5], 0.05),
    (Laplace(), [1.5, -0.5], 0.05),
    (StudentT(), [1.0, 1.5, -0.5], 0.3),
    (StudentT(df=4.0), [1.5, -0.5], 0.05),
    (LogNormal(), [1.0, 0.3], 0.05),
    (Poisson(), [2.0], 0.05),
    (NegativeBinomial(), [2.0, 0.2], 0.1),
    (ZeroInflatedPoisson(), [3.0, -0.4], 0.1),
    (ZeroInflatedNegativeBinomial(), [-0.4, 4.0, -0.8], 0.2),
    (Bernoulli(), [0.7], 0.1),
    (Beta(), [0.6, 1.5], 0.1),
    (Tweedie(), [0.8, -0.2], 0.1),
]


@pytest.mark.parametrize(("loss", "truth", "tolerance"), RECOVERED, ids=lambda item: str(item)[:40])
def test_the_loss_recovers_the_parameters_of_a_sample(
    loss: DistributionLoss, truth: list[float], tolerance: float
) -> None:
    torch.manual_seed(0)
    right = torch.tensor(truth, dtype=torch.float64)
    sample = loss.distribution(right).sample(torch.Size([20_000])).numpy()
    assert torch.allclose(fitted(loss, sample, torch.zeros_like(right)), right, atol=tolerance)


@pytest.mark.parametrize(
    ("loss", "parts"),
    [
        (GaussianMixture(2), (stats.norm(-3, 0.5), stats.norm(2, 1.0))),
        (PoissonMixture(2), (stats.poisson(1.5), stats.poisson(15))),
        (NegativeBinomialMixture(2), (negative_binomial(1.5, 0.2), negative_binomial(40, 0.1))),
        (ISQF(), (stats.norm(-3, 0.5), stats.norm(2, 1.0))),
    ],
    ids=lambda item: getattr(item, "name", ""),
)
def test_a_flexible_loss_recovers_the_quantiles_of_two_groups(loss: DistributionLoss, parts: tuple[Any, Any]) -> None:
    generator = np.random.default_rng(0)
    sample = np.concatenate([parts[0].rvs(1200, random_state=generator), parts[1].rvs(2800, random_state=generator)])
    start = 0.1 * random(loss.outputs)
    raw = fitted(loss, sample, start)
    levels = (0.1, 0.2, 0.5, 0.75, 0.9)
    forecast = loss.forecast(raw, levels)
    assert forecast.quantiles is not None
    for wanted, quantile in zip(levels, forecast.quantiles.tolist(), strict=True):
        reached = float((sample <= quantile).mean())
        below = float((sample < quantile).mean())
        assert below - 0.02 <= wanted <= reached + 0.02
    assert float(forecast.point) == pytest.approx(sample.mean(), abs=0.05 * sample.std())
