"""Every architecture can be trained with every setting, and every loss, optimizer and schedule through a forecaster."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.forecasting.validation import LEAST_WINDOWS, denser
from neuro_divergent.losses.base import Loss
from neuro_divergent.models.base import Architecture
from neuro_divergent.training.optimizers.base import Optimizer
from neuro_divergent.training.schedules.base import Schedule
from tests.contracts.test_architectures import small

H, L = 4, 12


def series(num_series: int = 2, length: int = 80) -> pl.DataFrame:
    """Return waves with some missing values and an importance for each row."""
    time = np.arange(length)
    random = np.random.default_rng(0)
    return pl.concat(
        pl.DataFrame(
            {
                "unique_id": f"s{index}",
                "ds": time,
                "y": 20 * (index + 1) + 3 * np.sin(time / 2) + random.normal(0, 0.1, length),
                "importance": random.random(length),
            }
        ).with_columns(y=pl.when(pl.col("ds") % 17 == 5).then(None).otherwise(pl.col("y")))
        for index in range(num_series)
    )


def fit(model: Any, *, loss: Any = "mae", scaler: str = "standard", **training: Any) -> nd.Forecaster:
    settings = nd.TrainingConfig(**{"max_steps": 6, "batch_size": 16, "threads": 1, **training})
    task = {"horizon": H, "input_size": L, "loss": loss, "scaler": scaler, "refit": False}
    forecaster = nd.Forecaster(model, training=settings, **task)
    return forecaster.fit(series(), missing="mask", weight="importance")


def assert_finite(forecaster: nd.Forecaster) -> None:
    table = forecaster.predict()
    assert table.height == 2 * H
    assert table["forecast"].is_finite().all()
    assert forecaster.history["train_loss"].is_finite().all()


@pytest.mark.parametrize("name", Architecture.registry.names())
def test_an_architecture_trains_with_everything_at_once(name: str) -> None:
    forecaster = fit(
        small(name),
        accumulate=2,
        average="ema",
        augment=("jitter", "scale", "time_warp", "mixup", "window_slice", "mask"),
        curriculum="horizon",
        gradient_noise=nd.training.GradientNoise(eta=1e-4),
        gradient_sum="float64",
        l1=1e-5,
        l2=1e-5,
        metrics=("rmse", "smape", "mase"),
        recompute="auto",
        schedule="auto",
        callbacks=("log",),
    )
    assert_finite(forecaster)
    measured = {"validation_rmse", "validation_smape", "validation_mase", "validation_mae"}
    assert measured <= set(forecaster.history.columns)


@pytest.mark.parametrize("name", Loss.registry.names())
def test_a_loss_trains_a_forecaster(name: str) -> None:
    if not Loss.from_dict(name).traits.accepts_scaled:
        classes = series().with_columns(y=(pl.col("ds") % 2).cast(pl.Float64))
        training = nd.TrainingConfig(max_steps=6, threads=1)
        forecaster = nd.Forecaster("mlp", horizon=H, input_size=L, loss=name, scaler="identity", training=training)
        assert_finite(forecaster.fit(classes))
        return
    if name in ("bernoulli", "beta"):  # of what lies between 0 and 1
        halves = series().with_columns(y=(pl.col("ds") % 2).cast(pl.Float64))
        training = nd.TrainingConfig(max_steps=6, threads=1)
        assert_finite(nd.Forecaster("nlinear", horizon=H, input_size=L, loss=name, training=training).fit(halves))
        return
    assert_finite(fit("nlinear", loss=name))


@pytest.mark.parametrize("name", Optimizer.registry.names())
def test_an_optimizer_trains_a_forecaster(name: str) -> None:
    assert_finite(fit(nd.MLP(hidden_size=8), optimizer=name, freeze=nd.training.Freeze("layers.0.*", until=1)))


@pytest.mark.parametrize("name", [name for name in Schedule.registry.names() if name != "function"])
def test_a_schedule_trains_a_forecaster(name: str) -> None:
    assert_finite(fit("nlinear", schedule=name))


@pytest.mark.parametrize(
    "optimizer", ["adamw", *(pytest.param(name, marks=pytest.mark.long) for name in ("sgd", "nadam"))]
)
@pytest.mark.parametrize("name", Architecture.registry.names())
def test_validations_and_forecasts_see_the_weights_of_now(name: str, optimizer: str) -> None:
    """Nothing that was worked out from earlier weights may be used: fused optimizers change weights unseen by torch."""
    forecaster = fit(
        small(name), optimizer={"name": optimizer, "lr": 0.05}, max_steps=45, validate_every=15, early_stopping=None
    )
    assert forecaster.split is not None
    windows = denser(forecaster.split.validation, LEAST_WINDOWS)
    seen = forecaster.forecast_windows(windows)
    network = forecaster.fitted.predictor.network
    fresh = small(name).build(forecaster.fitted.spec).eval()
    fresh.load_state_dict(network.state_dict())
    batcher = forecaster.fitted.batcher(forecaster.split.validation.panel)
    batch = batcher.windows(*windows.locate(np.arange(len(windows))))
    with torch.inference_mode():
        expected = batcher.restore(forecaster.task.loss.forecast(fresh(batch)).point, batch)
    point = expected.transpose(1, 2).flatten(0, 1).numpy()
    assert seen.point == pytest.approx(point, rel=1e-4, abs=1e-3)
    error = np.abs(seen.point - seen.actual)[seen.observed].mean()
    assert forecaster.history["validation_mae"].drop_nulls()[-1] == pytest.approx(error, rel=1e-4)
