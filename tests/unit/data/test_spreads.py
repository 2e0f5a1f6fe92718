"""The usual scale of windows, and what it does for windows whose history tells none."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import neuro_divergent as nd
from neuro_divergent.core.arrays import Floats
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.lengths import check_lengths
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.base import WindowScaler
from neuro_divergent.data.scaling.pipeline import SMALLEST_PART, bounded_scale
from neuro_divergent.data.scaling.spreads import Spreads
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.splits import split_by_time
from neuro_divergent.forecasting.network_training import NetworkTraining
from neuro_divergent.forecasting.prepared_data import PreparedData
from neuro_divergent.forecasting.task import Task

L, H = 8, 4
SCALERS = [name for name in WindowScaler.registry.names() if WindowScaler.from_dict(name).has_scale]


def panel_of(*series: Floats) -> Panel:
    frame = pl.concat(
        [
            pl.DataFrame({"unique_id": f"s{place}", "ds": np.arange(len(values)), "y": values.astype(np.float64)})
            for place, values in enumerate(series)
        ]
    )
    return check_lengths(load_panel(frame, Schema()), input_size=L, horizon=H)


def spreads_of(panel: Panel, name: str = "standard") -> Spreads:
    batcher = WindowBatcher(panel, L, H, WindowScaler.from_dict(name))
    return Spreads.fit(batcher, split_by_time(panel, input_size=L, horizon=H, validation=0).train)


def noise(count: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=count)


@pytest.mark.filterwarnings("ignore::neuro_divergent.core.errors.DataWarning")
class TestSpreads:
    def test_the_usual_scale_of_a_series_is_that_of_its_windows(self) -> None:
        found = spreads_of(panel_of(noise(200), 50 * noise(200, 1)))
        assert found.series is not None
        assert 0.7 < found.series[0] < 1.2
        assert 35 < found.series[1] < 60
        assert found.absolute == pytest.approx(np.median(found.series))

    def test_one_wild_value_does_not_change_the_usual_scale(self) -> None:
        values = noise(200)
        wild = values.copy()
        wild[100] = -9999
        plain, other = (spreads_of(panel_of(series)).series for series in (values, wild))
        assert plain is not None
        assert other is not None
        assert other[0] == pytest.approx(plain[0], rel=0.5)

    def test_a_constant_series_gets_the_part_of_its_level_that_is_usual(self) -> None:
        found = spreads_of(panel_of(100 + noise(200), 10 + 0.1 * noise(200, 1), np.full(50, 1000.0)))
        assert found.series is not None
        assert found.relative == pytest.approx(0.009, rel=0.3)
        assert found.series[2] == pytest.approx(1000 * found.relative)

    def test_a_series_of_zeros_gets_the_scale_of_most_series(self) -> None:
        found = spreads_of(panel_of(100 + noise(200), np.zeros(50)))
        assert found.series is not None
        assert found.series[1] == found.absolute

    def test_a_series_without_windows_is_measured_by_what_it_has(self) -> None:
        found = spreads_of(panel_of(100 + noise(200), np.array([5.0, 9.0, 7.0])))
        assert found.series is not None
        assert found.series[1] == pytest.approx(np.std([5, 9, 7]))

    def test_a_panel_of_constants_has_usable_scales(self) -> None:
        found = spreads_of(panel_of(np.full(30, 4.0), np.zeros(30)))
        assert found.series is not None
        assert found.series.tolist() == pytest.approx([0.04, 1.0])


def test_a_scale_is_replaced_where_the_history_tells_none_and_bounded_elsewhere() -> None:
    scale = torch.tensor([0.0, 1e-9, 0.01, 5.0]).reshape(4, 1, 1)
    spread = torch.full((4, 1, 1), 2.0)
    found = bounded_scale(scale, torch.ones(4, 1, 1), spread, None)
    assert found.flatten().tolist() == pytest.approx([2.0, 2.0, 2.0 * SMALLEST_PART, 5.0])


def test_two_observed_values_tell_no_scale() -> None:
    mask = torch.tensor([[1.0, 1, 0, 0], [1, 1, 1, 0]]).unsqueeze(-1)
    found = bounded_scale(torch.ones(2, 1, 1), torch.ones(2, 1, 1), torch.full((2, 1, 1), 4.0), mask)
    assert found.flatten().tolist() == [4.0, 1.0]


def steps(count: int, height: float) -> Floats:
    return np.where(np.arange(count) < count * 3 // 4, 0.0, height) + 1.0


def intermittent(count: int, seed: int) -> Floats:
    random = np.random.default_rng(seed)
    return np.where(random.random(count) < 0.05, random.integers(1, 1000, count), 0).astype(np.float64)


HOSTILE = st.one_of(
    st.builds(lambda count, level: np.full(count, level), st.integers(1, 60), st.sampled_from([0.0, 0.6, -3.0, 1e6])),
    st.builds(steps, st.integers(8, 80), st.sampled_from([1e-3, 1.0, 1e6])),
    st.builds(intermittent, st.integers(5, 80), st.integers(0, 99)),
    st.builds(lambda size, count: size * noise(count), st.sampled_from([1e-4, 1.0, 1e8]), st.integers(1, 60)),
    st.builds(lambda count: np.exp(np.arange(count) / 3.0), st.integers(2, 40)),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::neuro_divergent.core.errors.DataWarning")
@given(st.lists(HOSTILE, min_size=1, max_size=5), st.sampled_from(SCALERS))
@settings(max_examples=150, deadline=None)
def test_no_scaled_target_of_training_is_far_out(series: list[Floats], name: str) -> None:
    task = Task(horizon=H, input_size=L, scaler=name, joint=False, season_length=1)
    prepared = PreparedData.of(task, panel_of(noise(60), *series), "polars")
    training = NetworkTraining(nd.NLinear(), nd.TrainingConfig(), prepared)
    for batch in training.train.epoch(0):
        assert torch.isfinite(batch.past_y).all()
        if task.scaler.applied:
            assert batch.future_y.abs().max() <= 100
    train = prepared.split.train
    batch = training.batcher.windows(*train.locate(np.arange(len(train))))
    if name in ("standard", "robust", "minmax"):  # before anything is cut
        assert (batch.future_y * (1 if batch.future_mask is None else batch.future_mask)).abs().max() < 2000
