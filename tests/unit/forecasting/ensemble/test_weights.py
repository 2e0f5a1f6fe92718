"""Weights of the members of an ensemble."""

from __future__ import annotations

import numpy as np
import pytest

from neuro_divergent.forecasting.ensemble.weights import accuracy_weights


def test_weights_by_accuracy_are_the_best_for_independent_errors() -> None:
    """With error variances 1 and 4, the weights 0.8 and 0.2 have the least variance, 0.8 (Bates and Granger)."""
    np.testing.assert_allclose(accuracy_weights(np.array([[1.0], [4.0]])), [0.8, 0.2])
    errors = np.random.default_rng(0).normal(size=(2, 200_000)) * [[1.0], [2.0]]
    weights = accuracy_weights(np.square(errors).mean(1, keepdims=True))
    np.testing.assert_allclose(weights, [0.8, 0.2], atol=0.005)
    of = {share: np.square(share * errors[0] + (1 - share) * errors[1]).mean() for share in np.linspace(0, 1, 21)}
    best = np.square(weights @ errors).mean()
    assert best == pytest.approx(0.8, abs=0.01)
    assert best <= min(of.values()) + 1e-3


def test_weights_by_accuracy_do_not_depend_on_the_size_of_a_series() -> None:
    errors = np.array([[1.0, 4.0], [3.0, 2.0]])
    expected = accuracy_weights(errors)
    np.testing.assert_allclose(accuracy_weights(errors * [1.0, 1e9]), expected)
    np.testing.assert_allclose(accuracy_weights(np.zeros((3, 2))), [1 / 3] * 3)
    assert accuracy_weights(np.array([[0.0], [1.0]]))[0] == pytest.approx(1)
