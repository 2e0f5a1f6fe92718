"""Losses against closed forms, torch, scipy and plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from torch import Tensor
from torch.nn import functional

from neuro_divergent.core.spec import Batch
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.classification import BinaryCrossEntropy, CrossEntropy
from neuro_divergent.losses.expectile import ExpectileLoss
from neuro_divergent.losses.mase import MASE
from neuro_divergent.losses.percentage import MAPE, SMAPE
from neuro_divergent.losses.point import MAE, MSE, RMSE, Huber
from neuro_divergent.losses.quantile import QuantileLoss
from neuro_divergent.losses.reduce import weighted_mean
from neuro_divergent.losses.robust import LogCosh, Tukey

B, L, H, C = 5, 9, 4, 3
numbers = st.floats(-5, 5)


def random(*shape: int, seed: int = 3) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def cost_of(loss: Loss, forecast: float, target: float, dtype: torch.dtype = torch.float64) -> float:
    return float(loss.elementwise(torch.tensor([forecast], dtype=dtype), torch.tensor([target], dtype=dtype)))


def slope_of(loss: Loss, forecast: float, target: float, dtype: torch.dtype = torch.float64) -> float:
    raw = torch.tensor([forecast], dtype=dtype, requires_grad=True)
    loss.elementwise(raw, torch.tensor([target], dtype=dtype)).sum().backward()
    assert raw.grad is not None
    return float(raw.grad)


def test_point_losses_are_torchs() -> None:
    raw, target = random(B, H, C, 1), random(B, H, C, seed=4)
    point = raw.squeeze(-1)
    assert torch.equal(MSE().elementwise(raw, target), functional.mse_loss(point, target, reduction="none"))
    assert torch.equal(MAE().elementwise(raw, target), functional.l1_loss(point, target, reduction="none"))
    for delta in (0.1, 1.0, 3.0):
        ours = Huber(delta=delta).elementwise(raw, target)
        assert torch.allclose(ours, functional.huber_loss(point, target, reduction="none", delta=delta))


class TestRMSE:
    def test_is_the_root_of_the_mean_over_all_targets(self) -> None:
        raw, target = random(B, H, C, 1), random(B, H, C, seed=4)
        loss = RMSE()
        error = (raw.squeeze(-1) - target).numpy().ravel()
        result = loss.finish(loss.elementwise(raw, target).mean())
        assert float(result) == pytest.approx(math.sqrt(sum(e * e for e in error) / len(error)), rel=1e-12)

    def test_gradient_keeps_its_size_as_the_error_shrinks(self) -> None:
        loss = RMSE()
        for size in (1.0, 1e-3, 1e-15):
            raw = torch.full((4,), size, requires_grad=True)
            loss.finish(loss.elementwise(raw, torch.zeros(4)).mean()).backward()
            assert torch.allclose(raw.grad, torch.full((4,), 0.25))

    def test_root_of_zero_is_zero_with_gradient_zero(self) -> None:
        mean = torch.zeros((), requires_grad=True)
        root = RMSE().finish(mean)
        root.backward()
        assert float(root.detach()) == 0
        assert float(mean.grad) == 0


class TestLogCosh:
    @given(st.floats(-300, 300), numbers)
    def test_is_its_formula(self, forecast: float, target: float) -> None:
        error = forecast - target
        assert cost_of(LogCosh(), forecast, target) == pytest.approx(math.log(math.cosh(error)), rel=1e-9, abs=1e-15)
        assert slope_of(LogCosh(), forecast, target) == pytest.approx(math.tanh(error), rel=1e-9, abs=1e-15)

    @pytest.mark.parametrize("error", [1e-12, 1e-6, 1e-3])
    def test_is_half_the_square_near_zero_in_float32(self, error: float) -> None:
        assert cost_of(LogCosh(), error, 0.0, torch.float32) == pytest.approx(error**2 / 2, rel=1e-5)
        assert slope_of(LogCosh(), error, 0.0, torch.float32) == pytest.approx(error, rel=1e-5)

    @pytest.mark.parametrize("error", [1e3, 1e10, 1e30])
    def test_does_not_overflow(self, error: float) -> None:
        assert cost_of(LogCosh(), -error, 0.0, torch.float32) == pytest.approx(error - math.log(2), rel=1e-6)
        assert slope_of(LogCosh(), -error, 0.0, torch.float32) == -1

    def test_both_ways_of_writing_it_meet(self) -> None:
        below, above = math.nextafter(1, 0), math.nextafter(1, 2)
        assert cost_of(LogCosh(), below, 0.0) == pytest.approx(cost_of(LogCosh(), above, 0.0), rel=1e-14)


@given(st.floats(0.5, 10), numbers, numbers)
def test_tukey_is_its_formula(c: float, forecast: float, target: float) -> None:
    error = forecast - target
    inside = abs(error) <= c
    cost = c**2 / 6 * (1 - (1 - (error / c) ** 2) ** 3) if inside else c**2 / 6
    slope = error * (1 - (error / c) ** 2) ** 2 if inside else 0.0
    assert cost_of(Tukey(c=c), forecast, target) == pytest.approx(cost, rel=1e-9, abs=1e-12)
    assert slope_of(Tukey(c=c), forecast, target) == pytest.approx(slope, rel=1e-9, abs=1e-12)


def test_an_outlier_moves_the_mean_a_little_the_huber_location_less_and_tukeys_not_at_all() -> None:
    clean = random(200)
    dirty = torch.cat([clean, torch.full((10,), 1000.0, dtype=torch.float64)])

    def location(loss: Loss, values: Tensor) -> float:
        found = optimize.minimize_scalar(
            lambda at: float(loss.elementwise(torch.full_like(values, at), values).mean()), bracket=(-0.5, 0.5)
        )
        return float(found.x)

    moved = {type(loss): abs(location(loss, dirty) - location(loss, clean)) for loss in (MSE(), Huber(), Tukey())}
    assert moved[Tukey] < 1e-4 < moved[Huber] < 0.2 < moved[MSE]


class TestPercentage:
    @given(numbers, numbers.filter(lambda value: abs(value) > 1e-300))
    def test_mape_is_its_formula(self, forecast: float, target: float) -> None:
        expected = abs(forecast - target) / abs(target)
        assert cost_of(MAPE(), forecast, target) == pytest.approx(expected, rel=1e-12)

    @given(numbers, numbers)
    def test_smape_is_its_formula_and_between_0_and_2(self, forecast: float, target: float) -> None:
        size = abs(forecast) + abs(target)
        cost = cost_of(SMAPE(), forecast, target)
        assert 0 <= cost <= 2 * (1 + 1e-12)
        if size > 1e-300:
            assert cost == pytest.approx(2 * abs(forecast - target) / size, rel=1e-12)

    @pytest.mark.parametrize(("forecast", "cost"), [(0.0, 0.0), (3.0, 2.0), (-1e-20, 2.0)])
    def test_zero_targets_cost_what_is_documented_and_have_no_gradient(self, forecast: float, cost: float) -> None:
        assert cost_of(MAPE(), forecast, 0.0, torch.float32) == 0
        assert cost_of(SMAPE(), forecast, 0.0, torch.float32) == cost
        assert slope_of(MAPE(), forecast, 0.0, torch.float32) == 0
        assert slope_of(SMAPE(), forecast, 0.0, torch.float32) == 0

    def test_a_zero_that_was_scaled_and_restored_is_still_a_zero(self) -> None:
        level, spread = 1000 + 10 * random(500, 1, 1).float(), 1 + random(500, 1, 1, seed=4).float().abs()
        past = level + spread * random(500, L, 1, seed=5).float()
        batch = Batch(past_y=past, past_mask=torch.ones_like(past))
        values = torch.tensor([0.0, 1.0]).reshape(1, 2, 1)
        target = (values - level) / spread * spread + level
        assert (target[:, 0] != 0).sum() > 100, "rounding makes zeros something else, or this test shows nothing"
        cost = MAPE().elementwise(torch.full((500, 2, 1, 1), 2.0), target, batch)
        assert torch.equal(cost[:, 0], torch.zeros(500, 1))
        assert torch.allclose(cost[:, 1], torch.ones(500, 1), rtol=1e-3)

    def test_zeros_do_not_disturb_other_targets(self) -> None:
        raw, target = random(50, 1), random(50, seed=4)
        some = target.clone()
        some[::5] = 0
        kept = some != 0
        for loss in (MAPE(), SMAPE()):
            assert torch.equal(loss.elementwise(raw, some)[kept], loss.elementwise(raw, target)[kept])


class TestMASE:
    @pytest.mark.parametrize("season", [1, 3, 8])
    def test_is_a_loop_over_pairs_of_observed_values(self, season: int) -> None:
        past, raw, target = random(B, L, C, seed=1), random(B, H, C, 1), random(B, H, C, seed=4)
        mask = (random(B, L, C, seed=5) > -0.7).double()
        # What is masked may hold anything: restoring units turns the stored 0 into the level of the window.
        past = torch.where(mask > 0, past, 99.0)
        cost = MASE(season_length=season).elementwise(raw, target, Batch(past_y=past, past_mask=mask))
        without_pairs = 0
        for b in range(B):
            for c in range(C):
                pairs = [
                    abs(float(past[b, t, c] - past[b, t - season, c]))
                    for t in range(season, L)
                    if mask[b, t, c] and mask[b, t - season, c]
                ]
                without_pairs += not pairs
                for h in range(H):
                    error = abs(float(raw[b, h, c, 0] - target[b, h, c]))
                    expected = error / (sum(pairs) / len(pairs)) if pairs else 0.0
                    assert float(cost[b, h, c]) == pytest.approx(expected, rel=1e-12)
        assert without_pairs or season == 1, "some histories should give no unit to measure in"

    def test_a_naive_forecast_of_a_random_walk_costs_about_one(self) -> None:
        walk = random(400, 60, 1).cumsum(1)
        batch = Batch(past_y=walk[:, :-1], past_mask=torch.ones(400, 59, 1, dtype=torch.float64))
        cost = MASE().elementwise(walk[:, -2:-1], walk[:, -1:], batch)
        assert float(cost.mean()) == pytest.approx(1, abs=0.1)

    def test_a_history_that_varies_by_rounding_alone_is_constant(self) -> None:
        past = torch.full((1, L, 1), 1e6)
        past[0, 3] = torch.nextafter(past[0, 3], torch.tensor(2e6))
        batch = Batch(past_y=past, past_mask=torch.ones_like(past))
        assert float(MASE().elementwise(torch.zeros(1, 1, 1), torch.ones(1, 1, 1), batch)) == 0


class TestQuantile:
    @given(st.floats(0.01, 0.99), numbers, numbers)
    def test_pinball_is_its_definition(self, level: float, forecast: float, target: float) -> None:
        error = target - forecast
        expected = level * error if error >= 0 else (level - 1) * error
        assert cost_of(QuantileLoss([level]), forecast, target) == pytest.approx(expected)

    @given(st.lists(st.floats(0.1, 10), min_size=3, max_size=3))
    def test_weights_average_the_levels(self, weights: list[float]) -> None:
        raw, target, levels = random(B, H, C, 3), random(B, H, C, seed=4), (0.1, 0.5, 0.9)
        single = [QuantileLoss([q]).elementwise(raw[..., [i]], target) for i, q in enumerate(levels)]
        expected = sum(w * cost for w, cost in zip(weights, single, strict=True)) / sum(weights)
        assert torch.allclose(QuantileLoss(levels, weights=weights).elementwise(raw, target), expected)

    def test_equal_weights_are_no_weights(self) -> None:
        raw, target = random(B, H, C, 3), random(B, H, C, seed=4)
        weighted = QuantileLoss(weights=(2.0, 2.0, 2.0)).elementwise(raw, target)
        assert torch.allclose(weighted, QuantileLoss().elementwise(raw, target))

    def test_minimising_finds_the_quantiles(self) -> None:
        sample = random(1000, 1, 1)
        loss = QuantileLoss([0.1, 0.5, 0.9])
        raw = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.Adam([raw], lr=0.02)
        for _ in range(200):
            optimizer.zero_grad()
            loss.elementwise(raw.expand(1000, 1, 1, 3), sample).mean().backward()
            optimizer.step()
        exact = torch.quantile(sample.flatten(), raw.new_tensor([0.1, 0.5, 0.9]))
        assert torch.allclose(raw.detach(), exact, atol=0.03)


class TestExpectile:
    @given(st.floats(0.01, 0.99), numbers, numbers)
    def test_is_its_definition(self, level: float, forecast: float, target: float) -> None:
        error = target - forecast
        expected = (level if error > 0 else 1 - level) * error**2
        assert cost_of(ExpectileLoss([level]), forecast, target) == pytest.approx(expected)

    @pytest.mark.parametrize("level", [0.05, 0.3, 0.5, 0.9])
    def test_minimiser_is_scipys_expectile(self, level: float) -> None:
        sample = random(300).exp()
        loss = ExpectileLoss([level])
        found = optimize.minimize_scalar(
            lambda at: float(loss.elementwise(torch.full_like(sample, at), sample).mean()), bracket=(0.5, 3.0)
        )
        assert found.x == pytest.approx(stats.expectile(sample.numpy(), level), rel=1e-6)

    def test_several_levels_are_averaged(self) -> None:
        raw, target, levels = random(B, H, C, 3), random(B, H, C, seed=4), (0.2, 0.5, 0.9)
        single = [ExpectileLoss([q]).elementwise(raw[..., [i]], target) for i, q in enumerate(levels)]
        assert torch.allclose(ExpectileLoss(levels).elementwise(raw, target), torch.stack(single).mean(0))


class TestCrossEntropy:
    @pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
    @pytest.mark.parametrize("weights", [None, (1.0, 2.0, 0.5, 3.0)])
    def test_is_torchs(self, smoothing: float, weights: tuple[float, ...] | None) -> None:
        raw = random(B, H, C, 4)
        target = torch.randint(4, (B, H, C), generator=torch.Generator().manual_seed(0))
        loss = CrossEntropy(classes=4, label_smoothing=smoothing, weights=weights)
        expected = functional.cross_entropy(
            raw.movedim(-1, 1),
            target,
            weight=None if weights is None else raw.new_tensor(weights),
            label_smoothing=smoothing,
            reduction="none",
        )
        assert torch.allclose(loss.elementwise(raw, target), expected)
        assert torch.allclose(loss.elementwise(raw, target.double()), expected)

    @given(st.lists(numbers, min_size=2, max_size=6), st.integers(0, 5), st.floats(0, 0.99))
    def test_label_smoothing_is_its_formula(self, logits: list[float], right: int, smoothing: float) -> None:
        right %= len(logits)
        total = sum(math.exp(value) for value in logits)
        # The target gives 1 - s to the right class and s / K to each of the K classes.
        expected = sum(
            -((1 - smoothing) * (place == right) + smoothing / len(logits)) * (value - math.log(total))
            for place, value in enumerate(logits)
        )
        raw = torch.tensor([logits], dtype=torch.float64)
        cost = CrossEntropy(label_smoothing=smoothing).elementwise(raw, torch.tensor([right]))
        assert float(cost) == pytest.approx(expected, rel=1e-9, abs=1e-12)


class TestBinaryCrossEntropy:
    @given(numbers, st.floats(0, 1), st.floats(0, 0.99), st.floats(0.1, 10))
    def test_is_its_formula(self, logit: float, target: float, smoothing: float, positive: float) -> None:
        chance = 1 / (1 + math.exp(-logit))
        share = target * (1 - smoothing) + smoothing / 2
        expected = -positive * share * math.log(chance) - (1 - share) * math.log(1 - chance)
        loss = BinaryCrossEntropy(label_smoothing=smoothing, positive_weight=positive)
        assert cost_of(loss, logit, target) == pytest.approx(expected, rel=1e-9, abs=1e-12)

    def test_is_the_cross_entropy_of_two_classes(self) -> None:
        logit = random(B)
        target = torch.tensor([0, 1, 1, 0, 1])
        two = torch.stack([torch.zeros_like(logit), logit], -1)
        for smoothing in (0.0, 0.2):
            binary = BinaryCrossEntropy(label_smoothing=smoothing).elementwise(logit, target)
            assert torch.allclose(binary, CrossEntropy(label_smoothing=smoothing).elementwise(two, target))


class TestWeightedMean:
    @given(st.lists(st.tuples(st.floats(0, 100), st.integers(0, 4)), min_size=1, max_size=20))
    def test_weighing_equals_repeating(self, rows: list[tuple[float, int]]) -> None:
        cost = torch.tensor([value for value, _ in rows], dtype=torch.float64, requires_grad=True)
        weight = torch.tensor([float(times) for _, times in rows], dtype=torch.float64)
        mean = weighted_mean(cost, weight)
        mean.backward()
        repeated = [value for value, times in rows for _ in range(times)]
        count = max(len(repeated), 1)
        assert float(mean.detach()) == pytest.approx(sum(repeated) / count)
        assert cost.grad.tolist() == pytest.approx([times / count for _, times in rows])

    def test_weights_spread_over_missing_axes(self) -> None:
        cost, weight = random(B, H, C).abs(), random(B, 1, 1, seed=9).abs()
        expected = np.average(cost.numpy(), weights=np.broadcast_to(weight.numpy(), (B, H, C)))
        assert float(weighted_mean(cost, weight)) == pytest.approx(expected)

    def test_costs_without_weight_do_not_count_even_when_they_are_not_finite(self) -> None:
        cost = torch.tensor([[1.0, float("nan")], [3.0, float("inf")]], requires_grad=True)
        mask = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
        mean = weighted_mean(cost, mask)
        mean.backward()
        assert float(mean.detach()) == 2.0
        assert torch.equal(cost.grad, torch.tensor([[0.5, 0.0], [0.5, 0.0]]))
        assert float(weighted_mean(cost.detach(), torch.zeros_like(mask))) == 0.0
