"""What every loss must do."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from neuro_divergent.core.errors import ConfigError, DataError
from neuro_divergent.core.spec import Batch
from neuro_divergent.losses.base import Loss
from neuro_divergent.losses.distribution.base import DistributionLoss
from neuro_divergent.losses.reduce import weighted_mean

NAMES = Loss.registry.names()
B, L, H, C = 5, 12, 4, 3

# Exceptions; each is checked to be one.
NEED_HISTORY = {"mase": "measures errors by the history"}
OF_CLASSES = {"cross_entropy": "targets are classes", "binary_cross_entropy": "targets are classes"}
DRAWS = {"implicit_quantile": "levels are drawn anew in training"}
SPREADS = {"implicit_quantile": "quantiles are never all the same, so some miss the target"}
# Outputs of a DistributionLoss are parameters, so none is a forecast that could not be better; some distributions only
# take values of a certain kind, in the units of the data. These have densities, of which the logarithm may be above 0:
DENSITIES = {"beta", "gaussian_mixture", "laplace", "log_normal", "normal", "student_t", "tweedie"}
LARGEST = 50  # a spread or a rate of e to the power of 50 is none of any data
# Further settings that must hold as much as the defaults do.
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("quantile", {"quantiles": (0.2, 0.7), "weights": (3.0, 0.5)}),
    ("quantile", {"monotone": True}),
    ("quantile", {"delta": 0.3}),
    ("implicit_quantile", {"degree": 3, "draws": 2}),
    ("expectile", {"levels": (0.1, 0.5, 0.8)}),
    ("cross_entropy", {"classes": 4, "label_smoothing": 0.1, "weights": (1.0, 2.0, 0.5, 3.0)}),
    ("binary_cross_entropy", {"label_smoothing": 0.1, "positive_weight": 3.0}),
    ("huber", {"delta": 0.3}),
    ("tukey", {"c": 1.0}),
    ("mase", {"season_length": 4}),
    ("student_t", {"df": 3.0, "point": "median"}),
    ("tweedie", {"power": 1.2}),
    ("gaussian_mixture", {"components": 1}),
    ("isqf", {"quantiles": (0.2, 0.5), "pieces": 1}),
]
SETTINGS = [*((name, {}) for name in NAMES), *VARIANTS]
every_loss = pytest.mark.parametrize("loss", [Loss.from_dict({"name": n, **more}) for n, more in SETTINGS], ids=str)
every_default = pytest.mark.parametrize("loss", [Loss.from_dict(name) for name in NAMES], ids=NAMES)


@pytest.fixture(autouse=True)
def _the_same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let losses that draw something draw the same each time, so that costs can be compared."""
    for name in DRAWS:
        kind = Loss.registry.get(name)

        def seeded(*arguments: Any, plain: Any = kind.elementwise) -> Tensor:
            torch.manual_seed(0)
            cost: Tensor = plain(*arguments)
            return cost

        monkeypatch.setattr(kind, "elementwise", seeded)


def random(*shape: int, seed: int = 3, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def targets(loss: Loss, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Values, or the numbers of classes where the loss is of classes, or what a distribution can take."""
    if loss.traits.requires_original_scale:
        noise = random(*shape, seed=4, dtype=dtype)
        return (noise > 0).to(dtype) if loss.traits.integer_valued else noise.sigmoid()
    if loss.traits.accepts_scaled:
        return random(*shape, seed=4, dtype=dtype)
    return torch.randint(max(loss.outputs, 2), shape, generator=torch.Generator().manual_seed(4)).to(dtype)


def history(dtype: torch.dtype = torch.float64) -> Batch:
    mask = (random(B, L, C, seed=5) > -1).to(dtype)
    return Batch(past_y=random(B, L, C, seed=6, dtype=dtype) * mask, past_mask=mask)


def example(loss: Loss, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Batch]:
    return random(B, H, C, loss.outputs, dtype=dtype), targets(loss, B, H, C, dtype=dtype), history(dtype)


def perfect(loss: Loss, target: Tensor) -> Tensor:
    """Return outputs that could not be better."""
    if loss.traits.accepts_scaled:
        return target.unsqueeze(-1).expand(*target.shape, loss.outputs)
    if loss.outputs == 1:
        return (2000 * target - 1000).unsqueeze(-1)
    return 1000 * torch.nn.functional.one_hot(target.long(), loss.outputs).to(target.dtype)


@every_loss
def test_costs_are_finite_and_not_negative(loss: Loss) -> None:
    raw, target, batch = example(loss)
    cost = loss.elementwise(raw, target, batch)
    assert cost.shape == target.shape
    assert torch.isfinite(cost).all()
    assert (cost >= 0).all() or loss.name in DENSITIES
    assert (cost > 0).any()


@every_default
def test_only_densities_can_cost_less_than_nothing(loss: Loss) -> None:
    if loss.name in NEED_HISTORY:
        return
    cost = loss.elementwise(4 * random(2000, loss.outputs), targets(loss, 2000))
    assert bool((cost < 0).any()) == (loss.name in DENSITIES)


@every_loss
def test_only_losses_that_say_so_draw_something(loss: Loss) -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    loss.elementwise(*example(loss))
    assert torch.equal(torch.get_rng_state(), before) == (loss.name not in DRAWS)


@every_default
def test_a_perfect_forecast_costs_nothing(loss: Loss) -> None:
    if isinstance(loss, DistributionLoss):
        return
    _, target, batch = example(loss)
    cost = loss.elementwise(perfect(loss, target), target, batch)
    if loss.name in SPREADS:
        assert (cost > 0).all()
        return
    assert torch.equal(cost, torch.zeros_like(target))
    assert float(loss.finish(cost.mean())) == 0


@every_loss
def test_gradient_agrees_with_finite_differences(loss: Loss) -> None:
    raw, target, batch = example(loss)
    weight = random(B, H, C, seed=7).abs() * (random(B, H, C, seed=8) > -1)

    def total(value: Tensor) -> Tensor:
        return loss.finish(weighted_mean(loss.elementwise(value, target, batch), weight))

    (exact,) = torch.autograd.grad(total(raw.requires_grad_()), raw)
    raw = raw.detach()
    step = 1e-6
    for place in range(raw.numel()):
        shift = torch.zeros_like(raw).view(-1).index_fill(0, torch.tensor(place), step).view_as(raw)
        difference = float(total(raw + shift) - total(raw - shift)) / (2 * step)
        assert difference == pytest.approx(float(exact.view(-1)[place]), rel=1e-4, abs=1e-9)


@every_loss
def test_each_output_costs_only_its_own_target(loss: Loss) -> None:
    raw, target, batch = example(loss)
    changed = raw.clone()
    changed[2, 1, 0] += torch.linspace(1, 2, loss.outputs)
    moved = loss.elementwise(changed, target, batch) != loss.elementwise(raw, target, batch)
    assert moved[2, 1, 0]
    assert int(moved.sum()) == 1


@every_loss
def test_a_target_without_weight_has_no_gradient(loss: Loss) -> None:
    raw, target, batch = example(loss)
    weight = torch.ones_like(target)
    weight[:, 2] = 0
    loss.finish(weighted_mean(loss.elementwise(raw.requires_grad_(), target, batch), weight)).backward()
    assert raw.grad is not None
    assert (raw.grad[:, 2] == 0).all()
    assert (raw.grad[:, :2] != 0).any()


@every_loss
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("values", ["no error", "all zero", "all zero but the forecast", "no weight"])
def test_gradients_are_finite_where_something_is_zero(loss: Loss, dtype: torch.dtype, values: str) -> None:
    raw, target, batch = example(loss, dtype)
    if values == "no error" and loss.traits.accepts_scaled and not isinstance(loss, DistributionLoss):
        raw = perfect(loss, target).clone()
    if values.startswith("all zero"):
        target, batch = torch.zeros_like(target), batch._replace(past_y=torch.zeros_like(batch.past_y))
        raw = torch.zeros_like(raw) if values == "all zero" else raw
    weight = torch.zeros_like(target) if values == "no weight" else None
    total = loss.finish(weighted_mean(loss.elementwise(raw.requires_grad_(), target, batch), weight))
    total.backward()
    assert torch.isfinite(total)
    assert raw.grad is not None
    assert torch.isfinite(raw.grad).all()


@every_loss
@pytest.mark.parametrize("size", [1e-30, 1e-6, 1e6, 1e15])
def test_very_small_and_very_large_outputs_have_finite_costs_and_gradients(loss: Loss, size: float) -> None:
    raw, target, batch = example(loss, torch.float32)
    raw = raw * size
    raw = (raw.clamp(-LARGEST, LARGEST) if isinstance(loss, DistributionLoss) else raw).requires_grad_()
    cost = loss.elementwise(raw, target, batch)
    cost.mean().backward()
    assert torch.isfinite(cost).all()
    assert (cost >= 0).all() or loss.name in DENSITIES
    assert raw.grad is not None
    assert torch.isfinite(raw.grad).all()


@every_loss
def test_an_output_that_is_not_a_number_is_not_hidden(loss: Loss) -> None:
    raw, target, batch = example(loss)
    raw[2, 1, 0] = math.nan
    cost = loss.elementwise(raw, target, batch)
    assert cost[2, 1, 0].isnan()
    assert int(cost.isnan().sum()) == 1
    assert loss.finish(cost.mean()).isnan()


@every_loss
def test_forecast_has_a_point_and_the_requested_levels(loss: Loss) -> None:
    raw, _, _ = example(loss)
    forecast = loss.forecast(raw, loss.quantile_levels)
    assert forecast.point.shape == (B, H, C)
    assert forecast.point.dtype == raw.dtype
    if loss.quantile_levels:
        assert forecast.quantiles is not None
        assert forecast.quantiles.shape == (B, H, C, len(loss.quantile_levels))
        assert (forecast.quantiles.diff(dim=-1) >= 0).all()


@every_loss
def test_the_point_of_a_perfect_forecast_is_the_target(loss: Loss) -> None:
    if isinstance(loss, DistributionLoss):
        return
    _, target, _ = example(loss)
    assert torch.equal(loss.forecast(perfect(loss, target)).point, target)


@every_loss
def test_only_losses_that_say_so_need_a_history(loss: Loss) -> None:
    raw, target, batch = example(loss)
    if loss.name in NEED_HISTORY:
        with pytest.raises(ConfigError, match=f"{loss.name}: .* history"):
            loss.elementwise(raw, target)
    else:
        assert torch.equal(loss.elementwise(raw, target), loss.elementwise(raw, target, batch))


@every_default
def test_classes_are_never_scaled_and_everything_else_may_be(loss: Loss) -> None:
    assert loss.traits.accepts_scaled == (loss.name not in OF_CLASSES)


@every_loss
def test_losses_on_the_original_scale_do_not_depend_on_the_unit_and_all_others_do(loss: Loss) -> None:
    if not loss.traits.accepts_scaled or isinstance(loss, DistributionLoss):
        return
    raw, target, batch = example(loss)
    cost = loss.elementwise(raw, target, batch)
    scaled = loss.elementwise(60 * raw, 60 * target, batch._replace(past_y=60 * batch.past_y))
    assert torch.allclose(scaled, cost, rtol=1e-12) == loss.traits.cost_on_original_scale


@every_loss
def test_an_axis_of_one_may_be_missing_at_the_end(loss: Loss) -> None:
    if loss.name in NEED_HISTORY:  # such targets always have all their axes
        return
    raw, target = random(B, loss.outputs), targets(loss, B)
    cost = loss.elementwise(raw, target)
    assert cost.shape == (B,)
    assert torch.equal(loss.elementwise(raw, target.unsqueeze(-1)), cost.unsqueeze(-1))
    if loss.outputs == 1:
        assert torch.equal(loss.elementwise(raw.squeeze(-1), target), cost)
        assert torch.equal(loss.elementwise(raw.squeeze(-1), target.unsqueeze(-1)), cost.unsqueeze(-1))


@every_loss
@pytest.mark.parametrize(
    ("outputs", "target"),
    [((B, 1, 1), (B, H, 1)), ((B, H, C), (B, H, 1)), ((1, B), (B, 1)), ((B,), (1, B)), ((B, 1), (H, 1)), ((), (B,))],
    ids=str,
)
def test_shapes_that_would_be_paired_up_silently_are_refused(
    loss: Loss, outputs: tuple[int, ...], target: tuple[int, ...]
) -> None:
    raw = random(*outputs) if outputs else random(1).squeeze()
    if loss.outputs > 1 or raw.shape[-1:] == (loss.outputs,):
        raw = raw.unsqueeze(-1).expand(*raw.shape, loss.outputs)
    with pytest.raises(DataError, match="shaped"):
        loss.elementwise(raw, targets(loss, *target), history())
