"""Gradient estimators and transforms: their order, their state, and that users can write their own.

Per-sample clipping, a proximal term and a control variate are written here as a user would write them, and compared
with their closed forms.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn
from torch.func import grad, vmap

import neuro_divergent as nd
from neuro_divergent.losses.reduce import mean_of
from neuro_divergent.training.gradients.estimators.base import GradientEstimator
from neuro_divergent.training.gradients.transforms.base import GradientTransform
from tests.unit.training.callbacks.example import config, line

PLAIN: dict[str, Any] = {
    "clip": None,
    "optimizer": nd.optimizers.SGD(lr=0.1, momentum=0.0),
    "schedule": "constant",
    "early_stopping": None,
    "shuffle": False,
}
FORMATS = Path(__file__).parents[3] / "fixtures" / "formats"


def flat(module: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])


def linear() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 1).double()


def points(rows: int = 12) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(1)
    return tuple(torch.randn(rows, size, generator=random, dtype=torch.float64) for size in (3, 1))  # type: ignore[return-value]


@nd.register("test_per_sample_clip")
class PerSampleClip(GradientEstimator):
    """Clips the gradient of each row before they are averaged, as DP-SGD does (Abadi et al., 2016)."""

    limit: float = 1.0

    def estimate(self, step: nd.training.StepLoss) -> Tensor:
        """Take the rows one by one."""
        total, weight = torch.zeros(()), 0.0
        sums = [torch.zeros_like(parameter) for parameter in step.parameters]
        for batch in step.batches:
            for row in step.rows(batch):
                cost, count = step.cost(row)
                gradients = torch.autograd.grad(cost, step.parameters)
                norm = torch.cat([gradient.flatten() for gradient in gradients]).norm()
                for known, gradient in zip(sums, gradients, strict=True):
                    known += gradient * (self.limit / norm).clamp_max(1.0)
                total, weight = total + cost.detach(), weight + count
        for parameter, gradient in zip(step.parameters, sums, strict=True):
            parameter.grad = gradient / weight
        return step.finish(mean_of(total, weight))


@nd.register("test_per_sample_clip_at_once")
class PerSampleClipAtOnce(GradientEstimator):
    """Does the same with one vectorised pass over the rows of a batch."""

    limit: float = 1.0

    def estimate(self, step: nd.training.StepLoss) -> Tensor:
        """Map over rows."""
        (batch,) = step.batches
        values = {name: item.detach() for name, item in step.module.named_parameters()}

        def cost(values: Mapping[str, Tensor], inputs: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
            total = step.cost((inputs[None], target[None]), values)[0]
            return total, total

        gradients, costs = vmap(grad(cost, has_aux=True), in_dims=(None, 0, 0))(values, *batch)
        rows = torch.cat([gradient.flatten(1) for gradient in gradients.values()], 1)
        factor = (self.limit / rows.norm(dim=1)).clamp_max(1.0)
        for name, parameter in step.module.named_parameters():
            parameter.grad = torch.einsum("b,b...->...", factor, gradients[name]) / len(rows)
        return costs.mean()


@nd.register("test_proximal")
class Proximal(GradientTransform):
    """Adds the gradient of ``strength / 2 * |w - start| ** 2`` (FedProx, Li et al., 2020)."""

    strength: float = 1.0

    def init_state(self, named_parameters: Mapping[str, nn.Parameter]) -> dict[str, Any]:
        """Keep the weights at the start."""
        return {name: parameter.detach().clone() for name, parameter in named_parameters.items()}

    def apply(self, parameters: list[nn.Parameter], context: nd.training.GradientContext) -> None:
        """Pull towards them."""
        del parameters
        for name, parameter in context.named_parameters.items():
            if parameter.grad is not None:
                parameter.grad.add_(parameter.detach() - context.state[name], alpha=self.strength)


class ControlVariate(GradientTransform):
    """Adds the difference of a server's and a client's mean gradient (SCAFFOLD, Karimireddy et al., 2020)."""

    name: ClassVar[str] = "test_control_variate"
    correction: dict[str, Tensor]

    def apply(self, parameters: list[nn.Parameter], context: nd.training.GradientContext) -> None:
        """Correct each gradient."""
        del parameters
        for name, parameter in context.named_parameters.items():
            assert parameter.grad is not None
            parameter.grad.add_(self.correction[name])


@pytest.mark.parametrize("gradient", [PerSampleClip(limit=0.5), PerSampleClipAtOnce(limit=0.5)])
def test_per_sample_clipping_as_an_estimator_gives_the_closed_form_of_a_linear_model(gradient: Any) -> None:
    inputs, target = points()
    module, start = linear(), linear()
    settings = config(max_steps=1, batch_size=12, gradient=gradient, **PLAIN)
    history = nd.Trainer(module, nd.losses.MSE(), settings).fit((inputs, target))
    error = start(inputs).detach() - target
    rows = torch.cat([2 * error * inputs, 2 * error], 1)  # of (w x + b - y) ** 2
    factor = (0.5 / rows.norm(dim=1, keepdim=True)).clamp_max(1.0)
    assert 0 < (factor < 1).sum() < 12 or (factor < 1).all()
    mean = (rows * factor).mean(0)
    torch.testing.assert_close(flat(module), flat(start) - 0.1 * mean, rtol=1e-12, atol=1e-14)
    assert history.rows[-1]["train_loss"] == pytest.approx(float(error.square().mean()))
    assert history.rows[-1]["gradient_norm"] == pytest.approx(float(mean.norm()))


def test_per_sample_clipping_of_windows_trains_a_forecaster() -> None:
    import polars as pl

    frame = pl.DataFrame({"ds": range(80), "y": [math.sin(value / 3) for value in range(80)]})
    training = nd.TrainingConfig(max_steps=3, batch_size=8, threads=1, gradient=PerSampleClip(limit=1e-9), clip=None)
    clipped = nd.Forecaster("nlinear", horizon=4, input_size=8, training=training).fit(frame)
    assert 0 < clipped.history["gradient_norm"].max() <= 1e-9


def test_a_proximal_term_gives_the_closed_form_and_survives_a_restart() -> None:
    """With SGD on a linear model, ``w - start`` follows ``d -> d - lr * (gradient + strength * d)``."""
    inputs, target = points()
    settings = config(max_steps=6, batch_size=12, gradient_transforms=Proximal(strength=3.0), **PLAIN)
    start, module = linear(), linear()
    nd.Trainer(module, nd.losses.MSE(), settings).fit((inputs, target))
    features = torch.cat([inputs, torch.ones(12, 1, dtype=torch.float64)], 1)
    first = flat(start)
    weights = first.clone()
    for _ in range(6):
        gradient = 2 * features.T @ (features @ weights - target[:, 0]) / 12
        weights = weights - 0.1 * (gradient + 3.0 * (weights - first))
    torch.testing.assert_close(flat(module), weights, rtol=1e-12, atol=1e-14)

    half = nd.Trainer(linear(), nd.losses.MSE(), settings.replace(max_steps=3))
    half.fit((inputs, target))
    resumed = copy.deepcopy(half.module)
    nd.Trainer(resumed, nd.losses.MSE(), settings).fit((inputs, target), resume=half.state_dict())
    assert torch.equal(flat(resumed), flat(module))


def test_the_state_of_a_transform_survives_a_checkpoint_on_disk(tmp_path: Path) -> None:
    settings = config(max_steps=6, gradient_transforms=(Proximal(),), **PLAIN)
    whole = linear()
    nd.Trainer(whole, nd.losses.MSE(), settings).fit(points())
    saving = nd.callbacks.Checkpointing(directory=tmp_path)
    nd.Trainer(linear(), nd.losses.MSE(), settings.replace(max_steps=3), callbacks=[saving]).fit(points())
    resumed = linear()
    nd.Trainer(resumed, nd.losses.MSE(), settings, callbacks=[saving]).fit(points(), resume=tmp_path)
    assert torch.equal(flat(resumed), flat(whole))


def test_resuming_without_the_transform_that_has_a_state_is_refused() -> None:
    half = nd.Trainer(linear(), nd.losses.MSE(), config(max_steps=3), gradient_transforms=[Proximal()])
    half.fit(points())
    with pytest.raises(
        nd.errors.ConfigError, match=r"gradient transforms that are missing now .*: Proximal \(now: ClipNorm\)"
    ):
        nd.Trainer(linear(), nd.losses.MSE(), config(max_steps=6)).fit(points(), resume=half.state_dict())


def test_a_control_variate_with_tensors_corrects_the_gradients_of_a_client() -> None:
    """Two clients with different data, each corrected, take the step of the gradient over both."""
    inputs, target = points(24)
    clients = [(inputs[:12], target[:12]), (inputs[12:], target[12:])]
    start = linear()

    def gradient(data: tuple[Tensor, Tensor]) -> dict[str, Tensor]:
        loss = (start(data[0]) - data[1]).square().mean()
        return dict(zip(("weight", "bias"), torch.autograd.grad(loss, list(start.parameters())), strict=True))

    server = gradient((inputs, target))
    settings = config(max_steps=1, batch_size=12, **PLAIN)
    expected = flat(start) - 0.1 * torch.cat([item.flatten() for item in server.values()])
    for data in clients:
        own, module = gradient(data), linear()
        correction = {name: server[name] - own[name] for name in own}
        trainer = nd.Trainer(
            module, nd.losses.MSE(), settings, gradient_transforms=[ControlVariate(correction=correction)]
        )
        trainer.fit(data)
        torch.testing.assert_close(flat(module), expected, rtol=1e-12, atol=1e-14)
        json.dumps(trainer.state_dict()["config"])  # the tensors are not part of it


def reference(settings: nd.TrainingConfig, loss: Any, data: tuple[Tensor, ...]) -> Tensor:
    """Train by the same steps in plain torch: penalties, clipping, noise, AdamW, one batch after the other."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    parameters = list(module.parameters())
    optimizer = settings.optimizer.build(module)
    torch.manual_seed(settings.seed)
    for step in range(settings.max_steps or 0):
        rows = slice(8 * (step % 8), 8 * (step % 8) + 8)
        loss(module(data[0][rows]), data[1][rows]).backward()
        for parameter in parameters:
            assert parameter.grad is not None
            if parameter.ndim > 1 and settings.l1:
                parameter.grad.add_(parameter.detach().sign(), alpha=settings.l1)
            if parameter.ndim > 1 and settings.l2:
                parameter.grad.add_(parameter.detach(), alpha=settings.l2)
        gradients = [parameter.grad for parameter in parameters]
        if isinstance(settings.clip, nd.ClipNorm):
            norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
            torch._foreach_mul_(gradients, (settings.clip.limit / (norm + 1e-6)).clamp_max(1.0))
        elif settings.clip is not None:
            torch._foreach_clamp_min_(gradients, -settings.clip.limit)  # type: ignore[attr-defined]
            torch._foreach_clamp_max_(gradients, settings.clip.limit)  # type: ignore[attr-defined]
        if settings.gradient_noise is not None:
            deviation = (settings.gradient_noise.eta / (1 + step) ** settings.gradient_noise.gamma) ** 0.5
            for gradient in gradients:
                gradient.add_(torch.randn_like(gradient), alpha=deviation)
        optimizer.step()
        optimizer.zero_grad()
    return flat(module)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"clip": None},
        {"clip": nd.training.ClipValue(0.05)},
        {"l1": 0.01, "l2": 0.1},
        {"gradient_noise": nd.training.GradientNoise(eta=0.1)},
        {"l1": 0.01, "l2": 0.1, "clip": nd.ClipNorm(0.1), "gradient_noise": nd.training.GradientNoise(eta=0.1)},
    ],
    ids=str,
)
@pytest.mark.parametrize("loss", [nd.losses.MSE(), nn.functional.mse_loss], ids=["ours", "function"])
def test_the_settings_give_the_weights_of_a_plain_loop_to_the_bit(changes: dict[str, Any], loss: Any) -> None:
    settings = config(
        **{
            "max_steps": 16,
            "batch_size": 8,
            "shuffle": False,
            "schedule": "constant",
            "early_stopping": None,
            **changes,
        }
    )
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    nd.Trainer(module, loss, settings).fit(line())
    assert torch.equal(flat(module), reference(settings, nn.functional.mse_loss, line()))


def test_listed_transforms_give_the_same_weights_as_the_settings() -> None:
    noise, modules = nd.training.GradientNoise(eta=0.1), [linear(), linear()]
    listed = (nd.training.Penalty(l1=0.01, l2=0.1), nd.ClipNorm(0.1), noise)
    for module, changes in zip(
        modules,
        (
            {"l1": 0.01, "l2": 0.1, "clip": nd.ClipNorm(0.1), "gradient_noise": noise},
            {"clip": None, "gradient_transforms": listed},
        ),
        strict=True,
    ):
        history = nd.Trainer(module, nd.losses.MSE(), config(**changes)).fit(points(64))
        assert history.rows[0]["gradient_norm"] > 0.1
    assert torch.equal(flat(modules[0]), flat(modules[1]))


def test_transforms_come_in_the_documented_order() -> None:
    extra = Proximal()
    settings = nd.TrainingConfig(l2=0.1, gradient_noise=nd.training.GradientNoise(), gradient_transforms=[extra])
    assert [item.name for item in settings.build_transforms()] == ["penalty", "norm", "noise", "test_proximal"]
    assert [item.name for item in nd.TrainingConfig(clip=None).build_transforms()] == ["none"]
    ours = nd.TrainingConfig(clip=None, gradient_transforms=[extra, nd.ClipNorm(2.0)])
    assert [item.name for item in ours.build_transforms()] == ["test_proximal", "norm"]


def test_estimator_and_transforms_round_trip_through_toml() -> None:
    settings = nd.TrainingConfig(
        gradient="central", gradient_transforms=[Proximal(strength=2.0), nd.training.ClipValue(0.5)]
    )
    assert nd.TrainingConfig.from_toml(settings.to_toml()) == settings
    assert settings.gradient == nd.training.CentralDifference()


@pytest.mark.parametrize("method", ["autodiff", "central", "forward"])
def test_settings_stored_as_gradient_method_still_load(method: str) -> None:
    assert nd.TrainingConfig.from_dict({"gradient_method": method}).gradient.name == method
    assert nd.TrainingConfig.from_toml(f'gradient_method = "{method}"').gradient.name == method


def test_a_stored_config_of_an_earlier_version_equals_the_same_settings_now() -> None:
    stored = nd.training.read_checkpoint(FORMATS / "checkpoint-2")["config"]
    assert stored["gradient_method"] == "autodiff"
    now = nd.TrainingConfig.from_dict(stored)
    assert now.gradient == nd.training.Autodiff()
    assert {name: stored[name] for name in stored if name != "gradient_method"}.items() <= now.to_dict().items()
