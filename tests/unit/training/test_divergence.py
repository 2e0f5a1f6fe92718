"""Numbers that are not finite are found in their step, named and kept away from the weights."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
import torch
from torch import Tensor, nn

import neuro_divergent as nd
from neuro_divergent.core.errors import DivergenceWarning
from neuro_divergent.training.divergence import Divergence, Guard
from tests.unit.training.callbacks.example import config, line


class Root(nn.Module):
    """Has a finite output everywhere, and at an offset of 0 an infinite gradient for the offset alone."""

    def __init__(self, offset: float) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.line = nn.Linear(3, 1)
        self.offset = nn.Parameter(torch.tensor(offset))

    def forward(self, inputs: Tensor) -> Tensor:
        return self.line(inputs) + self.offset.abs().sqrt()


def fit(module: nn.Module, *callbacks: nd.callbacks.Callback, data: Any = None, **changes: Any) -> nd.Trainer:
    settings = config(**{"early_stopping": None, **changes})
    training = nd.Trainer(module, nd.losses.MSE(), settings, callbacks=callbacks)
    training.fit(data or line(), line() if "validate_every" in changes else None)
    return training


@pytest.mark.parametrize("clip", [None, nd.ClipNorm(), nd.training.ClipValue()])
def test_the_parameter_and_the_step_are_named_and_the_weights_are_kept(clip: Any) -> None:
    module = Root(0.0)
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    with pytest.raises(
        nd.errors.DivergedError, match=r"gradient of 'offset' is not finite at step 1 \(1 of 3 parameters\)"
    ):
        fit(module, clip=clip)
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())


def test_large_but_finite_gradients_are_no_alarm() -> None:
    """The sum of their squares overflows."""
    inputs, targets = line()
    training = fit(nn.Linear(3, 1), data=(inputs, targets * 1e15), max_steps=3, clip=None)
    assert training.state.step == 3


class Poison(nd.callbacks.Callback):
    """Spoils a gradient at some steps."""

    def __init__(self, *steps: int) -> None:
        self.steps = steps
        self.weights: dict[int, Tensor] = {}

    def gradients_ready(self, trainer: nd.Trainer) -> None:
        self.weights[trainer.state.step] = trainer.module.weight.detach().clone()
        if trainer.state.step in self.steps:
            trainer.module.weight.grad[0, 1] = torch.nan


def test_a_skipped_step_changes_nothing() -> None:
    poison = Poison(3, 4, 9)
    with pytest.warns(DivergenceWarning, match=r"'weight' is not finite at step (4|5|10) .*The step is left out"):
        training = fit(nn.Linear(3, 1), poison, divergence="skip")
    assert (training.state.step, training.state.skipped) == (30, 3)
    unchanged = [step for step in range(29) if torch.equal(poison.weights[step], poison.weights[step + 1])]
    assert unchanged == [3, 4, 9]
    assert training.history.rows[-1]["skipped_steps"] == 3
    assert training.module.weight.isfinite().all()


@pytest.mark.filterwarnings("ignore::neuro_divergent.core.errors.DivergenceWarning")
def test_skipping_comes_to_an_end() -> None:
    with pytest.raises(nd.errors.DivergedError, match=r"'weight' is not finite at step 8 .* in a row: 3"):
        fit(nn.Linear(3, 1), Poison(1, 2, 5, 6, 7), divergence=Divergence(policy="skip", patience=3))


def test_batch_norm_statistics_of_a_skipped_step_are_restored() -> None:
    inputs, targets = line()
    inputs[5, 0] = torch.inf
    module = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 1))
    with pytest.warns(DivergenceWarning, match=r"row \d+ of the batch: inf in the inputs at step"):
        fit(module, data=(inputs, targets), divergence="skip")
    assert all(tensor.isfinite().all() for tensor in module.state_dict().values())


def test_rolling_back_goes_to_the_last_validation_with_a_lower_rate() -> None:
    rates: dict[int, float] = {}

    class Once(nd.callbacks.Callback):
        def __init__(self) -> None:
            self.is_done = False

        def gradients_ready(self, trainer: nd.Trainer) -> None:
            rates[trainer.state.step] = trainer.optimizer.param_groups[0]["lr"]
            if trainer.state.step == 14 and not self.is_done:
                self.is_done = True
                trainer.module.weight.grad[0, 0] = torch.inf

    went_back = []

    class Hear(nd.callbacks.Callback):
        def rolled_back(self, trainer: nd.Trainer) -> None:
            went_back.append((trainer.state.step, trainer.history.rows[-1]["step"]))

    settings = {"validate_every": 5, "schedule": nd.schedules.Constant(), "log_every": 1}
    with pytest.warns(DivergenceWarning, match="Back to step 10 with 0.5 of the learning rate"):
        training = fit(nn.Linear(3, 1), Once(), Hear(), divergence="rollback", **settings)
    assert went_back == [(10, 10)]
    assert training.state.step == 30
    assert rates[9] == pytest.approx(2 * rates[10]) == pytest.approx(2 * rates[29])
    assert [row["step"] for row in training.history.rows] == list(range(1, 31))


@pytest.mark.filterwarnings("ignore::neuro_divergent.core.errors.DivergenceWarning")
def test_rolling_back_comes_to_an_end() -> None:
    divergence = Divergence(policy="rollback", rollbacks=2)
    with pytest.raises(nd.errors.DivergedError, match=r"Going back did not help, 2 times\."):
        fit(nn.Linear(3, 1), Poison(7), divergence=divergence, validate_every=5)


def test_a_weight_that_is_lost_between_steps_is_named() -> None:
    class Spoil(nd.callbacks.Callback):
        def checkpoint_safe(self, trainer: nd.Trainer) -> None:
            if trainer.state.step == 6:
                with torch.no_grad():
                    trainer.module.bias.fill_(torch.nan)

    with pytest.raises(nd.errors.DivergedError, match="weights 'bias' are not finite at step 7"):
        fit(nn.Linear(3, 1), Spoil())


def test_weights_that_are_lost_in_the_last_step_are_not_a_result() -> None:
    class Spoil(nd.callbacks.Callback):
        def step_end(self, trainer: nd.Trainer) -> None:
            if trainer.state.step == 30:
                with torch.no_grad():
                    trainer.module.bias.fill_(torch.nan)

    with pytest.raises(nd.errors.DivergedError, match="after the last step the weights bias are not finite"):
        fit(nn.Linear(3, 1), Spoil())


def test_a_loss_that_is_lost_in_the_network_names_the_row() -> None:
    class Log(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.line = nn.Linear(3, 1)

        def forward(self, inputs: Tensor) -> Tensor:
            return self.line(inputs) + inputs[:, :1].log()

    inputs, targets = line()
    inputs = inputs.abs() + 0.1
    inputs[4, 0] = -1.0
    with pytest.raises(nd.errors.DivergedError, match=r"row 4 of the batch: the loss became nan at step 1\."):
        fit(Log(), data=(inputs, targets), batch_size=len(inputs), shuffle=False)


def test_a_series_is_named() -> None:
    class Spoil(nd.callbacks.Callback):
        def fit_start(self, trainer: nd.Trainer) -> None:
            forward = trainer.module.forward

            def spoiled(batch: nd.models.Batch) -> Tensor:
                assert batch.series is not None
                return forward(batch).masked_fill((batch.series == 1)[:, None, None, None], torch.nan)

            trainer.module.forward = spoiled  # type: ignore[method-assign]

    frame = pl.DataFrame(
        {
            "unique_id": ["good"] * 40 + ["strange"] * 40,
            "ds": [*range(40), *range(40)],
            "y": [float(n % 7) for n in range(80)],
        }
    )
    training = nd.TrainingConfig(max_steps=20, threads=1)
    forecaster = nd.Forecaster("nlinear", horizon=2, input_size=6, validation=0, training=training)
    with pytest.raises(nd.errors.DivergedError, match=r"series 'strange': the loss became nan at step 1\."):
        forecaster.fit(frame, callbacks=[Spoil()])


@pytest.mark.precision("fp16")
def test_fp16_may_overflow_but_not_for_ever() -> None:
    guard = Guard(Divergence())
    for step in range(39):
        guard.overflowed(step)
    with pytest.raises(nd.errors.DivergedError, match="overflowed in 40 steps in a row, up to step 40"):
        guard.overflowed(40)


def test_no_checkpoint_has_numbers_that_are_not_finite(tmp_path: Any) -> None:
    class Spoil(nd.callbacks.Callback):
        def step_end(self, trainer: nd.Trainer) -> None:
            if trainer.state.step == 8:
                with torch.no_grad():
                    trainer.module.bias.fill_(torch.inf)

    checkpoints = nd.callbacks.Checkpointing(directory=tmp_path, every_epochs=None, every_steps=2, keep=9)
    with pytest.raises(nd.errors.DivergedError):
        fit(nn.Linear(3, 1), Spoil(), checkpoints.build())
    assert sorted(int(path.name[5:]) for path in tmp_path.glob("step-*")) == [2, 4, 6]


def test_settings() -> None:
    assert nd.TrainingConfig(divergence="rollback").divergence.policy == "rollback"
    assert nd.TrainingConfig.from_toml(nd.TrainingConfig(divergence="skip").to_toml()).divergence.policy == "skip"
    with pytest.raises(nd.errors.ConfigError, match="'stop', 'skip' or 'rollback'"):
        nd.TrainingConfig(divergence="skipp")
