"""Quantiles that cannot cross, that tell a distribution, and whose cost is smooth."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import neuro_divergent as nd
from neuro_divergent.losses.quantile import QuantileLoss, pinball

LEVELS = (0.05, 0.1, 0.3, 0.5, 0.8, 0.95)


def random(*shape: int, size: float = 1.0) -> Tensor:
    return size * torch.randn(*shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("size", [0.1, 3.0, 100.0, 1e6])
def test_quantiles_of_ten_thousand_random_outputs_never_cross(monotone: bool, size: float) -> None:
    loss = QuantileLoss(LEVELS, monotone=monotone)
    raw = random(10_000, 1, 1, len(LEVELS), size=size)
    found = loss.forecast(raw, LEVELS).quantiles
    assert found is not None
    assert (found.diff(dim=-1) >= 0).all()
    shares = torch.linspace(0.001, 0.999, 97).reshape(-1, 1, 1, 1)
    drawn = loss.inverse(raw, shares)
    slack = 1e-6 * drawn.abs().amax()
    assert (drawn.diff(dim=0) >= -slack).all()


@given(st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=4))
def test_monotone_outputs_are_a_middle_and_distances(raw: list[float]) -> None:
    loss = QuantileLoss([0.1, 0.4, 0.6, 0.9], monotone=True)
    found = loss.forecast(torch.tensor(raw, dtype=torch.float64), loss.quantiles).quantiles
    assert found is not None
    softplus = [max(value, 0) + math.log1p(math.exp(-abs(value))) for value in raw]
    outer, inner = 1.2815515655446004 - 0.2533471031357997, 2 * 0.2533471031357997  # of the normal distribution
    middle = raw[1]
    expected = [
        middle - outer * softplus[0],
        middle,
        middle + inner * softplus[2],
        middle + inner * softplus[2] + outer * softplus[3],
    ]
    # Torch takes the softplus of values above 20 to be the value itself.
    assert found.tolist() == pytest.approx(expected, rel=1e-9, abs=1e-8)


def test_monotone_outputs_can_become_the_quantiles_of_a_sample() -> None:
    generator = torch.Generator().manual_seed(0)
    sample = torch.distributions.Exponential(1.0).icdf(torch.rand(4000, 1, 1, generator=generator))
    loss = QuantileLoss(LEVELS, monotone=True)
    raw = torch.zeros(1, 1, 1, len(LEVELS), requires_grad=True)
    optimizer = torch.optim.LBFGS([raw], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        cost = loss.elementwise(raw.expand(len(sample), -1, -1, -1), sample).mean()
        cost.backward()
        return cost

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    found = loss.forecast(raw.detach(), LEVELS).quantiles
    assert found is not None
    expected = torch.quantile(sample.flatten(), torch.tensor(LEVELS))
    torch.testing.assert_close(found.flatten(), expected, atol=0.02, rtol=0.02)


def test_monotone_quantiles_refuse_a_scaler_inside_the_network() -> None:
    assert QuantileLoss().traits.point_valued
    assert not QuantileLoss(monotone=True).traits.point_valued
    with pytest.raises(nd.errors.ConfigError, match="not values of the target"):
        nd.Forecaster(nd.NLinear(), horizon=2, loss=QuantileLoss(monotone=True), scaler="revin")


class TestHuber:
    """The quantile Huber loss."""

    @pytest.mark.parametrize("level", [0.1, 0.5, 0.8])
    @pytest.mark.parametrize("error", [-3.0, -0.5, -0.1, 0.0, 0.2, 0.5, 4.0])
    def test_it_is_the_one_of_the_paper(self, level: float, error: float) -> None:
        delta = 0.5
        huber = error**2 / 2 if abs(error) <= delta else delta * (abs(error) - delta / 2)
        expected = abs(level - (error < 0)) * huber / delta
        found = pinball(torch.tensor(error, dtype=torch.float64), torch.tensor(level, dtype=torch.float64), delta)
        assert float(found) == pytest.approx(expected, abs=1e-12)

    def test_a_small_delta_is_nearly_the_pinball_loss(self) -> None:
        raw, target = random(50, 2, 1, 3), random(50, 2, 1)
        plain = QuantileLoss().elementwise(raw, target)
        difference = plain - QuantileLoss(delta=0.01).elementwise(raw, target)
        assert (difference >= -1e-6).all()
        assert (difference <= 0.01 / 2 + 1e-6).all()
        torch.testing.assert_close(QuantileLoss(delta=1e-6).elementwise(raw, target), plain)

    def test_the_median_with_a_large_delta_is_half_the_squared_error(self) -> None:
        raw, target = random(20, 2, 1, 1), random(20, 2, 1)
        found = 2 * 100 * QuantileLoss([0.5], delta=100.0).elementwise(raw, target)
        torch.testing.assert_close(found, (raw.squeeze(-1) - target).square() / 2, rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("delta", [-1.0, math.nan, math.inf])
    def test_a_delta_that_is_no_size_is_refused(self, delta: float) -> None:
        with pytest.raises(nd.errors.ConfigError, match="quantile: delta"):
            QuantileLoss(delta=delta)


class TestInverse:
    """Drawing from quantiles."""

    def test_it_gives_the_quantiles_at_their_levels(self) -> None:
        loss, raw = QuantileLoss(LEVELS), random(7, 3, 2, len(LEVELS))
        found = loss.inverse(raw, torch.tensor(LEVELS).reshape(-1, 1, 1, 1))
        expected = loss.forecast(raw, LEVELS).quantiles
        assert expected is not None
        torch.testing.assert_close(found.movedim(0, -1), expected)

    def test_between_levels_it_is_a_straight_line(self) -> None:
        loss, raw = QuantileLoss(LEVELS), random(7, 3, 2, len(LEVELS)).double()
        shares = np.linspace(LEVELS[0], LEVELS[-1], 23)
        found = loss.inverse(raw, torch.tensor(shares).reshape(-1, 1, 1, 1)).movedim(0, -1).reshape(-1, 23)
        for row, values in zip(found, raw.sort(-1).values.reshape(-1, len(LEVELS)), strict=True):
            np.testing.assert_allclose(row, np.interp(shares, LEVELS, values), atol=1e-12)

    @pytest.mark.parametrize("rate", [0.5, 2.0])
    def test_the_tails_of_exponential_distributions_are_exact(self, rate: float) -> None:
        shares = torch.tensor([0.9, 0.95, 0.99, 0.999999], dtype=torch.float64)
        loss = QuantileLoss([0.2, 0.8, 0.9])
        right = torch.distributions.Exponential(torch.tensor(rate, dtype=torch.float64))
        raw = right.icdf(torch.tensor(loss.quantiles, dtype=torch.float64)).reshape(1, 1, 1, 3)
        found = loss.inverse(raw, shares.reshape(-1, 1, 1, 1)).flatten()
        torch.testing.assert_close(found, right.icdf(shares))
        turned = QuantileLoss([0.1, 0.2, 0.8])
        found = turned.inverse(-raw.flip(-1), (1 - shares).reshape(-1, 1, 1, 1)).flatten()
        torch.testing.assert_close(found, -right.icdf(shares))

    @pytest.mark.parametrize("levels", [(0.1, 0.9), (0.3, 0.4), LEVELS])
    def test_every_probability_has_its_own_value_for_each_window_and_step(self, levels: tuple[float, ...]) -> None:
        loss, raw = QuantileLoss(levels), random(4, 3, 2, len(levels))
        shares = torch.rand(50, 4, 3, 2, generator=torch.Generator().manual_seed(0))
        shares[0], shares[1] = 0.0, 1.0  # uniform draws may be either
        found = loss.inverse(raw, shares)
        assert found.isfinite().all()
        for place in np.ndindex(4, 3, 2):
            alone = loss.inverse(raw[place].reshape(1, 1, 1, -1), shares[:, *place].reshape(-1, 1, 1, 1))
            torch.testing.assert_close(found[:, *place], alone.flatten())

    def test_one_level_is_no_distribution(self) -> None:
        assert QuantileLoss().traits.probabilistic
        assert not QuantileLoss([0.5]).traits.probabilistic
