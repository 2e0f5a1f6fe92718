"""A function of the level that rises, whatever the network says."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

import neuro_divergent as nd
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.losses.implicit import ImplicitQuantileLoss


def random(*shape: int, size: float = 1.0) -> Tensor:
    return size * torch.randn(*shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("degree", [1, 8, 30])
@pytest.mark.parametrize("size", [0.1, 3.0, 100.0])
def test_quantiles_of_ten_thousand_random_outputs_never_cross(degree: int, size: float) -> None:
    loss = ImplicitQuantileLoss(degree=degree)
    levels = tuple(float(level) for level in np.linspace(0.001, 0.999, 41))
    found = loss.forecast(random(10_000, 1, 1, loss.outputs, size=size), levels).quantiles
    assert found is not None
    assert (found.diff(dim=-1) >= 0).all()
    assert (found.diff(dim=-1) > 0).float().mean() > 0.9


@pytest.mark.parametrize("degree", [1, 5, 12])
def test_implicit_quantiles_are_the_median_plus_rising_functions(degree: int) -> None:
    """A sum of Bernstein polynomials is the chance of as many heads; scipy counts them."""
    loss, raw = ImplicitQuantileLoss(degree=degree), random(degree + 3).double()
    weight = np.log1p(np.exp(raw[1:].numpy()))
    for level in (1e-4, 0.2, 0.5, 0.77, 0.9999):
        expected = float(raw[0]) + weight[-2] * math.log(2 * level) - weight[-1] * math.log(2 * (1 - level))
        for place in range(1, degree + 1):
            rise = stats.binom.sf(place - 1, degree, level) - stats.binom.sf(place - 1, degree, 0.5)
            expected += weight[place - 1] * rise / degree
        found = loss.forecast(raw.reshape(1, 1, 1, -1), (level,)).quantiles
        assert found is not None
        assert float(found) == pytest.approx(expected, rel=1e-9)


def test_the_median_is_the_point() -> None:
    loss = ImplicitQuantileLoss()
    forecast = loss.forecast(random(4, 3, 2, loss.outputs), (0.5,))
    assert forecast.quantiles is not None
    torch.testing.assert_close(forecast.point, forecast.quantiles.squeeze(-1))


def test_quantiles_may_be_requested_in_any_order() -> None:
    loss, raw = ImplicitQuantileLoss(), random(4, 3, 2, 11)
    mixed, sorted_ = (loss.forecast(raw, levels).quantiles for levels in [(0.9, 0.1, 0.37), (0.1, 0.37, 0.9)])
    assert mixed is not None
    assert sorted_ is not None
    assert torch.equal(mixed[..., [1, 2, 0]], sorted_)


def test_probabilities_of_zero_and_one_have_finite_quantiles() -> None:
    loss = ImplicitQuantileLoss()
    found = loss.inverse(random(5, 3, 1, loss.outputs), torch.tensor([0.0, 1.0]).reshape(-1, 1, 1, 1))
    assert found.isfinite().all()


def test_levels_of_training_are_drawn_and_follow_the_seed() -> None:
    loss, raw, target = ImplicitQuantileLoss(), random(6, 3, 2, 11), random(6, 3, 2)
    torch.manual_seed(3)
    first, second = loss.elementwise(raw, target), loss.elementwise(raw, target)
    assert not torch.equal(first, second)
    torch.manual_seed(3)
    assert torch.equal(loss.elementwise(raw, target), first)


@torch.inference_mode()
def test_levels_of_validation_are_always_the_same_and_draw_nothing() -> None:
    loss, raw, target = ImplicitQuantileLoss(), random(6, 3, 2, 11), random(6, 3, 2)
    state = torch.get_rng_state()
    assert torch.equal(loss.elementwise(raw, target), loss.elementwise(raw, target))
    assert torch.equal(state, torch.get_rng_state())


def test_the_cost_is_half_the_ranked_probability_score_on_average() -> None:
    """The score is worked out from the distribution function, which the loss knows nothing of."""
    loss = ImplicitQuantileLoss()
    raw = random(loss.outputs).double()
    target = 0.7
    shares = torch.linspace(0, 1, 200_001, dtype=torch.float64)[1:-1]
    values = loss.inverse(raw.reshape(1, 1, 1, -1), shares.reshape(-1, 1, 1, 1)).flatten().numpy()
    above = (values >= target).astype(float)
    score = np.trapezoid(np.square(shares.numpy() - above), values)
    repeated = raw.expand(4000, 1, 1, -1), torch.full((4000, 1, 1), target, dtype=torch.float64)
    torch.manual_seed(0)
    assert 2 * float(loss.elementwise(*repeated).mean()) == pytest.approx(score, rel=0.005)
    with torch.inference_mode():
        assert 2 * float(loss.elementwise(*repeated)[0]) == pytest.approx(score, rel=0.005)


def test_the_loss_of_validation_does_not_depend_on_what_was_drawn_before() -> None:
    table = Synthetic(num_series=2, length=120, seasonalities=(7,), noise=1.0).frame()
    training = nd.TrainingConfig(max_steps=6, validate_every=3, optimizer=nd.optimizers.SGD(lr=1e-30), threads=1)
    model = nd.Forecaster(nd.NLinear(), horizon=4, input_size=12, loss=ImplicitQuantileLoss(), training=training)
    losses = model.fit(table).history["validation_loss"].drop_nulls().to_list()
    assert len(losses) == 2
    assert losses[0] == losses[1]


@pytest.mark.parametrize("name", ["normal", "two humps", "skewed"])
def test_training_finds_the_quantiles_of_a_sample(name: str) -> None:
    generator = np.random.default_rng(0)
    sample = {
        "normal": generator.standard_normal(2000),
        "two humps": np.where(generator.random(2000) < 0.5, -1, 1) + 0.6 * generator.standard_normal(2000),
        "skewed": generator.exponential(size=2000),
    }[name]
    loss = ImplicitQuantileLoss(degree=12)
    raw = torch.zeros(1, 1, 1, loss.outputs, requires_grad=True)
    optimizer = torch.optim.LBFGS([raw], max_iter=60, line_search_fn="strong_wolfe")
    target = torch.tensor(sample, dtype=torch.float32).reshape(-1, 1, 1)

    def closure() -> Tensor:
        torch.manual_seed(0)  # a line search needs one and the same function
        optimizer.zero_grad()
        cost = loss.elementwise(raw.expand(len(target), -1, -1, -1), target).mean()
        cost.backward()
        return cost

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    levels = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
    found = loss.forecast(raw.detach(), levels).quantiles
    assert found is not None
    share_below = (target.flatten() <= found.reshape(-1, 1)).float().mean(1)
    torch.testing.assert_close(share_below, torch.tensor(levels), atol=0.02, rtol=0)


def test_a_forecaster_gives_any_requested_level() -> None:
    table = Synthetic(num_series=2, length=120, seasonalities=(7,), noise=1.0).frame()
    training = nd.TrainingConfig(max_steps=20, threads=1)
    model = nd.Forecaster(nd.NLinear(), horizon=4, input_size=12, loss=ImplicitQuantileLoss(), training=training).fit(
        table
    )
    found = model.predict(levels=[37, 99], quantiles=[0.123, 0.5])
    ordered = found.select("lo-99", "q-0.123", "lo-37", "q-0.5", "hi-37", "hi-99").to_numpy()
    assert (np.diff(ordered, axis=1) > 0).all()
    np.testing.assert_allclose(found["forecast"], found["q-0.5"])
