"""Errors of all series together: their covariance, and draws that miss as they do."""

from __future__ import annotations

import numpy as np
import pytest

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.forecasting.hierarchy.joint_errors import JointErrors


def errors_of(windows: int, series: int, horizon: int, seed: int = 0) -> Floats:
    """Errors that grow with the step and share a common part."""
    generator = np.random.default_rng(seed)
    common = generator.normal(size=(windows, 1, horizon))
    own = generator.normal(size=(windows, series, horizon)) * np.arange(1, series + 1)[:, None]
    values: Floats = (own + 3 * common).cumsum(2)
    return values


def shrunk(errors: Floats) -> Floats:
    """Schaefer and Strimmer, entry by entry, for one step ahead."""
    cases = errors[:, :, 0]
    count, series = cases.shape
    scaled = cases / np.sqrt((cases**2).mean(0))
    up = down = 0.0
    for i in range(series):
        for j in range(series):
            if i != j:
                products = [scaled[case, i] * scaled[case, j] for case in range(count)]
                mean = sum(products) / count
                up += sum((product - mean) ** 2 for product in products) / (count * (count - 1))
                down += mean**2
    share = min(1.0, up / down)
    sample = cases.T @ cases / count
    result: Floats = share * np.diag(np.diag(sample)) + (1 - share) * sample
    return result


@pytest.mark.parametrize("windows", [3, 30, 400])
def test_the_covariance_is_shrunk_by_the_closed_form(windows: int) -> None:
    errors = errors_of(windows, 5, 1)
    np.testing.assert_allclose(JointErrors(errors).covariance(), shrunk(errors), rtol=1e-9)


def test_windows_that_overlap_count_as_the_rows_they_cover() -> None:
    """The same errors seen from more windows are no more evidence, so correlations are shrunk more."""
    once = errors_of(30, 5, 1)
    repeated = JointErrors(np.repeat(once, 8, axis=2)).covariance()
    sample = once[:, :, 0].T @ once[:, :, 0] / 30
    share = 1 - repeated[0, 1] / sample[0, 1]
    assert share == pytest.approx((1 - shrunk(once)[0, 1] / sample[0, 1]) * 29 / 36)


def test_errors_of_sums_that_are_sums_of_errors_have_a_covariance_that_can_be_solved() -> None:
    parts = np.random.default_rng(0).normal(size=(4000, 2, 1))
    covariance = JointErrors(np.concatenate([parts.sum(1, keepdims=True), parts], axis=1)).covariance()
    assert np.linalg.eigvalsh(covariance).min() > 0
    never = JointErrors(np.zeros((5, 3, 2))).covariance()
    assert np.linalg.eigvalsh(never).min() > 0


def test_the_bootstrap_repeats_whole_windows_each_about_as_often() -> None:
    errors = errors_of(7, 3, 4)
    drawn = JointErrors(errors).draw(20, seed=1)
    found = [int(np.flatnonzero((errors == path).all((1, 2)))[0]) for path in drawn]
    assert sorted(np.bincount(found, minlength=7)) == [2, 3, 3, 3, 3, 3, 3]
    assert found != sorted(found)
    np.testing.assert_array_equal(JointErrors(errors).draw(20, seed=1), drawn)
    assert not np.array_equal(JointErrors(errors).draw(20, seed=2), drawn)


def test_normal_draws_have_the_covariance_of_series_and_of_steps() -> None:
    errors = JointErrors(errors_of(200, 4, 3))
    drawn = errors.draw(60_000, seed=0, noise="normal")
    at_step = [drawn[:, :, step].T @ drawn[:, :, step] / len(drawn) for step in range(3)]
    sample = np.mean([errors.values[:, :, step].T @ errors.values[:, :, step] / 200 for step in range(3)], axis=0)
    np.testing.assert_allclose(np.mean(at_step, axis=0), sample, rtol=0.03)
    deviations = np.sqrt(errors.variances)[:, None]
    for series in range(4):
        across = (drawn / deviations)[:, series].T @ (drawn / deviations)[:, series] / len(drawn)
        wanted = np.mean([row.T @ row / 200 for row in (errors.values / deviations).transpose(1, 0, 2)], axis=0)
        np.testing.assert_allclose(across, wanted, rtol=0.05, atol=0.02)


@pytest.mark.parametrize("windows", [1, 3, 50])
def test_errors_of_sums_stay_sums_of_errors(windows: int) -> None:
    parts = errors_of(windows, 4, 3)
    errors = JointErrors(np.concatenate([parts.sum(1, keepdims=True), parts], axis=1))
    for noise in ("bootstrap", "normal"):
        drawn = errors.draw(100, seed=0, noise=noise)  # type: ignore[arg-type]
        np.testing.assert_allclose(drawn[:, 0], drawn[:, 1:].sum(1), atol=1e-10)


def test_quantiles_too_extreme_for_few_windows_are_refused() -> None:
    errors = JointErrors(errors_of(9, 2, 2))
    errors.check_quantiles([0.1, 0.9], "bootstrap")
    errors.check_quantiles([0.001], "normal")
    with pytest.raises(InputError, match=r"quantile 0.95 needs at least 19 validation windows, there are 9.*'normal'"):
        errors.check_quantiles([0.1, 0.95], "bootstrap")
    with pytest.raises(ConfigError, match="Did you mean 'normal'"):
        errors.draw(3, seed=0, noise="norm")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="num_paths: 0"):
        errors.draw(0, seed=0)
