"""Calibration: right forecasts are uniform, narrow ones a U, and the numbers are those of the forecasts themselves."""

from __future__ import annotations

import dataclasses
import json
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neuro_divergent as nd
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.evaluation import calibration
from neuro_divergent.evaluation.calibration import LEVELS, check_calibration, pit_histogram

SHARES = [place / 20 for place in range(1, 20)]
TABLE = Synthetic(num_series=4, length=200, seed=6).frame()


def gaussian(spread: float, shift: float = 0.0, count: int = 20_000) -> dict[str, Any]:
    """Return the histogram of Gaussian values for Gaussian forecasts."""
    actual = np.random.default_rng(0).normal(size=(count // 4, 4))
    quantiles = {share: np.full(actual.shape, NormalDist(shift, spread).inv_cdf(share)) for share in SHARES}
    return pit_histogram(actual, quantiles)


def test_pit_of_calibrated_forecasts_is_uniform() -> None:
    found = gaussian(1.0)
    assert found["edges"] == pytest.approx([place / 20 for place in range(21)])
    error = np.sqrt(0.05 * 0.95 / 20_000)
    assert np.abs(np.array(found["shares"]) - 0.05).max() < 4 * error


def test_narrow_forecasts_give_a_u_wide_ones_a_hump_and_low_ones_a_slope() -> None:
    narrow, wide, low = (np.array(gaussian(*shape)["shares"]) for shape in ((0.5,), (2.0,), (1.0, -1.0)))
    assert min(narrow[0], narrow[-1]) > 3 * 0.05 > 0.05 > narrow[5:15].max()
    assert max(wide[0], wide[-1]) < 0.01 < 0.05 < wide[9:11].min()
    assert np.all(np.diff(low) > 0)
    # The share below the first quantile is known exactly.
    expected = NormalDist().cdf(NormalDist(0, 0.5).inv_cdf(0.05))
    assert narrow[0] == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 20_000))


def test_counts_that_equal_several_quantiles_are_spread_over_their_bins() -> None:
    rate = 1.3
    chances = [np.exp(-rate) * rate**k / np.prod(np.arange(1, k + 1)) for k in range(12)]
    below = np.cumsum(chances)
    actual = np.random.default_rng(1).poisson(rate, (20_000, 1))
    quantiles = {share: np.full(actual.shape, float(np.searchsorted(below, share))) for share in SHARES}
    shares = np.array(pit_histogram(actual, quantiles)["shares"])
    # All quantiles from 0.3 to 0.6 are 1: what lies between them is spread evenly. A count is given to the bins whose
    # edges it reaches, so that only the ends of a run, where a step of the distribution lies within a bin, are rough.
    assert np.allclose(shares[6:12], shares[6])
    assert shares.sum() == pytest.approx(1)
    assert np.abs(np.cumsum(shares) - np.arange(1, 21) / 20).max() < 0.05


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=20),
    st.lists(st.floats(0.01, 0.99), min_size=1, max_size=6, unique=True),
    st.integers(0, 10),
)
def test_pit_fractions_equal_a_loop(values: list[int], levels: list[float], seed: int) -> None:
    random = np.random.default_rng(seed)
    levels = sorted(levels)
    table = np.sort(random.integers(0, 6, (len(levels), len(values))), 0).astype(float)
    found = pit_histogram(np.array(values), dict(zip(levels, table, strict=True)))
    edges = [0.0, *levels, 1.0]
    expected = np.zeros(len(edges) - 1)
    for place, value in enumerate(values):
        first = sum(quantile < value for quantile in table[:, place])
        last = sum(quantile <= value for quantile in table[:, place])
        for bin_ in range(first, last + 1):
            expected[bin_] += (edges[bin_ + 1] - edges[bin_]) / (edges[last + 1] - edges[first])
    assert found["shares"] == pytest.approx(expected / len(values), abs=1e-9)
    assert found["edges"] == edges


def test_unobserved_values_are_left_out() -> None:
    actual, observed = np.array([[0.0, 9.0]]), np.array([[True, False]])
    assert pit_histogram(actual, {0.5: np.array([[1.0, 1.0]])}, observed)["shares"] == [1.0, 0.0]


def trained(loss: Any = None, architecture: Any = "nlinear", **task: Any) -> nd.Forecaster:
    settings = {"horizon": 4, "input_size": 12, "test": 0.2, **({} if loss is None else {"loss": loss}), **task}
    return nd.Forecaster(architecture, training=nd.TrainingConfig(max_steps=60, threads=1), **settings).fit(TABLE)


def test_a_point_forecaster_with_residuals_is_checked_at_all_levels() -> None:
    forecaster = trained()
    assert forecaster.split is not None
    found = check_calibration(forecaster, forecaster.split.test)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["part"] == "test"
    assert [row["level"] for row in found["levels"]] == list(LEVELS)
    covered = [row["coverage"] for row in found["levels"]]
    assert covered == sorted(covered)
    assert found["pit"]["edges"] == pytest.approx([place / 20 for place in range(21)])
    assert sum(found["pit"]["shares"]) == pytest.approx(1)
    scores = nd.evaluate(forecaster, levels=[80, 95]).coverage
    same = [row for row in found["levels"] if row["level"] in (80, 95)]
    assert [row["coverage"] for row in same] == pytest.approx(scores["coverage"].to_list(), abs=2)
    assert [row["width"] for row in same] == pytest.approx(scores["width"].to_list(), rel=0.05)


def test_levels_for_which_there_are_too_few_errors_are_left_out() -> None:
    forecaster = trained(validation=4, test=0)
    assert forecaster.split is not None
    found = check_calibration(forecaster, forecaster.split.validation)
    assert found["part"] == "validation"
    assert [row["level"] for row in found["levels"]] == [10, 20, 30, 40, 50, 60, 70, 80, 90]
    edges = found["pit"]["edges"]
    assert edges == pytest.approx([place / 20 for place in range(21)])


def test_a_forecaster_of_some_quantiles_is_checked_between_those() -> None:
    forecaster = trained(nd.QuantileLoss([0.1, 0.3, 0.5, 0.9]))
    assert forecaster.split is not None
    found = check_calibration(forecaster, forecaster.split.test)
    assert [row["level"] for row in found["levels"]] == [80]
    assert found["pit"]["edges"] == [0, 0.1, 0.3, 0.5, 0.9, 1]
    result = forecaster.forecast_windows(forecaster.split.test, quantiles=[0.1])
    assert found["pit"]["shares"][0] == pytest.approx((result.actual < result.quantiles[0.1]).mean())


def test_a_forecaster_of_a_distribution_supports_all_levels() -> None:
    forecaster = trained(nd.losses.Normal())
    assert forecaster.split is not None
    found = check_calibration(forecaster, forecaster.split.train)
    assert found["part"] == "train"
    assert len(found["levels"]) == len(LEVELS)
    shares, covered = found["pit"]["shares"], {row["level"]: row["coverage"] for row in found["levels"]}
    for outside, level in ((1, 90), (2, 80), (5, 50)):
        inside = sum(shares[outside : 20 - outside])
        assert covered[level] == pytest.approx(100 * inside)


def test_a_forecaster_without_quantiles_has_no_histogram() -> None:
    forecaster = trained(validation=0)
    assert forecaster.split is not None
    found = check_calibration(forecaster, forecaster.split.test, part="mine")
    assert found == {"part": "mine", "windows": 40, "levels": [], "pit": None}


def test_no_more_windows_are_forecast_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    forecaster = trained()
    assert forecaster.split is not None
    monkeypatch.setattr(calibration, "_MOST_WINDOWS", 10)
    windows = dataclasses.replace(forecaster.split.test, step=1)
    found = check_calibration(forecaster, windows)
    assert (found["part"], found["windows"]) == ("new data", 10)


def test_no_windows_are_an_error() -> None:
    forecaster = trained(test=0)
    assert forecaster.split is not None
    with pytest.raises(InputError, match="there is no window"):
        check_calibration(forecaster, forecaster.split.test)
