"""Reconciled forecasts add up, and are those of the closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from neuro_divergent.core.errors import ConfigError, DataError
from neuro_divergent.forecasting.hierarchy import METHODS, Hierarchy, Reconciliation, error_paths, shrunk_covariance

TREE = Hierarchy(
    ("total", "north", "a", "b", "c"),
    ("a", "b", "c"),
    np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float),
)
RANDOM = np.random.default_rng(0)
ERRORS = RANDOM.normal(size=(40, 5)) * [5, 3, 2, 1, 1]
HISTORY = RANDOM.uniform(1, 9, size=(30, 3))


def fit(method: str) -> Reconciliation:
    return Reconciliation.fit(TREE, method, errors=ERRORS, history=HISTORY)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
def test_reconciled_forecasts_and_paths_add_up(method: str) -> None:
    paths = RANDOM.normal(size=(7, 5, 4)) * 10
    assert TREE.incoherence(paths) > 1
    assert TREE.incoherence(fit(method).apply(paths)) < 1e-9
    assert TREE.incoherence(fit(method).apply(paths[0])) < 1e-9


@pytest.mark.parametrize("method", [method for method in METHODS if method != "top_down"])
def test_a_coherent_forecast_stays_as_it_is(method: str) -> None:
    coherent = TREE.aggregate(RANDOM.normal(size=(3, 6)))
    np.testing.assert_allclose(fit(method).apply(coherent), coherent, atol=1e-9)


def test_ols_is_the_nearest_coherent_forecast() -> None:
    values = RANDOM.normal(size=(5, 2))
    bottom, *_ = np.linalg.lstsq(TREE.summing, values, rcond=None)
    np.testing.assert_allclose(fit("ols").apply(values), TREE.summing @ bottom, atol=1e-12)


@pytest.mark.parametrize("method", ["variance", "shrink"])
def test_minimum_trace_has_the_least_variance_of_all_unbiased_ways(method: str) -> None:
    covariance = np.diag(np.square(ERRORS).mean(0)) if method == "variance" else shrunk_covariance(ERRORS)
    best = np.trace(fit(method).covariance(covariance))
    for other in ("bottom_up", "ols", "structural"):
        assert best <= np.trace(fit(other).covariance(covariance)) + 1e-9


def test_top_down_splits_by_past_shares() -> None:
    values = np.zeros((5, 1))
    values[0] = 60.0
    shares = HISTORY.sum(0) / HISTORY.sum()
    np.testing.assert_allclose(fit("top_down").apply(values)[2:, 0], 60 * shares)


def test_shrinkage_lies_between_the_sample_and_its_diagonal() -> None:
    sample = ERRORS.T @ ERRORS / len(ERRORS)
    shrunk = shrunk_covariance(ERRORS)
    np.testing.assert_allclose(np.diag(shrunk), np.diag(sample))
    ratio = (shrunk / sample)[~np.eye(5, dtype=bool)]
    np.testing.assert_allclose(ratio, ratio[0])
    assert 0 <= ratio[0] <= 1
    assert np.linalg.eigvalsh(shrunk).min() > 0


def test_quantiles_of_coherent_paths_cover_what_is_drawn_the_same_way() -> None:
    way = fit("shrink")
    errors = RANDOM.multivariate_normal(np.zeros(5), shrunk_covariance(ERRORS), size=20000)[:, :, None]
    point = TREE.aggregate(np.array([[3.0], [2.0], [1.0]]))
    low, high = way.quantiles(error_paths(point, errors), [0.1, 0.9])
    spread = np.sqrt(np.diag(way.covariance(shrunk_covariance(ERRORS))))
    np.testing.assert_allclose((high - low)[:, 0], 2 * 1.28155 * spread, rtol=0.05)


def test_says_what_is_missing() -> None:
    with pytest.raises(ConfigError, match="needs errors"):
        Reconciliation.fit(TREE, "shrink")
    with pytest.raises(ConfigError, match="Known: bottom_up"):
        Reconciliation.fit(TREE, "middle_out")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="'b' must be a node"):
        Hierarchy(("total", "a"), ("a", "b"), np.array([[1.0, 1.0], [1.0, 0.0]]))


def test_reads_the_entries_of_a_sparse_matrix() -> None:
    rows, columns = np.nonzero(TREE.summing)
    nodes, bottom = [TREE.nodes[row] for row in rows], [TREE.bottom[column] for column in columns]
    made = Hierarchy.from_entries(nodes, bottom, [1.0] * len(nodes))
    assert (made.nodes, made.bottom) == (TREE.nodes, TREE.bottom)
    np.testing.assert_array_equal(made.summing, TREE.summing)
