"""What scalers measure, against numpy, and the way from the data to a batch and back."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
import torch
from scipy.stats import norm

from neuro_divergent.core.spec import Feature
from neuro_divergent.data.batcher import WindowBatcher, fit_series_scaler
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.base import SeriesScaler, WindowScaler
from neuro_divergent.data.scaling.covariates import CovariateScaling
from neuro_divergent.data.schema import Schema

HISTORY, HORIZON, LENGTH = 8, 3, 30
VALUES = np.random.default_rng(0).gamma(3.0, size=(2, LENGTH)) * np.array([[1.0], [40.0]])
SEEN = np.random.default_rng(1).random((2, LENGTH)) > 0.3
BETWEEN_QUARTILES = norm.ppf(0.75) - norm.ppf(0.25)  # of a standard normal distribution


def measured(name: str, values: np.ndarray) -> tuple[float, float]:
    """Return shift and spread of values, as the docstrings of the scalers say them."""
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    known = {
        "identity": (0.0, 1.0),
        "standard": (values.mean(), values.std()),
        "revin": (values.mean(), values.std()),
        "robust": (median, (high - low) / BETWEEN_QUARTILES),
        "minmax": (values.min(), np.ptp(values)),
        "mean_abs": (0.0, np.abs(values).mean()),
    }
    return known[name]


def panel(masked: bool = False) -> Panel:
    return Panel(
        schema=Schema(),
        ids=pl.Series(["a", "b"]),
        starts=pl.Series([0, 0]),
        frequency=Frequency(1, ""),
        offsets=np.array([0, LENGTH, 2 * LENGTH]),
        y=np.where(SEEN, VALUES, 0).astype(np.float32).reshape(-1) if masked else VALUES.astype(np.float32).reshape(-1),
        mask=SEEN.reshape(-1) if masked else None,
    )


@pytest.mark.parametrize("name", WindowScaler.registry.names())
@pytest.mark.parametrize("masked", [False, True])
def test_window_scaler_measures_what_was_observed_in_the_history(name: str, masked: bool) -> None:
    batch = WindowBatcher(panel(masked), HISTORY, HORIZON, WindowScaler.from_dict(name)).windows(
        np.array([0, 1, 1]), np.array([4, LENGTH, LENGTH + 9])
    )
    assert batch.loc is not None
    assert batch.scale is not None
    for place, (series, row) in enumerate(((0, 4), (1, 0), (1, 9))):
        history = VALUES[series, row : row + HISTORY]
        seen = SEEN[series, row : row + HISTORY] if masked else np.ones(HISTORY, bool)
        shift, spread = measured(name, history[seen])
        assert batch.loc[place].item() == pytest.approx(shift, rel=1e-4)
        assert batch.scale[place].item() == pytest.approx(spread, rel=1e-4)
        scaled = (history - shift) / spread if WindowScaler.from_dict(name).applied else history
        np.testing.assert_allclose(batch.past_y[place, :, 0], np.where(seen, scaled, 0), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["standard", "robust", "minmax"])
def test_series_scaler_measures_the_training_part(name: str) -> None:
    fitted = fit_series_scaler(SeriesScaler.from_dict(name), panel(), np.array([20, LENGTH + 25]))
    np.testing.assert_allclose(fitted[0], measured(name, VALUES[0, :20]), rtol=1e-4)
    np.testing.assert_allclose(fitted[1], measured(name, VALUES[1, :25]), rtol=1e-4)


@pytest.mark.parametrize(
    ("window", "series", "joint"),
    [*product(WindowScaler.registry.names(), [None, *SeriesScaler.registry.names()], [False, True])],
)
def test_batches_are_restored_to_the_data_and_rescaled_from_it(window: str, series: str | None, joint: bool) -> None:
    data, scaler = panel(), None if series is None else SeriesScaler.from_dict(series)
    fitted = None if scaler is None else fit_series_scaler(scaler, data, data.offsets[1:])
    batcher = WindowBatcher(data, HISTORY, HORIZON, WindowScaler.from_dict(window), scaler, fitted, joint=joint)
    batch = batcher.windows(
        *((np.array([0]), np.array([5])) if joint else (np.array([0, 1]), np.array([5, LENGTH + 2])))
    )
    begins = ((0, 5), (1, 5)) if joint else ((0, 5), (1, 2))
    target = torch.tensor(
        np.stack([VALUES[index, row + HISTORY : row + HISTORY + HORIZON] for index, row in begins]), dtype=torch.float32
    )
    target = target.T[None] if joint else target[..., None]
    assert batch.future_y is not None
    torch.testing.assert_close(batcher.restore(batch.future_y, batch), target, rtol=1e-3, atol=1e-3)
    outputs = batch.future_y[..., None].expand(*batch.future_y.shape, 2)
    torch.testing.assert_close(batcher.restore(outputs, batch)[..., 1], target, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(batcher.rescale(target, batch), batch.future_y, rtol=1e-3, atol=1e-3)
    if scaler is not None and not scaler.affine:
        assert batch.unit_loc is None
    elif batch.unit_loc is not None and batch.unit_scale is not None:
        units = batch.unit_loc + batch.unit_scale * batch.future_y
        torch.testing.assert_close(units, target, rtol=1e-3, atol=1e-3)
    else:
        assert scaler is None
        assert not WindowScaler.from_dict(window).applied


def test_targets_are_weighed_by_their_own_rows() -> None:
    weight = np.arange(2 * LENGTH, dtype=np.float32)
    batcher = WindowBatcher(panel(), HISTORY, HORIZON, WindowScaler.from_dict("identity"), weight=weight)
    found = batcher.windows(np.array([0, 1]), np.array([3, LENGTH + 6])).weight
    assert found is not None
    expected = [[row + HISTORY + step for step in range(HORIZON)] for row in (3, LENGTH + 6)]
    assert found[..., 0].tolist() == expected


def test_covariates_are_standardised_by_their_training_part_and_codes_stay_codes() -> None:
    random = np.random.default_rng(2)
    columns = np.stack(
        [random.normal(5, 3, 2 * LENGTH), random.integers(0, 4, 2 * LENGTH), np.full(2 * LENGTH, 7.0)], 1
    )
    features = (Feature("number"), Feature("code", cardinality=4), Feature("constant"))
    static = np.array([[1.0], [4.0]], dtype=np.float32)
    data = Panel(
        **{
            **vars(panel()),
            "past_x": columns.astype(np.float32),
            "past": features,
            "static_x": static,
            "static": (Feature("size"),),
        }
    )
    scaling = CovariateScaling.fit(data, np.array([20, LENGTH + 25]))
    trained = np.concatenate([columns[:20, 0], columns[LENGTH : LENGTH + 25, 0]])
    assert scaling.past is not None
    assert scaling.static is not None
    np.testing.assert_allclose(scaling.past, [[trained.mean(), 0, 7], [trained.std(), 1, 1]], rtol=1e-4)
    np.testing.assert_allclose(scaling.static, [[2.5], [1.5]])
    batcher = WindowBatcher(data, HISTORY, HORIZON, WindowScaler.from_dict("identity"), covariates=scaling)
    batch = batcher.windows(np.array([1]), np.array([LENGTH + 4]))
    assert batch.past_x is not None
    assert batch.static_x is not None
    rows = columns[LENGTH + 4 : LENGTH + 4 + HISTORY]
    np.testing.assert_allclose(
        batch.past_x[0, :, 0], (rows[:, 0] - trained.mean()) / trained.std(), rtol=1e-3, atol=1e-4
    )
    np.testing.assert_array_equal(batch.past_x[0, :, 1], rows[:, 1])
    assert batch.static_x[0, 0] == 1.0
