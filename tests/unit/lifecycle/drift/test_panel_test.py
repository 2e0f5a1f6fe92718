"""The test of the panel: exact cases, and its level and power by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from neuro_divergent.lifecycle.drift import panel_test
from neuro_divergent.lifecycle.drift.panel_test import level_of, run_panel_test, size_of
from tests.unit.lifecycle.drift.panels import autoregression


def test_statistics_of_a_time_are_means_over_the_series_that_have_an_error():
    errors = np.array([[1.0, -2.0, np.nan], [3.0, np.nan, np.nan]])
    np.testing.assert_allclose(level_of(errors)[:2], [2.0, -2.0])
    np.testing.assert_allclose(size_of(errors)[:2], [math.log(2.0), math.log(2.0)])
    assert np.isnan(level_of(errors)[2])


def test_standard_error_by_blocks_of_one_value_is_that_of_a_two_sample_test(monkeypatch):
    monkeypatch.setattr(panel_test, "_COSINES", ())
    rng = np.random.default_rng(0)
    reference, new = rng.standard_normal((1, 200)), rng.standard_normal((1, 1))
    found = run_panel_test(reference, new, "level")
    expected = math.sqrt(reference.var(ddof=1) * (1 + 1 / 200))
    assert found.standard_error == pytest.approx(expected, rel=1e-12)
    assert found.degrees == 199
    beyond = (abs(new[0, 0] - reference.mean()) - panel_test.TOLERANCE) / expected
    assert found.p_value == pytest.approx(min(1.0, 2 * stats.t.sf(beyond, 199)), rel=1e-9)


def test_cosines_estimate_the_long_run_variance_of_an_autoregression():
    rng = np.random.default_rng(1)
    values = autoregression(rng.standard_normal((400, 2000)), 0.5)[:, 200:]
    found = np.array([next(panel_test._variances(row, 500))[0] for row in values])
    assert found.mean() == pytest.approx(1 / (1 - 0.5) ** 2, rel=0.1)


@pytest.mark.parametrize("memory", [0.0, 0.8])
@pytest.mark.parametrize("new", [3, 24, 150])
def test_level_of_the_test_is_kept_for_dependent_values(monkeypatch, memory, new):
    monkeypatch.setattr(panel_test, "TOLERANCE", 0.0)
    rng = np.random.default_rng(new)
    values = autoregression(rng.standard_normal((400, 350 + new)), memory)[:, 50:]
    p_values = np.array([run_panel_test(row[None, :300], row[None, 300:], "level").p_value for row in values])
    # 400 repetitions: a rate of 0.05 would be found above 0.08 with a probability of 0.004.
    assert (p_values < 0.05).mean() < 0.08
    assert (p_values < 0.01).mean() < 0.03


def test_changes_within_the_tolerance_are_no_drift_however_many_series():
    rng = np.random.default_rng(2)
    errors = rng.standard_normal((4000, 500))
    errors[:, 300:] += 0.03
    assert run_panel_test(errors[:, :300], errors[:, 300:], "level").p_value > 0.5
    errors[:, 300:] += 0.07
    assert run_panel_test(errors[:, :300], errors[:, 300:], "level").p_value < 0.001


def test_smaller_errors_are_no_drift_of_their_size():
    rng = np.random.default_rng(3)
    errors = rng.standard_normal((50, 500))
    errors[:, 300:] *= 0.5
    assert run_panel_test(errors[:, :300], errors[:, 300:], "size").p_value > 0.99


def test_change_point_is_where_the_change_begins():
    rng = np.random.default_rng(4)
    errors = rng.standard_normal((50, 500))
    errors[:, 420:] += 1.0
    assert abs(run_panel_test(errors[:, :300], errors[:, 300:], "level").change_at - 120) <= 2


def test_too_few_times_give_no_test():
    assert run_panel_test(np.zeros((3, 10)), np.zeros((3, 10)), "level") is None
    assert run_panel_test(np.zeros((3, 100)), np.full((3, 10), np.nan), "level") is None
