"""Finding a learning rate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.spec import Batch
from neuro_divergent.losses.percentage import MAPE
from neuro_divergent.losses.point import MAE
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.engine import Trainer
from neuro_divergent.training.optimizers.adam import AdamW
from neuro_divergent.training.optimizers.sgd import SGD
from neuro_divergent.training.tuning.rate_finder import RateCurve, find_learning_rate

MSE = nn.functional.mse_loss


def data(rows: int = 512) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(rows, 4, generator=generator)
    return inputs, inputs.sum(1, keepdim=True) + 3


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.BatchNorm1d(32), nn.Dropout(0.1), nn.Linear(32, 1))


@pytest.mark.parametrize("optimizer", [AdamW(), SGD(lr=0.5, momentum=0.9)])
def test_the_suggestion_trains_better_than_much_lower_and_much_higher_rates(optimizer: AdamW | SGD) -> None:
    suggestion = find_learning_rate(network(), MSE, data(), TrainingConfig(optimizer=optimizer), high=10).suggestion

    def loss(rate: float) -> float:
        module = network()
        config = TrainingConfig(max_steps=150, optimizer=optimizer.replace(lr=rate), schedule="cosine")
        Trainer(module, MSE, config).fit(data())
        inputs, target = data()
        with torch.no_grad():
            return float(MSE(module(inputs), target))

    assert loss(suggestion) < 0.1 * loss(suggestion / 100)
    assert loss(suggestion) < 0.1 * loss(min(suggestion * 1000, 30.0))


def test_rates_grow_by_the_same_factor_from_low_to_high() -> None:
    config = TrainingConfig(max_epochs=1, optimizer=AdamW(lr=0.123), log_every=50)
    curve = find_learning_rate(network(), MAE(), data(), config, low=1e-6, high=1e-2, steps=41)
    assert curve.rates == pytest.approx(np.geomspace(1e-6, 1e-2, 41))
    assert curve.frame().columns == ["learning_rate", "train_loss", "smoothed"]
    assert curve.frame().height == 41


def test_each_loss_is_that_of_a_step_at_its_rate() -> None:
    """A weight that starts at 0 and must reach 1 under plain gradient descent can be followed by hand."""
    module = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(module.weight)
    ones = torch.ones(8, 1)
    config = TrainingConfig(optimizer=SGD(lr=7.0, momentum=0.0), clip=None, batch_size=8)
    curve = find_learning_rate(module, MSE, (ones, ones), config, low=1e-4, high=0.5, steps=20)
    weight, losses = 0.0, []
    for rate in np.geomspace(1e-4, 0.5, 20):
        losses.append((weight - 1) ** 2)
        weight -= rate * 2 * (weight - 1)
    assert curve.losses == pytest.approx(losses, abs=1e-6)


def test_nothing_that_was_passed_is_changed() -> None:
    module = network()
    module.train()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    config = TrainingConfig()
    loader = DataLoader(TensorDataset(*data()), batch_size=32, shuffle=True)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = find_learning_rate(module, MSE, loader, config)
    assert torch.equal(torch.rand(3), expected)
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())
    assert all(parameter.grad is None for parameter in module.parameters())
    assert module.training
    assert config == TrainingConfig()
    second = find_learning_rate(module, MSE, loader, config)
    assert np.array_equal(first.losses, second.losses)


def test_what_training_would_write_is_not_written(tmp_path: Path) -> None:
    config = TrainingConfig(
        max_epochs=1,
        max_seconds=1e-9,
        stop_file=str(tmp_path / "stop"),
        callbacks=[{"name": "csv", "path": str(tmp_path / "log.csv")}],
    )
    (tmp_path / "stop").touch()
    assert len(find_learning_rate(network(), MSE, data(), config, high=1e-3).rates) == 100
    assert [path.name for path in tmp_path.iterdir()] == ["stop"]


def test_a_loss_in_the_units_of_the_data_is_measured_there() -> None:
    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = nn.Parameter(torch.ones(()))

        def forward(self, batch: Batch) -> Tensor:
            return (self.factor * batch.past_y[:, -2:]).unsqueeze(-1)

    past = torch.ones(8, 4, 1)
    batch = Batch(past_y=past, past_mask=torch.ones_like(past), future_y=torch.full((8, 2, 1), 2.0))
    curve = find_learning_rate(Last(), MAPE(), [batch], steps=20, high=1e-6, restore=lambda values, _: values + 3)
    assert curve.losses[0] == pytest.approx(0.2)  # 4 instead of 5


def test_the_rate_finder_ends_when_the_loss_diverges() -> None:
    config = TrainingConfig(optimizer=SGD(), clip=None)
    curve = find_learning_rate(network(), MSE, data(), config, high=1e6)
    assert curve.rates[-1] < 1e3
    assert np.isfinite(curve.losses).all()
    assert 1e-5 < curve.suggestion < 1


def test_a_loss_that_never_falls_has_no_suggestion() -> None:
    noise = iter(torch.rand(1000, generator=torch.Generator().manual_seed(2)))
    curve = find_learning_rate(network(), lambda output, _: 0 * output.sum() + 1 + next(noise), data())
    with pytest.raises(InputError, match=r"does not fall at any learning rate from 1e-07 to 1\."):
        _ = curve.suggestion


def test_a_rising_loss_has_no_suggestion_either() -> None:
    rates = np.geomspace(1e-4, 1, 50)
    with pytest.raises(InputError, match="does not fall"):
        _ = RateCurve(rates, 1 + rates, 1 + rates).suggestion


@pytest.mark.parametrize("steepest", [-5.0, -3.0, -2.0])
def test_the_suggestion_is_where_the_curve_is_steepest(steepest: float) -> None:
    places = np.linspace(-7, 0, 141)
    losses = 2 - np.tanh(3 * (places - steepest)) + np.exp(8 * (places + 0.3))
    found = RateCurve(10**places, losses, losses).suggestion
    assert np.log10(found) == pytest.approx(steepest, abs=0.06)


def test_a_loss_that_is_lost_at_once_is_said() -> None:
    config = TrainingConfig(optimizer=SGD(), clip=None)
    with pytest.raises(InputError, match=r"grew too much after \d steps"):
        find_learning_rate(network(), MSE, data(), config, low=1e20, high=1e30)


@pytest.mark.parametrize("wrong", [{"low": 0.0}, {"low": 1.0, "high": 0.1}, {"steps": 3}, {"diverged": 1.0}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        find_learning_rate(network(), MSE, data(), **wrong)  # type: ignore[arg-type]
