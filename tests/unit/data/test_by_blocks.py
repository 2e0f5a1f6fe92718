"""Statistics of a panel that is read block by block, compared with those of all rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from neuro_divergent.core.arrays import Floats
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.scaling import covariates, series_fit, spreads
from neuro_divergent.data.scaling.base import SeriesScaler
from neuro_divergent.data.scaling.covariates import CovariateScaling
from neuro_divergent.data.scaling.moments import Moments
from neuro_divergent.data.scaling.series_fit import fit_series_scaler
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.splits import rows_before, split_by_time
from neuro_divergent.data.windows import SampledWindows, spread_numbers

LENGTHS = (40, 5, 90, 61)


def panel(seed: int = 0) -> Panel:
    random = np.random.default_rng(seed)
    return build_panel(
        pl.concat(
            pl.DataFrame(
                {
                    "unique_id": [f"s{place}"] * length,
                    "ds": range(length),
                    "y": 5 + random.gamma(2.0, size=length),
                    "price": 1e6 + random.normal(size=length),
                    "holiday": random.choice(["a", "b"], length),
                }
            )
            for place, length in enumerate(LENGTHS)
        ),
        Schema(past=("price", "holiday"), categorical=("holiday",), missing="mask"),
    )


def ends_of(data: Panel) -> Any:
    return data.offsets[1:] - np.array([7, 0, 33, 10])


@settings(max_examples=100, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=8),
    kept=st.lists(st.integers(0, 9), min_size=8, max_size=8),
    size=st.integers(1, 12),
)
def test_rows_before_the_ends_are_those_of_a_loop_over_the_series(
    lengths: list[int], kept: list[int], size: int
) -> None:
    frame = pl.concat(
        pl.DataFrame({"unique_id": [place] * length, "ds": range(length), "y": np.arange(length) + 1.0})
        for place, length in enumerate(lengths)
    )
    data = build_panel(frame, Schema(frequency=1))
    ends = data.offsets[:-1] + np.minimum(kept[: len(lengths)], lengths)
    expected = np.zeros(len(data), np.bool_)
    for begin, end in zip(data.offsets, ends, strict=False):
        expected[begin:end] = True
    found = [rows_before(data, ends, block) for block in data.blocks(size)]
    assert_array_equal(np.concatenate(found), expected)


def test_moments_of_blocks_equal_those_of_all_numbers_also_far_from_zero() -> None:
    numbers = 1e8 + np.random.default_rng(0).normal(size=10_001)
    parts = [numbers[:1], numbers[1:1], numbers[1:5000], numbers[5000:]]
    found = Moments.of_blocks(parts)
    assert found.count == len(numbers)
    assert found.mean == pytest.approx(numbers.mean(), rel=1e-15)
    assert found.deviation == pytest.approx(numbers.std(), rel=1e-9)
    assert Moments.of(numbers).deviation == numbers.std()
    assert Moments.of_blocks([]).count == 0


def test_covariate_scaling_of_blocks_equals_that_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    data = panel()
    whole = CovariateScaling.fit(data, ends_of(data))
    assert data.past_x is not None
    seen = rows_before(data, ends_of(data), slice(0, len(data)))
    price = data.past_x[seen, 0].astype(np.float64)
    assert whole.past is not None
    assert_array_equal(whole.past, np.array([[price.mean(), 0], [price.std(), 1]], np.float32))
    monkeypatch.setattr(covariates, "BLOCK_ROWS", 1)
    monkeypatch.setattr(covariates, "_READ", 7)
    by_blocks = CovariateScaling.fit(data, ends_of(data))
    assert by_blocks.past is not None
    assert_allclose(by_blocks.past, whole.past, rtol=1e-6)


@pytest.mark.parametrize("name", ["standard", "minmax", "robust", "log", "boxcox"])
def test_scaler_of_long_series_is_fitted_in_blocks_or_to_a_sample(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data, scaler = panel(), SeriesScaler.from_dict(name)
    whole = fit_series_scaler(scaler, data, ends_of(data))
    monkeypatch.setattr(series_fit, "BLOCK_ROWS", 30)
    monkeypatch.setattr(series_fit, "_READ", 20)
    by_blocks = fit_series_scaler(scaler, data, ends_of(data))
    assert_array_equal(by_blocks[1], whole[1])  # short enough to be read at once
    tolerance = 1e-12 if name in ("standard", "minmax", "log") else 0.5
    assert_allclose(by_blocks, whole, rtol=tolerance, atol=tolerance)


def test_deviation_of_a_long_series_is_computed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    data = panel()
    whole = [spreads._deviation(data, place, int(end)) for place, end in enumerate(ends_of(data))]
    series = data.y[data.offsets[2] : ends_of(data)[2]]
    assert whole[2] == float(series.std(dtype=np.float64))
    monkeypatch.setattr(spreads, "BLOCK_ROWS", 8)
    assert_allclose([spreads._deviation(data, place, int(end)) for place, end in enumerate(ends_of(data))], whole)


@settings(max_examples=100, deadline=None)
@given(count=st.integers(1, 10**10), most=st.integers(1, 2000))
def test_spread_numbers_are_one_of_each_equal_range(count: int, most: int) -> None:
    found = spread_numbers(count, most)
    edges = [place * count // min(count, most) for place in range(min(count, most) + 1)]
    assert (found >= edges[:-1]).all()
    assert (found < edges[1:]).all()


def test_spread_numbers_meet_every_hour_of_the_day_equally_often() -> None:
    hours = np.bincount(spread_numbers(24 * 1000 * 24, 24_000) % 24, minlength=24)
    assert hours.max() < 1.1 * hours.min()


@pytest.mark.parametrize("joint", [False, True])
def test_sampled_windows_are_windows_of_the_whole(joint: bool) -> None:
    frame = pl.concat(
        pl.DataFrame({"unique_id": [place] * 80, "ds": range(80), "y": np.arange(80.0)}) for place in range(5)
    )
    data = build_panel(frame, Schema(frequency=1))
    every = split_by_time(data, input_size=4, horizon=2, validation=30, joint=joint).train
    some = SampledWindows.of(every, 11)
    assert isinstance(some, SampledWindows)
    assert len(some) == 11
    assert some.total == len(every)
    assert some.counts.sum() == 11
    places = list(zip(*every.locate(np.arange(len(every))), strict=True))
    found = list(zip(*some.locate(np.arange(11)), strict=True))
    assert set(found) < set(places)
    assert found == [places[number] for number in some.numbers]
    assert len(some.by_time()) == 11
    assert SampledWindows.of(every, len(every)) is every
    if not joint:
        assert_array_equal(some.counts, np.bincount([series for series, _ in found], minlength=5))


def test_domain_of_a_scaler_is_checked_in_every_block(monkeypatch: pytest.MonkeyPatch) -> None:
    values: Floats = np.ones(50)
    values[41] = -3
    data = build_panel(pl.DataFrame({"unique_id": "a", "ds": range(50), "y": values}), Schema())
    monkeypatch.setattr(series_fit, "BLOCK_ROWS", 20)
    monkeypatch.setattr(series_fit, "_READ", 20)
    with pytest.raises(ValueError, match="series 'a': value -3 cannot be scaled with 'boxcox'"):
        fit_series_scaler(SeriesScaler.from_dict("boxcox"), data, np.array([30]))
