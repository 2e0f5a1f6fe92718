"""What the trainer takes: data sets, dicts, losses by name; and what it says about what it cannot take."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import neuro_divergent as nd

CONFIG = nd.TrainingConfig(max_steps=12, log_every=4, threads=1)


class Named(nn.Module):
    """A module whose inputs have names."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 1)

    def forward(self, inputs: dict[str, Tensor]) -> Tensor:
        return self.head(torch.cat([inputs["one"], inputs["other"]], 1))


class Items(Dataset[Any]):
    """Items with named inputs."""

    def __init__(self, inputs: Tensor, targets: Tensor) -> None:
        self.inputs, self.targets = inputs, targets

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, number: int) -> tuple[dict[str, Tensor], Tensor]:
        row = self.inputs[number]
        return {"one": row[:2], "other": row[2:]}, self.targets[number]


@pytest.fixture(scope="module")
def data() -> tuple[Tensor, Tensor]:
    inputs = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))
    return inputs, inputs.sum(1, keepdim=True)


def linear() -> nn.Module:
    torch.manual_seed(3)
    return nn.Linear(4, 1)


def named() -> Named:
    torch.manual_seed(3)
    return Named()


def weights(module: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])


def fit(module: nn.Module, train: Any, config: nd.TrainingConfig = CONFIG, validation: Any = None) -> Tensor:
    nd.Trainer(module, "mse", config).fit(train, validation)
    return weights(module)


def test_a_data_set_is_trained_on_like_its_tensors(data) -> None:
    assert torch.equal(fit(linear(), TensorDataset(*data)), fit(linear(), data))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_named_inputs_are_trained_on_like_one_tensor(data, precision) -> None:
    inputs, targets = data
    config = CONFIG.replace(precision=precision, accumulate=2)
    expected = fit(linear(), data, config, data)
    apart = {"one": inputs[:, :2], "other": inputs[:, 2:]}, targets
    for train in (apart, Items(inputs, targets)):
        assert torch.equal(fit(named(), train, config, train), expected)
    loader = DataLoader(Items(inputs, targets), 32)
    fit(named(), loader, config, loader)


def test_threads_and_batch_size_are_chosen_for_named_inputs(data) -> None:
    inputs, targets = data
    apart = {"one": inputs[:, :2], "other": inputs[:, 2:]}, targets
    trainer = nd.Trainer(named(), "mse", nd.TrainingConfig(max_steps=2))
    trainer.fit(apart)
    assert trainer.threads >= 1
    assert trainer.plan.steps_per_epoch == 2
    assert nd.training.find_batch_size(named(), nd.losses.MSE(), apart, memory=2**30) == len(targets)


def test_a_data_set_is_resumed_in_the_middle_of_an_epoch_bit_for_bit(data) -> None:
    class Noisy(Items):
        def __getitem__(self, number: int) -> tuple[dict[str, Tensor], Tensor]:
            inputs, target = super().__getitem__(number)
            return {**inputs, "one": inputs["one"] + torch.randn(2)}, target

    class Keep(nd.callbacks.Callback):
        state: dict[str, Any] = {}  # noqa: RUF012

        def checkpoint_safe(self, trainer: nd.Trainer) -> None:
            if trainer.state.step == 5:
                Keep.state = copy.deepcopy(trainer.state_dict())

    config = CONFIG.replace(batch_size=8)
    whole, second = named(), named()
    nd.Trainer(whole, "mse", config, callbacks=[Keep()]).fit(Noisy(*data))
    nd.Trainer(second, "mse", config).fit(Noisy(*data), resume=Keep.state)
    assert torch.equal(weights(whole), weights(second))


def test_a_function_as_loss_may_take_an_output_of_several_tensors(data) -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mean, self.spread = linear(), linear()

        def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
            return self.mean(inputs), self.spread(inputs)

    def loss(output: tuple[Tensor, Tensor], target: Tensor) -> Tensor:
        mean, spread = output
        return ((target - mean) ** 2 * torch.exp(-spread) + spread).mean()

    history = nd.Trainer(Two(), loss, CONFIG.replace(max_steps=60)).fit(data, data)
    losses = [row["train_loss"] for row in history.rows]
    assert losses[-1] < losses[0]
    with pytest.raises(nd.errors.ConfigError, match="returned a tuple, and the loss mse needs one tensor"):
        nd.Trainer(Two(), "mse", CONFIG).fit(data)


def test_a_metric_may_return_a_number(data) -> None:
    metrics = {"worst": lambda output, batch: float((output - batch[1]).abs().max())}
    trainer = nd.Trainer(linear(), "mse", CONFIG, metrics=metrics)
    trainer.fit(data, data)
    expected = (trainer.forward(data) - data[1]).abs().max()
    assert trainer.state.metrics["validation_worst"] == pytest.approx(expected.item())


def test_a_number_for_a_batch_counts_as_often_as_the_batch_has_rows(data) -> None:
    inputs, targets = data
    metrics = {"error": lambda output, batch: (output - batch[1]).abs().mean()}
    trainer = nd.Trainer(linear(), "mse", CONFIG, metrics=metrics)
    trainer.fit(data, [(inputs[:47], targets[:47]), (inputs[47:], targets[47:])])
    expected = (trainer.forward(data) - targets).abs().mean()
    assert trainer.state.metrics["validation_error"] == pytest.approx(expected.item())


@pytest.mark.parametrize("shape", [(8, 3), (8, 3, 1), (8, 1, 3, 1)])
@pytest.mark.parametrize("loss", ["mae", "quantile"])
def test_an_output_for_windows_without_all_its_axes_is_refused_in_the_first_step(shape, loss) -> None:
    class Short(nn.Linear):
        def forward(self, inputs: Any) -> Tensor:
            return super().forward(inputs.past_y[..., 0]).reshape(shape)

    windows = nd.models.Batch(past_y=torch.ones(8, 6, 1), future_y=torch.ones(8, 3, 1))
    with pytest.raises(nd.errors.ConfigError, match=re.escape(f"the network returned {shape}; a network for windows")):
        nd.Trainer(Short(6, 3), loss, CONFIG).fit([windows])


def test_a_module_that_wants_several_arguments_is_told_that_there_is_one(data) -> None:
    class Two(nn.Linear):
        def forward(self, one: Tensor, other: Tensor) -> Tensor:  # type: ignore[override]
            return super().forward(one + other)

    with pytest.raises(TypeError) as error:
        nd.Trainer(Two(4, 1), "mse", CONFIG).fit(((data[0], data[0]), data[1]))
    assert error.value.__notes__ == [
        "The module is called with the inputs as one argument, a tuple: def forward(self, inputs)."
    ]


class ForeignNames(nd.callbacks.Callback):
    """A callback as another library would have it."""

    def on_epoch_end(self, trainer: nd.Trainer) -> None:
        """Never called."""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": nn.MSELoss}, "loss: MSELoss is a class; pass an object of it: MSELoss()."),
        ({"loss": "msee"}, "Did you mean 'mse'?"),
        ({"loss": lambda output, target: (output - target) ** 2}, "a tensor shaped (32, 1); return one number"),
        ({"module": nn.Linear}, "is no torch.nn.Module"),
        ({"metrics": ["accuracy"]}, "TrainingConfig(metrics=['accuracy'])"),
        ({"callbacks": [ForeignNames()]}, "ForeignNames handles no event: there is no on_epoch_end"),
        ({"train": torch.zeros(3, 4)}, "pass a pair, (inputs, targets)"),
        ({"train": (np.zeros((3, 4)), np.zeros((3, 1)))}, "torch.as_tensor(array).float()"),
        ({"train": [{"x": torch.zeros(3, 4), "y": torch.zeros(3, 1)}]}, "got one dict of x, y"),
        ({"train": TensorDataset(torch.zeros(0, 4), torch.zeros(0, 1))}, "the data set to train on is empty"),
    ],
)
def test_what_cannot_be_trained_is_refused_with_what_to_do(data, change, message) -> None:
    given = {"module": linear(), "loss": "mse", "config": CONFIG, **change}
    train = given.pop("train", data)
    with pytest.raises(nd.errors.InputError, match=re.escape(message)):
        nd.Trainer(given.pop("module"), given.pop("loss"), given.pop("config"), **given).fit(train)


@pytest.mark.parametrize("name", ["lr", "learning_rate", "weight_decay", "patience", "verbose"])
def test_settings_of_other_libraries_are_refused_with_where_they_are(name) -> None:
    with pytest.raises(
        nd.errors.ConfigError, match=f"there is no {name} here: .*(optimizer=|early_stopping=|show_pro)"
    ):
        nd.TrainingConfig(**{name: 1})


def test_a_trainer_that_is_done_does_not_silently_train_no_more(data) -> None:
    trainer = nd.Trainer(linear(), "mse", CONFIG)
    trainer.fit(data)
    with pytest.raises(nd.errors.ConfigError, match="has made all of its 12 steps"):
        trainer.fit(data)
    longer = nd.Trainer(linear(), "mse", CONFIG.replace(max_steps=20))
    longer.fit(data, resume=trainer.state_dict())
    assert longer.state.step == 20
