"""What every scaler must do."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import torch
from scipy import stats

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.batcher import WindowBatcher, fit_series_scaler
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.base import SeriesScaler, WindowScaler
from neuro_divergent.data.scaling.pipeline import ScalingPipeline
from neuro_divergent.data.scaling.series import BoxCoxSeriesScaler
from neuro_divergent.data.schema import Schema

L, H = 12, 4


def panel(values: np.ndarray, mask: np.ndarray | None = None) -> Panel:
    count, length = values.shape
    return Panel(
        schema=Schema(),
        ids=pl.Series([f"s{index}" for index in range(count)]),
        starts=pl.Series([0] * count),
        frequency=Frequency(1, ""),
        offsets=np.arange(count + 1) * length,
        y=values.astype(np.float32).reshape(-1),
        mask=None if mask is None else mask.reshape(-1),
    )


def positive_values(count: int = 3, length: int = 40) -> np.ndarray:
    return np.random.default_rng(0).gamma(4.0, 25.0, (count, length)) * np.array([[1.0], [1000.0], [0.01]])[:count]


@pytest.mark.parametrize("name", WindowScaler.registry.names())
class TestWindowScaler:
    def test_is_inverted_exactly(self, name: str) -> None:
        data = panel(positive_values())
        batcher = WindowBatcher(data, L, H, WindowScaler.from_dict(name))
        batch = batcher.windows(np.array([0, 1, 2]), data.offsets[:-1] + 5)
        expected = torch.from_numpy(np.stack([data.series(index)[5 + L : 5 + L + H] for index in range(3)]))
        assert torch.allclose(batcher.restore(batch.future_y, batch).squeeze(-1), expected, rtol=1e-5)

    def test_statistics_do_not_depend_on_the_target(self, name: str) -> None:
        values = positive_values()
        changed = values.copy()
        changed[:, 5 + L :] *= 100
        first, second = (
            WindowBatcher(panel(array), L, H, WindowScaler.from_dict(name)).windows(np.array([1]), np.array([40 + 5]))
            for array in (values, changed)
        )
        assert torch.equal(first.past_y, second.past_y)
        assert torch.equal(first.scale, second.scale)

    def test_masked_values_do_not_change_statistics(self, name: str) -> None:
        values, mask = positive_values(), np.ones((3, 40), dtype=bool)
        mask[:, 7:10] = False
        changed = values.copy()
        changed[~mask] = 1e6
        first, second = (
            WindowBatcher(panel(array, mask), L, H, WindowScaler.from_dict(name)).windows(
                np.array([0, 1]), np.array([5, 45])
            )
            for array in (values, changed)
        )
        for one, other in zip(first, second, strict=True):
            assert (one is None and other is None) or torch.equal(one, other)
        assert (first.past_y[:, 2:5] == 0).all()

    def test_masked_statistics_are_those_of_what_is_left(self, name: str) -> None:
        past = torch.from_numpy(positive_values(1, 12)).reshape(1, 12, 1)
        mask = torch.ones_like(past)
        mask[:, 9:] = 0
        scaler = WindowScaler.from_dict(name)
        for masked, plain in zip(scaler.statistics(past, mask), scaler.statistics(past[:, :9], None), strict=True):
            assert torch.allclose(masked, plain)

    @pytest.mark.parametrize("level", [0.0, 1.0, -5.0, 1e6, 1e-6])
    def test_a_constant_window_stays_finite(self, name: str, level: float) -> None:
        batcher = WindowBatcher(panel(np.full((1, 40), level)), L, H, WindowScaler.from_dict(name))
        batch = batcher.windows(np.array([0]), np.array([3]))
        assert torch.isfinite(batch.past_y).all()
        assert (batch.scale > 0).all()
        assert torch.allclose(batcher.restore(batch.past_y, batch), torch.full((1, L, 1), level))

    @pytest.mark.parametrize("spread", [None, torch.full((2, 1, 1), 3.0)])
    def test_nothing_observed_gives_usable_numbers(self, name: str, spread: torch.Tensor | None) -> None:
        pipeline = ScalingPipeline(WindowScaler.from_dict(name))
        scaled = pipeline.transform(torch.zeros(2, L, 1), torch.zeros(2, L, 1), None, L, spread)
        assert torch.isfinite(scaled.loc).all()
        assert (scaled.scale > 0).all()
        assert torch.isfinite(scaled.values).all()


@pytest.mark.parametrize("name", SeriesScaler.registry.names())
class TestSeriesScaler:
    def test_is_inverted_exactly(self, name: str) -> None:
        data = panel(positive_values())
        scaler = SeriesScaler.from_dict(name)
        fitted = fit_series_scaler(scaler, data, data.offsets[1:])
        batcher = WindowBatcher(data, L, H, WindowScaler.from_dict("standard"), scaler, fitted)
        batch = batcher.windows(np.array([2, 0]), np.array([83, 4]))
        expected = torch.from_numpy(np.stack([data.series(2)[3 + L : 3 + L + H], data.series(0)[4 + L : 4 + L + H]]))
        assert torch.allclose(batcher.restore(batch.future_y, batch).squeeze(-1), expected, rtol=1e-3)
        quantiles = batcher.restore(batch.future_y.unsqueeze(-1).expand(-1, -1, -1, 3), batch)
        assert torch.allclose(quantiles[..., 2].squeeze(-1), expected, rtol=1e-3)

    def test_is_fitted_on_the_training_part_alone(self, name: str) -> None:
        values = positive_values()
        changed = values.copy()
        changed[:, 30:] *= 50
        ends = np.arange(3) * 40 + 30
        scaler = SeriesScaler.from_dict(name)
        assert np.array_equal(
            fit_series_scaler(scaler, panel(values), ends), fit_series_scaler(scaler, panel(changed), ends)
        )

    def test_a_constant_series_stays_finite(self, name: str) -> None:
        data = panel(np.full((1, 40), 5.0))
        scaler = SeriesScaler.from_dict(name)
        batcher = WindowBatcher(
            data, L, H, WindowScaler.from_dict("identity"), scaler, fit_series_scaler(scaler, data, data.offsets[1:])
        )
        assert torch.isfinite(batcher.windows(np.array([0]), np.array([0])).past_y).all()

    def test_values_outside_its_domain_are_refused_with_the_series(self, name: str) -> None:
        values = positive_values()
        values[1, 20] = -3.0
        scaler, data = SeriesScaler.from_dict(name), panel(values)
        if scaler.lowest == float("-inf"):
            assert np.isfinite(fit_series_scaler(scaler, data, data.offsets[1:])).all()
            return
        with pytest.raises(DataError, match="series 's1': value -3"):
            fit_series_scaler(scaler, data, data.offsets[1:])


def test_box_cox_power_is_scipys() -> None:
    values = np.random.default_rng(1).lognormal(3.0, 0.5, 400)
    _, power = stats.boxcox(values)
    assert BoxCoxSeriesScaler().fit(values)[0] == pytest.approx(power, abs=0.03)


@pytest.mark.parametrize("level", [1e-30, 1e-3, 1.0, 1e6, 1e16])
def test_box_cox_stays_within_what_can_be_squared(level: float) -> None:
    values = level * (1 + 0.1 * np.sin(np.arange(50)))
    scaler = BoxCoxSeriesScaler()
    power = torch.tensor(scaler.fit(values), dtype=torch.float32)
    scaled = scaler.transform(torch.tensor(values, dtype=torch.float32), power)
    assert scaled.square().sum().isfinite()


@pytest.mark.parametrize("name", SeriesScaler.registry.names())
def test_an_absurd_forecast_is_still_a_number(name: str) -> None:
    scaler = SeriesScaler.registry.get(name)()
    for values in (np.array([1.0, 2.0, 4.0]), np.array([1e-3, 5.0, 1e4]), np.array([5.0, 5.0, 5.0])):
        fitted = torch.tensor(scaler.fit(values), dtype=torch.float32)
        restored = scaler.inverse(torch.tensor([-1e9, -90.0, 0.0, 90.0, 1e9]), fitted)
        assert restored.isfinite().all()
