"""Several batches in one step give the gradient of the one large batch."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
import torch
from torch import Tensor, nn

import neuro_divergent as nd


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)).double()


def points(count: int) -> tuple[Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(1)
    inputs = torch.randn(count, 3, generator=random, dtype=torch.float64)
    target = torch.sin(inputs.sum(1, keepdim=True)) + 2
    weight = torch.rand(count, generator=random, dtype=torch.float64)
    return inputs, target, weight


def weights_after(loss: Any, data: tuple[Tensor, ...], **settings: Any) -> Tensor:
    module = network()
    config = nd.TrainingConfig(**{"threads": 1, "max_steps": None, "max_epochs": 3, "clip": None, **settings})
    nd.Trainer(module, loss, config).fit(data)
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])


@pytest.mark.parametrize(
    "loss",
    [nd.losses.MSE(), nd.losses.RMSE(), nd.losses.MAE(), nd.losses.SMAPE(), nn.functional.mse_loss],
    ids=["mse", "rmse", "mae", "smape", "function"],
)
@pytest.mark.parametrize("count", [48, 45, 41])
@pytest.mark.parametrize("weighted", [False, True])
def test_training_with_four_small_batches_is_training_with_a_large_one(loss: Any, count: int, weighted: bool) -> None:
    data = points(count)[: 3 if weighted else 2]
    if weighted and not isinstance(loss, nd.losses.Loss):
        with pytest.raises(nd.errors.ConfigError, match="a loss that costs each target by itself"):
            weights_after(loss, data)
        return
    large = weights_after(loss, data, batch_size=16)
    small = weights_after(loss, data, batch_size=4, accumulate=4)
    torch.testing.assert_close(small, large, rtol=1e-10, atol=1e-12)


def test_windows_with_missing_targets_count_as_in_the_large_batch() -> None:
    y = torch.randn(150, generator=torch.Generator().manual_seed(0)).cumsum(0).tolist()
    frame = pl.DataFrame({"ds": range(150), "y": [None if place % 7 == 3 else value for place, value in enumerate(y)]})
    forecasts = []
    for settings in ({"batch_size": 32}, {"batch_size": 8, "accumulate": 4}):
        training = nd.TrainingConfig(threads=1, max_steps=20, precision="float64", **settings)
        forecaster = nd.Forecaster("nlinear", horizon=4, input_size=8, training=training)
        forecasts.append(forecaster.fit(frame, missing="mask").predict()["forecast"].to_numpy())
    assert forecasts[0] == pytest.approx(forecasts[1], rel=1e-5)


def gradient_of_sum(values: list[float], *, kind: str) -> float:
    """Return what is left of gradients that are added one by one in float32 or float64."""
    module = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(module.weight)
    config = nd.TrainingConfig(
        threads=1,
        max_steps=1,
        batch_size=1,
        accumulate=len(values),
        shuffle=False,
        gradient_sum=kind,
        clip=None,
        optimizer=nd.optimizers.SGD(lr=1.0, momentum=0.0),
        schedule="constant",
        early_stopping=None,
    )
    inputs = torch.tensor(values)[:, None]
    nd.Trainer(module, lambda output, target: (output + 0 * target).mean(), config).fit((inputs, inputs))
    assert module.weight.dtype is torch.float32
    return -float(module.weight.detach()) * len(values)


def test_sums_in_float64_keep_what_float32_loses() -> None:
    values = [1e8, 1.0, 1.0, 1.0, -1e8]
    assert gradient_of_sum(values, kind="float64") == pytest.approx(3.0, rel=1e-6)
    assert abs(gradient_of_sum(values, kind="float32") - 3.0) > 1.0


def test_the_type_of_the_sum_is_a_setting() -> None:
    data = tuple(item.float() for item in points(64)[:2])
    runs = []
    for kind in ("float32", "float64"):
        module = network().float()
        config = nd.TrainingConfig(threads=1, max_steps=20, batch_size=2, accumulate=16, gradient_sum=kind)
        nd.Trainer(module, nd.losses.MSE(), config).fit(data)
        runs.append(torch.cat([parameter.detach().flatten() for parameter in module.parameters()]))
    torch.testing.assert_close(runs[0], runs[1], rtol=1e-3, atol=1e-4)
    assert not torch.equal(runs[0], runs[1])


@pytest.mark.parametrize("settings", [{"batch_size": 8}, {"batch_size": 2, "accumulate": 4}], ids=str)
def test_a_step_of_nothing_but_zero_weights_changes_nothing(settings: dict[str, Any]) -> None:
    inputs, target, _ = points(8)
    before = torch.cat([parameter.detach().flatten() for parameter in network().parameters()])
    nothing = (inputs, target, torch.zeros(8, dtype=torch.float64))
    after = weights_after(nd.losses.MSE(), nothing, optimizer=nd.optimizers.SGD(lr=1.0), **settings)
    assert torch.equal(before, after)
