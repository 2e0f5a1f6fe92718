"""Errors of now compared with those of the back-test."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from neuro_divergent.lifecycle.continuous.degradation import find_degradation
from neuro_divergent.lifecycle.drift.errors import Errors


def errors(values: np.ndarray, horizon: int = 4) -> Errors:
    return Errors(
        ids=pl.Series([f"s{number}" for number in range(len(values))]),
        times=pl.Series(range(values.shape[1])),
        values=values,
        horizon=horizon,
    )


def noise(seed: int, series: int, times: int, size: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(series, times)) * size


def test_errors_of_any_scale_that_grew_by_half_are_found_worse() -> None:
    sizes = np.array([[1.0], [1000.0], [0.001]])
    found = find_degradation(
        errors(noise(0, 3, 200) * sizes), errors(noise(1, 3, 80, 1.5) * sizes), fraction=0.1, alpha=0.01
    )
    assert found.is_worse
    assert found.ratio == pytest.approx(1.5, rel=0.15)
    assert found.horizons == (50, 20)
    assert "larger" in found.sentence


def test_a_small_or_uncertain_growth_is_not_worse() -> None:
    reference = errors(noise(0, 5, 400))
    assert not find_degradation(reference, errors(noise(1, 5, 400, 1.05)), fraction=0.1, alpha=0.05).is_worse
    assert not find_degradation(reference, errors(noise(2, 1, 8, 1.3)), fraction=0.1, alpha=0.001).is_worse


def test_p_value_is_that_of_welch_on_means_of_horizons() -> None:
    before, now = noise(3, 1, 40), noise(4, 1, 24, 1.2)
    found = find_degradation(errors(before), errors(now), fraction=0.1, alpha=0.05)
    means = [np.abs(part).reshape(-1, 4).mean(1) for part in (now, before)]
    assert found.p_value == pytest.approx(
        stats.ttest_ind(means[0], means[1], equal_var=False, alternative="greater").pvalue
    )


def test_false_alarms_stay_at_the_level() -> None:
    count = sum(
        find_degradation(
            errors(noise(2 * seed, 10, 80)), errors(noise(2 * seed + 1, 10, 32)), fraction=0, alpha=0.05
        ).is_worse
        for seed in range(400)
    )
    assert count <= 0.08 * 400


def test_new_series_missing_values_and_too_few_horizons_are_left_out() -> None:
    reference = errors(noise(0, 2, 40))
    new = noise(1, 3, 16)
    new[:, 4:8] = np.nan
    new[0, :4] = np.nan  # of one series only
    found = find_degradation(reference, errors(new), fraction=0.1, alpha=0.05)
    assert found.horizons == (10, 3)
    few = find_degradation(reference, errors(noise(1, 2, 4)), fraction=0.1, alpha=0.05)
    assert not few.is_worse
    assert "Too few" in few.sentence
