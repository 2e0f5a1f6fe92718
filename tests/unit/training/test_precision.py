"""Types of numbers, loss scaling and skipped steps."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
import torch
from torch import Tensor, nn

import neuro_divergent as nd
from neuro_divergent.training.precision import Precision
from tests.unit.training.callbacks.example import line

CPU = torch.device("cpu")


def train(precision: str, module: nn.Module | None = None, loss: Any = None, **settings: Any) -> nd.Trainer:
    torch.manual_seed(0)
    module = module or nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
    config = nd.TrainingConfig(
        precision=precision,
        threads=1,
        **{"max_steps": 150, "batch_size": 16, "optimizer": nd.optimizers.Adam(lr=0.02), **settings},
    )
    trainer = nd.Trainer(module, loss or nd.losses.MSE(), config)
    trainer.fit(line(), line())
    return trainer


@pytest.mark.parametrize("precision", ["float32", "float64", "bf16", "fp16"])
def test_every_precision_learns_and_leaves_float32_weights(precision: str) -> None:
    trainer = train(precision)
    assert trainer.history.rows[-1]["validation_loss"] < 0.05
    assert {parameter.dtype for parameter in trainer.module.parameters()} == {torch.float32}


@pytest.mark.parametrize("precision", ["float64", "bf16", "fp16"])
@pytest.mark.parametrize("model", ["nhits", "nbeats", "lstm", "dlinear", "itransformer"])
def test_every_network_can_be_trained_and_used_afterwards(model: str, precision: str) -> None:
    frame = pl.DataFrame({"ds": range(90), "y": torch.arange(90.0).mul(0.5).sin().tolist()})
    small = {"hidden_size": 16} if model != "dlinear" else {}
    training = nd.TrainingConfig(precision=precision, max_steps=3, threads=1)
    forecaster = nd.Forecaster(nd.Architecture.from_dict({"name": model, **small}), horizon=4, training=training)
    assert forecaster.fit(frame).predict()["forecast"].is_finite().all()
    network = forecaster.fitted.predictor.network
    tensors = (*network.parameters(), *network.buffers())
    assert {tensor.dtype for tensor in tensors if tensor.is_floating_point()} == {torch.float32}


def test_types_come_back_after_a_failure() -> None:
    module = nn.Linear(3, 1)

    def broken(output: Tensor, target: Tensor) -> Tensor:
        raise KeyError

    with pytest.raises(KeyError):
        train("float64", module, broken)
    assert module.weight.dtype is torch.float32


class TypeWatch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 1)
        self.seen: set[torch.dtype] = set()

    def forward(self, inputs: Tensor) -> Tensor:
        output = self.linear(inputs)
        self.seen.add(output.dtype)
        return output


@pytest.mark.parametrize(
    ("precision", "kind"), [("float64", torch.float64), ("bf16", torch.bfloat16), ("fp16", torch.float16)]
)
def test_the_network_computes_in_the_requested_type(precision: str, kind: torch.dtype) -> None:
    module = TypeWatch()
    train(precision, module, max_steps=3)
    assert module.seen == {kind}


def test_float64_trains_more_exactly() -> None:
    def weights(precision: str) -> Tensor:
        trainer = train(precision, max_steps=60)
        return torch.cat([parameter.detach().flatten() for parameter in trainer.module.parameters()])

    single, double = weights("float32"), weights("float64")
    assert not torch.equal(single, double)
    torch.testing.assert_close(single, double, rtol=1e-3, atol=1e-4)


@pytest.mark.precision("fp16")
def test_fp16_skips_steps_that_overflow_and_lowers_the_scale() -> None:
    # The scale starts at 65,536 and the gradient is about 1e3: fp16 ends at 65,504, so the first steps overflow.
    module = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    trainer = train("fp16", module, loss=lambda output, target: 1e4 * (output - target).square().mean(), max_steps=40)
    assert 0 < trainer.state.skipped < 30
    assert trainer.history.rows[-1]["skipped_steps"] == trainer.state.skipped
    assert all(parameter.isfinite().all() for parameter in module.parameters())


@pytest.mark.precision("fp16")
def test_a_skipped_step_leaves_weights_and_optimizer_alone() -> None:
    module = nn.Linear(3, 1)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    optimizer = torch.optim.Adam(module.parameters(), lr=0.1, fused=True)
    precision = Precision("fp16", CPU)
    precision.backward(module(torch.ones(2, 3)).sum() * float("inf"))
    precision.unscale(optimizer)
    assert not precision.step(optimizer)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    optimizer.zero_grad()
    precision.backward(module(torch.ones(2, 3)).sum())
    precision.unscale(optimizer)
    torch.testing.assert_close(module.weight.grad, torch.full((1, 3), 2.0))
    assert precision.step(optimizer)
    assert not torch.equal(module.weight, before["weight"])


@pytest.mark.precision("fp16")
def test_the_scale_survives_a_restart() -> None:
    precision = Precision("fp16", CPU)
    module = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    precision.backward(module(torch.ones(2, 3)).sum() * float("inf"))
    precision.unscale(optimizer)
    precision.step(optimizer)
    other = Precision("fp16", CPU)
    other.load_state_dict(precision.state_dict())
    assert other.state_dict() == precision.state_dict()


@pytest.mark.precision("fp16")
def test_clipping_sees_gradients_without_the_scale() -> None:
    def small(output: Tensor, target: Tensor) -> Tensor:
        return 0.01 * (output - target).square().mean()

    runs = [train(name, loss=small, max_steps=1) for name in ("float32", "fp16")]
    norms = [run.history.rows[0]["gradient_norm"] for run in runs]
    assert norms[0] == pytest.approx(norms[1], rel=1e-2)


def test_finite_differences_refuse_short_types() -> None:
    with pytest.raises(nd.errors.ConfigError, match="differences drown in the rounding of bf16"):
        nd.TrainingConfig(precision="bf16", gradient="central")
