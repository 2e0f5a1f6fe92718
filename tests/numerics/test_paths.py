"""Paths against a process whose future is known in closed form: each value is 0.9 of the one before, plus noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from numpy.typing import NDArray

import neuro_divergent as nd
from neuro_divergent.forecasting.uncertainty.paths import forecast_from
from neuro_divergent.forecasting.uncertainty.requested import interval_quantiles
from neuro_divergent.losses.distribution.normal import Normal

SERIES, LENGTH, HORIZON, PHI = 30, 400, 8, 0.9
STEPS = np.arange(1, HORIZON + 1)
SPREAD = np.sqrt((1 - PHI ** (2 * STEPS)) / (1 - PHI**2))  # of each step, given the last value
SPREAD_OF_SUM = np.sqrt((((1 - PHI**STEPS) / (1 - PHI)) ** 2).sum())


def process() -> pl.DataFrame:
    noise = np.random.default_rng(0).standard_normal((SERIES, LENGTH))
    values = np.zeros_like(noise)
    for step in range(1, LENGTH):
        values[:, step] = PHI * values[:, step - 1] + noise[:, step]
    names, times = np.repeat(np.arange(SERIES), LENGTH), np.tile(np.arange(LENGTH), SERIES)
    return pl.DataFrame({"unique_id": names, "ds": times, "y": values.reshape(-1)})


def fit(architecture: Any, steps: int) -> nd.Forecaster:
    training = nd.TrainingConfig(max_steps=steps, optimizer=nd.AdamW(lr=5e-3), threads=1)
    # The level of a window tells where the process goes, so it is not taken out.
    task = {"horizon": HORIZON, "input_size": 16, "validation": 0.2, "test": 0.2, "scaler": "identity"}
    return nd.Forecaster(architecture, loss=Normal(), training=training, **task).fit(process())


@pytest.fixture(scope="module")
def direct() -> nd.Forecaster:
    return fit(nd.MLP(hidden_size=16), 400)


@pytest.fixture(scope="module")
def deepar() -> nd.Forecaster:
    return fit(nd.DeepAR(hidden_size=16, num_layers=1), 400)


def paths_of(model: nd.Forecaster, **settings: Any) -> NDArray[Any]:
    values = model.simulate(1000, **settings)["value"].to_numpy()
    return values.reshape(1000, SERIES, HORIZON)


def correlation(paths: NDArray[Any]) -> NDArray[Any]:
    """Return the mean over series of the correlation between steps."""
    standard = (paths - paths.mean(0)) / paths.std(0)
    result: NDArray[Any] = np.einsum("psh,psg->hg", standard, standard) / (len(paths) * SERIES)
    return result


def expected_correlation() -> NDArray[Any]:
    early, late = np.minimum.outer(STEPS, STEPS), np.maximum.outer(STEPS, STEPS)
    result: NDArray[Any] = PHI ** (late - early) * SPREAD[early - 1] / SPREAD[late - 1]
    return result


@pytest.mark.parametrize("dependence", ["copula", "schaake"])
def test_sums_of_direct_paths_vary_as_much_as_sums_of_the_process(direct: nd.Forecaster, dependence: str) -> None:
    together = paths_of(direct, dependence=dependence).sum(2).std(0).mean()
    apart = paths_of(direct, dependence="independent").sum(2).std(0).mean()
    assert together == pytest.approx(SPREAD_OF_SUM, rel=0.2)
    assert apart < 0.6 * SPREAD_OF_SUM


@pytest.mark.parametrize("dependence", ["copula", "schaake"])
def test_steps_of_direct_paths_go_together_as_in_the_process(direct: nd.Forecaster, dependence: str) -> None:
    found = correlation(paths_of(direct, dependence=dependence))
    np.testing.assert_allclose(found, expected_correlation(), atol=0.1)
    apart = correlation(paths_of(direct, dependence="independent"))
    assert np.abs(apart - np.eye(HORIZON)).max() < 0.05


def test_paths_of_deepar_are_those_of_the_process(deepar: nd.Forecaster) -> None:
    paths = paths_of(deepar)
    np.testing.assert_allclose(paths.std(0).mean(0), SPREAD, rtol=0.2)
    np.testing.assert_allclose(correlation(paths), expected_correlation(), atol=0.1)
    assert paths.sum(2).std(0).mean() == pytest.approx(SPREAD_OF_SUM, rel=0.2)


def test_intervals_of_deepar_cover_and_those_given_the_mean_before_do_not(deepar: nd.Forecaster) -> None:
    assert deepar.split is not None
    windows = deepar.split.test
    found = deepar.forecast_windows(windows, levels=[80])
    covered = ((found.lower[80] <= found.actual) & (found.actual <= found.upper[80])).mean(0)
    assert covered == pytest.approx(0.8, abs=0.08)
    batcher = deepar.fitted.batcher(windows.panel)
    batch = batcher.windows(*windows.locate(np.arange(len(windows))))
    with torch.inference_mode():
        raw = forecast_from(deepar.fitted.predictor.network, batch)
        given_mean = deepar.task.loss.forecast(raw, interval_quantiles(80), batch).quantiles
    assert given_mean is not None
    low, high = batcher.restore(given_mean, batch).squeeze(2).unbind(-1)
    narrow = ((low.numpy() <= found.actual) & (found.actual <= high.numpy())).mean(0)
    assert narrow[0] == pytest.approx(covered[0], abs=0.02)
    assert narrow[-1] < 0.6
    widths = (found.upper[80] - found.lower[80]).mean(0)
    assert widths[-1] / widths[0] == pytest.approx(SPREAD[-1] / SPREAD[0], rel=0.2)


def test_the_loss_of_validation_is_that_of_training(deepar: nd.Forecaster) -> None:
    """Both are of a step given the steps before; measured along the mean path, validation would cost far more."""
    last = deepar.history.drop_nulls().row(-1, named=True)
    assert last["validation_loss"] == pytest.approx(last["train_loss"], abs=0.1)
    exact = 0.5 * np.log(2 * np.pi * np.e)
    assert last["validation_loss"] == pytest.approx(exact, abs=0.15)
    assert last["validation_mae"] > 1.2 * np.sqrt(2 / np.pi)  # of forecasts, not of single steps
