"""Learning from series by filling in what is hidden, before learning to forecast them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, DataError, UntrustedFileError
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.splits import split_by_time
from neuro_divergent.forecasting.pretrain import Pretrained
from neuro_divergent.losses.point import MSE
from neuro_divergent.models.patchtst import PatchTST
from neuro_divergent.training.callbacks.base import Callback
from neuro_divergent.training.callbacks.checkpointing import Checkpointing
from neuro_divergent.training.engine import Trainer
from neuro_divergent.training.objective import Example, Objective

SMALL = PatchTST(patch_length=4, stride=4, hidden_size=8, num_heads=2, num_layers=1, feedforward_size=16)


def waves(num_series: int, length: int, seed: int = 0) -> pl.DataFrame:
    """Return series that rise fast and fall slowly, each in a rhythm of its own."""
    random, time = np.random.default_rng(seed), np.arange(length)
    frames = []
    for index in range(num_series):
        phase = (time / random.uniform(6, 14) + random.uniform()) % 1
        values = np.where(phase < 0.3, phase / 0.3, (1 - phase) / 0.7) + random.normal(0, 0.02, length)
        frames.append(pl.DataFrame({"unique_id": f"s{index}", "ds": time, "y": values}))
    return pl.concat(frames)


def forecaster(architecture: Any = SMALL, *, steps: int = 6, **settings: Any) -> nd.Forecaster:
    names = {"horizon", "input_size", "scaler", "validation", "loss", "joint"}
    task = {key: settings.pop(key) for key in names & set(settings)}
    training = nd.TrainingConfig(max_steps=steps, **{"threads": 1, "batch_size": 16, **settings})
    return nd.Forecaster(architecture, training=training, **{"horizon": 4, "input_size": 16, **task})


DATA = waves(4, 60)


@pytest.fixture(scope="module")
def pretrained() -> Pretrained:
    return forecaster().pretrain(DATA)


class Start(Callback):
    """Remembers the weights before the first step."""

    def fit_start(self, trainer: Trainer) -> None:
        self.weights = {key: value.clone() for key, value in trainer.module.state_dict().items()}


@pytest.mark.parametrize("scaler", ["standard", "revin", "identity"])
@pytest.mark.parametrize("joint", [False, True])
def test_forecasting_starts_from_the_weights_that_were_learned(scaler: str, joint: bool) -> None:
    model = forecaster(scaler=scaler, joint=joint)
    learned, fresh, start = model.pretrain(DATA), Start(), Start()
    model.fit(DATA, callbacks=[fresh])
    model.fit(DATA, callbacks=[start], initial=learned)
    assert set(start.weights) - set(learned.weights) == {key for key in fresh.weights if "head." in key}
    assert all(torch.equal(start.weights[key], value) for key, value in learned.weights.items())
    assert all(torch.equal(start.weights[key], fresh.weights[key]) for key in set(fresh.weights) - set(learned.weights))
    changed = [key for key, value in learned.weights.items() if not torch.equal(fresh.weights[key], value)]
    assert {key.removeprefix("network.") for key in changed} >= {"encoder.position", "encoder.embedding.weight"}
    assert any(key.endswith("running_mean") for key in changed)


def test_frozen_encoder_keeps_pretrained_weights_and_serves_another_horizon(pretrained: Pretrained) -> None:
    model = forecaster(horizon=7, freeze=nd.training.Freeze("encoder.*")).fit(DATA, initial=pretrained)
    weights = model.fitted.predictor.network.state_dict()
    assert all(torch.equal(weights[key], value) for key, value in pretrained.weights.items())
    assert model.predict().height == 4 * 7


def test_only_hidden_values_are_learned_from() -> None:
    """Changing targets that can be seen changes neither the loss nor its gradient; changing hidden ones does."""
    made = SMALL.replace(norm="layer", dropout=0.0).reconstruction(nd.models.TaskSpec(4, 16))
    values, mask = torch.randn(5, 16, 1), torch.ones(5, 16, 1)
    mask[:, 4:8] = 0

    def learn(target: torch.Tensor) -> list[torch.Tensor]:
        batch = Batch(values * mask, mask, future_y=target, future_mask=1 - mask)
        made.network.zero_grad()
        loss = Objective(MSE()).mean(made.network(batch), Example.of(batch))
        loss.backward()
        return [loss.detach(), *(value.grad.clone() for value in made.network.parameters() if value.grad is not None)]

    expected = learn(values)
    assert len(expected) == 1 + len(list(made.network.parameters()))
    same, other = learn(values + 9 * mask), learn(values + 9 * (1 - mask))
    assert all(torch.equal(one, two) for one, two in zip(expected, same, strict=True))
    assert not any(torch.allclose(one, two) for one, two in zip(expected[:1], other[:1], strict=True))
    by_hand = (made.network(Batch(values * mask, mask))[:, 4:8, :, 0] - values[:, 4:8]).square().mean()
    torch.testing.assert_close(expected[0], by_hand.detach())


def test_the_same_seed_learns_the_same_and_another_does_not(pretrained: Pretrained) -> None:
    same, other = forecaster().pretrain(DATA), forecaster(seed=2).pretrain(DATA)
    assert all(torch.equal(same.weights[key], value) for key, value in pretrained.weights.items())
    assert not all(torch.equal(other.weights[key], value) for key, value in pretrained.weights.items())
    hidden_less = forecaster().pretrain(DATA, mask_fraction=0.2)
    assert not all(torch.equal(hidden_less.weights[key], value) for key, value in pretrained.weights.items())


def test_the_validation_part_is_not_learned_from(pretrained: Pretrained) -> None:
    held_out = pl.col("ds") >= 48
    changed = DATA.with_columns(y=pl.when(held_out).then(pl.col("y") * -3 + 5).otherwise(pl.col("y")))
    # Where training ends would depend on the validation loss.
    one, other = (forecaster(early_stopping=None).pretrain(frame) for frame in (DATA, changed))
    assert all(torch.equal(other.weights[key], value) for key, value in one.weights.items())
    losses = [item.history["validation_loss"][-1] for item in (one, other)]
    assert losses[0] != losses[1]


def test_resumed_pretraining_gives_identical_weights(pretrained: Pretrained, tmp_path: Path) -> None:
    model = forecaster(schedule="constant")
    whole = model.pretrain(DATA)
    keeper = Checkpointing(every_steps=1, directory=str(tmp_path)).build()
    forecaster(schedule="constant", steps=3).pretrain(DATA, callbacks=[keeper])
    again = model.pretrain(DATA, resume=tmp_path, callbacks=[Checkpointing(directory=str(tmp_path)).build()])
    assert all(torch.equal(again.weights[key], value) for key, value in whole.weights.items())


def test_a_run_that_was_killed_early_is_resumed_from_the_weights_it_started_with(
    pretrained: Pretrained, tmp_path: Path
) -> None:
    table = tmp_path / "data.parquet"
    DATA.write_parquet(table)
    expected = forecaster().fit(table, initial=pretrained).fitted.predictor.network.state_dict()
    pretrained.save(tmp_path / "pretrained")
    forecaster().fit(table, initial=tmp_path / "pretrained", run=tmp_path / "run")
    shutil.rmtree(tmp_path / "pretrained")
    for name in ("checkpoints", "model"):
        shutil.rmtree(tmp_path / "run" / name)
    resumed = nd.Forecaster.resume(tmp_path / "run").fitted.predictor.network.state_dict()
    assert all(torch.equal(resumed[key], value) for key, value in expected.items())


def test_what_was_learned_is_saved_and_loaded_exactly(pretrained: Pretrained, tmp_path: Path) -> None:
    pretrained.save(tmp_path / "pretrained")
    loaded = Pretrained.load(tmp_path / "pretrained")
    assert loaded.architecture == SMALL
    assert set(loaded.weights) == set(pretrained.weights)
    assert all(torch.equal(loaded.weights[key], value) for key, value in pretrained.weights.items())
    tensors = tmp_path / "pretrained" / "pretrained.safetensors"
    content = bytearray(tensors.read_bytes())
    content[-1] ^= 1
    tensors.write_bytes(content)
    with pytest.raises(UntrustedFileError, match=r"pretrained\.safetensors"):
        Pretrained.load(tmp_path / "pretrained")
    forecaster(steps=1).fit(DATA).save(tmp_path / "model")
    with pytest.raises(UntrustedFileError, match="does not hold pre-trained weights"):
        Pretrained.load(tmp_path / "model")


@pytest.mark.long
def test_pre_training_helps_where_there_is_little_to_learn_to_forecast_from() -> None:
    architecture = PatchTST(
        patch_length=4,
        stride=4,
        hidden_size=32,
        num_heads=4,
        num_layers=2,
        feedforward_size=64,
        dropout=0.0,
        norm="layer",
    )
    task = {"horizon": 8, "input_size": 32, "validation": 0, "loss": "mse", "batch_size": 64}
    slow = nd.TrainingConfig(max_steps=500, threads=1, batch_size=64, optimizer=nd.AdamW(lr=3e-3))
    model = forecaster(architecture, steps=150, **task)
    learned = model.pretrain(waves(100, 120), training=slow)
    others = split_by_time(load_panel(waves(40, 60, seed=9), Schema()), input_size=32, horizon=8, validation=0).train
    errors = []
    for start in (None, learned):
        forecasts = model.fit(waves(10, 48, seed=5), initial=start).forecast_windows(others)
        errors.append(np.square(forecasts.point - forecasts.actual).mean())
    assert learned.history["train_loss"][-1] < 0.8
    assert errors[1] < 0.9 * errors[0]


def test_an_architecture_that_cannot_fill_in_is_refused() -> None:
    with pytest.raises(ConfigError, match="nlinear cannot be pre-trained by masking"):
        forecaster("nlinear").pretrain(DATA)


def test_overlapping_patches_are_refused() -> None:
    with pytest.raises(ConfigError, match="do not overlap"):
        forecaster("patchtst").pretrain(DATA)


def test_covariates_that_the_network_cannot_use_are_refused() -> None:
    with pytest.raises(ConfigError, match="patchtst cannot use past covariates"):
        forecaster().pretrain(DATA.with_columns(price=pl.col("y")), past=["price"])


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_mask_fraction_of_zero_or_one_is_refused(share: float) -> None:
    with pytest.raises(ConfigError, match=r"mask_fraction: .* must be above 0 and below 1"):
        forecaster().pretrain(DATA, mask_fraction=share)


@pytest.mark.parametrize("setting", [{"freeze": nd.training.Freeze("encoder.*")}, {"augment": "time_warp"}])
def test_settings_for_forecasts_are_left_out_or_refused(setting: dict[str, Any], pretrained: Pretrained) -> None:
    left_out = forecaster(**setting).pretrain(DATA)
    assert all(torch.equal(left_out.weights[key], value) for key, value in pretrained.weights.items())
    with pytest.raises(ConfigError, match="leave them out to pre-train"):
        forecaster().pretrain(DATA, training=nd.TrainingConfig(**setting))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architecture": SMALL.replace(num_heads=4)}, "num_heads: 2 before, 4 now"),
        ({"architecture": "nlinear"}, "name: 'patchtst' before, 'nlinear' now"),
        ({"input_size": 24}, r"'encoder.position' is \(5, 8\), the network has \(7, 8\)"),
        ({"scaler": "revin"}, "the network has nothing of that name"),
    ],
)
def test_pretrained_weights_of_another_network_are_refused(
    pretrained: Pretrained, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        forecaster(**changes).fit(DATA, initial=pretrained)


def test_another_dropout_is_fine(pretrained: Pretrained) -> None:
    forecaster(SMALL.replace(dropout=0.4), steps=1).fit(DATA, initial=pretrained)


def test_series_that_are_too_short_are_refused() -> None:
    with pytest.raises(DataError):
        forecaster().pretrain(waves(2, 12))
