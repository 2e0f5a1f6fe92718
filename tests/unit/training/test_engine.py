"""The loop: ends, events, determinism, divergence."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import neuro_divergent as nd
from tests.unit.training.callbacks.example import config, line, network


class Recorder(nd.callbacks.Callback):
    def __init__(self) -> None:
        self.events: list[str] = []

    def fit_start(self, trainer: nd.Trainer) -> None:
        self.events.append("fit_start")

    def epoch_start(self, trainer: nd.Trainer) -> None:
        self.events.append("epoch_start")

    def gradients_ready(self, trainer: nd.Trainer) -> None:
        self.events.append("gradients_ready")

    def step_end(self, trainer: nd.Trainer) -> None:
        self.events.append("step_end")

    def validation_end(self, trainer: nd.Trainer) -> None:
        self.events.append("validation_end")

    def epoch_end(self, trainer: nd.Trainer) -> None:
        self.events.append("epoch_end")

    def fit_end(self, trainer: nd.Trainer) -> None:
        self.events.append("fit_end")

    def failed(self, trainer: nd.Trainer, error: BaseException) -> None:
        self.events.append(f"failed {type(error).__name__}")


def test_events_come_in_order() -> None:
    recorder = Recorder()
    settings = config(max_steps=None, max_epochs=2, batch_size=32, validate_every=2)
    nd.Trainer(network(), nd.losses.MSE(), settings, callbacks=[recorder]).fit(line(), line())
    step = ["gradients_ready", "step_end"]
    epoch = ["epoch_start", *step, *step, "validation_end", "epoch_end"]
    assert recorder.events == ["fit_start", *epoch, *epoch, "fit_end"]


@pytest.mark.parametrize(("limits", "steps"), [({"max_steps": 7}, 7), ({"max_steps": None, "max_epochs": 3}, 12)])
def test_ends_at_the_first_limit(limits: dict[str, Any], steps: int) -> None:
    trainer = nd.Trainer(network(), nd.losses.MSE(), config(**limits))
    trainer.fit(line())
    assert trainer.state.step == steps


@pytest.mark.parametrize("form", ["tensors", "list", "data_loader"])
def test_trains_on_any_kind_of_batches(form: str) -> None:
    inputs, target = line()
    data: Any = (inputs, target)
    if form == "list":
        data = list(zip(inputs.split(16), target.split(16), strict=True))
    elif form == "data_loader":
        data = DataLoader(TensorDataset(inputs, target), batch_size=16)
    module = network()
    history = nd.Trainer(module, nd.losses.MSE(), config(max_steps=400)).fit(data)
    assert history.frame()["train_loss"][-1] < 1e-3
    assert torch.allclose(module.weight.detach(), torch.tensor([[1.0, -2.0, 0.5]]), atol=0.05)


def test_trains_with_any_function_as_loss() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    inputs = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    target = torch.tensor([0, 1, 1, 0])
    nd.Trainer(module, nn.functional.cross_entropy, config(max_steps=300)).fit((inputs, target))
    assert module(inputs).argmax(1).tolist() == target.tolist()


def test_the_same_seed_gives_the_same_weights_and_leaves_the_callers_numbers_alone() -> None:
    weights = []
    for noise in (1, 2):
        torch.manual_seed(noise)
        torch.randn(noise)
        before = torch.random.get_rng_state()
        module = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        module.load_state_dict(
            {**module.state_dict(), **{k: torch.ones_like(v) for k, v in module.state_dict().items()}}
        )
        before = torch.random.get_rng_state()
        nd.Trainer(module, nd.losses.MSE(), config()).fit(line())
        assert torch.equal(torch.random.get_rng_state(), before)
        weights.append(torch.cat([parameter.detach().flatten() for parameter in module.parameters()]))
    assert torch.equal(weights[0], weights[1])


def test_another_seed_gives_other_weights() -> None:
    modules = [network(), network()]
    for seed, module in enumerate(modules):
        nd.Trainer(module, nd.losses.MSE(), config(seed=seed)).fit(line())
    assert not torch.equal(modules[0].weight, modules[1].weight)


def test_early_stopping_stops_and_restores_the_best_weights() -> None:
    """With a far too high rate the loss bounces; the weights returned are those of the best validation."""
    module = network()
    settings = config(
        max_steps=500,
        optimizer=nd.optimizers.SGD(lr=0.9),
        validate_every=1,
        early_stopping=nd.EarlyStopping(patience=5),
        clip=None,
    )
    trainer = nd.Trainer(module, nd.losses.MSE(), settings)
    history = trainer.fit(line(), line()).frame()
    assert "has not improved in 5 validations" in (trainer.state.stop_reason or "")
    assert trainer.state.step < 500
    inputs, target = line()
    assert float((module(inputs) - target).square().mean().detach()) == pytest.approx(history["validation_loss"].min())


def test_early_stopping_can_watch_another_metric_and_says_when_it_is_not_there() -> None:
    def accuracy(output: torch.Tensor, batch: Any) -> torch.Tensor:
        return (output - batch[1]).abs() < 0.1

    settings = config(early_stopping=nd.EarlyStopping(metric="validation_hits", mode="max", patience=2))
    trainer = nd.Trainer(network(), nd.losses.MSE(), settings, metrics={"hits": lambda o, b: accuracy(o, b).float()})
    assert "validation_hits" in trainer.fit(line(), line()).frame().columns
    with pytest.raises(nd.errors.ConfigError, match="Did you mean 'validation_loss'"):
        nd.Trainer(network(), nd.losses.MSE(), config(early_stopping=nd.EarlyStopping(metric="validation_los"))).fit(
            line(), line()
        )


def test_a_loss_that_is_not_finite_ends_training() -> None:
    recorder = Recorder()
    inputs, target = line()
    target[3] = math.nan
    trainer = nd.Trainer(network(), nd.losses.MSE(), config(log_every=1), callbacks=[recorder])
    with pytest.raises(nd.errors.DivergedError, match=r"row \d+ of the batch: nan in the targets at step \d+\."):
        trainer.fit((inputs, target))
    assert recorder.events[-1] == "failed DivergedError"


def test_a_callback_can_stop_training() -> None:
    class Impatient(nd.callbacks.Callback):
        def step_end(self, trainer: nd.Trainer) -> None:
            if trainer.state.step == 5:
                trainer.stop("enough")

    trainer = nd.Trainer(network(), nd.losses.MSE(), config(), callbacks=[Impatient()])
    history = trainer.fit(line())
    assert (trainer.state.step, trainer.state.stop_reason) == (5, "enough")
    assert history.frame()["step"].to_list() == [5]


def test_validation_loss_does_not_depend_on_how_it_is_batched() -> None:
    inputs, target = line(50)
    losses = []
    for size in (50, 7):
        batches = list(zip(inputs.split(size), target.split(size), strict=True))
        history = nd.Trainer(network(), nd.losses.MSE(), config(max_steps=1)).fit(line(), batches)
        losses.append(history.frame()["validation_loss"][-1])
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_clipping_bounds_the_gradients() -> None:
    class Norms(nd.callbacks.Callback):
        def __init__(self) -> None:
            self.norms: list[float] = []
            self.largest: list[float] = []

        def gradients_ready(self, trainer: nd.Trainer) -> None:
            gradients = torch.cat([p.grad.flatten() for p in trainer.module.parameters() if p.grad is not None])
            self.norms.append(float(gradients.norm()))
            self.largest.append(float(gradients.abs().max()))

    inputs, target = line()
    for clip in (nd.ClipNorm(0.1), nd.training.ClipValue(0.1)):
        norms = Norms()
        history = nd.Trainer(network(), nd.losses.MSE(), config(clip=clip, log_every=1), callbacks=[norms]).fit(
            (inputs, target)
        )
        assert max(norms.largest) <= 0.1 + 1e-6
        if isinstance(clip, nd.ClipNorm):
            assert max(norms.norms) <= 0.1 + 1e-6
        assert history.frame()["gradient_norm"][0] > 0.1


def test_threads_are_given_back() -> None:
    before = torch.get_num_threads()
    nd.Trainer(network(), nd.losses.MSE(), config(threads=1)).fit(line())
    assert torch.get_num_threads() == before


def test_a_device_that_is_not_there_falls_back_with_a_notice() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.warns(UserWarning, match="'cuda' is not available here"):
        trainer = nd.Trainer(network(), nd.losses.MSE(), config(device="cuda"))
    assert trainer.device.type == "cpu"
    with pytest.raises(nd.errors.ConfigError, match="'gpu' is not a device"):
        nd.Trainer(network(), nd.losses.MSE(), config(device="gpu"))


@pytest.mark.parametrize("data", [[], (torch.zeros(3, 1), torch.zeros(2, 1)), object(), [torch.zeros(2)]])
def test_data_that_cannot_be_trained_on_is_refused(data: Any) -> None:
    with pytest.raises(nd.errors.DataError):
        nd.Trainer(nn.Linear(1, 1), nd.losses.MSE(), config()).fit(data)
