"""Reconciled forecasts add up, and are those of the closed forms."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.forecasting.hierarchy.hierarchy import Hierarchy
from neuro_divergent.forecasting.hierarchy.reconciliation import METHODS, Method, Reconciliation

UNBIASED: list[Method] = [method for method in METHODS if method != "top_down"]


@st.composite
def hierarchies(draw: st.DrawFn) -> Hierarchy:
    """Sums over up to three columns of labels, alone and crossed, some of them weighted."""
    count = draw(st.integers(1, 9))
    labels = {
        name: [f"{name}{draw(st.integers(0, 3))}" for _ in range(count)]
        for name in draw(st.lists(st.sampled_from("xyz"), unique=True, max_size=3))
    }
    frame = pl.DataFrame({"unique_id": [f"s{place}" for place in range(count)], **labels})
    levels = [(name,) for name in labels] + ([tuple(labels)] if len(labels) > 1 else [])
    made = Hierarchy.from_columns(frame, levels)
    if not draw(st.booleans()):
        return made
    weights = np.random.default_rng(draw(st.integers(0, 99))).uniform(-2, 2, made.summing.shape)
    summing = np.where(made.summing.sum(1, keepdims=True) > 1, made.summing * weights, made.summing)
    summing[0] = 1  # a total remains, which top_down needs
    return Hierarchy(made.nodes, made.bottom, summing)


def covariance_of(hierarchy: Hierarchy, seed: int) -> Floats:
    count = len(hierarchy.nodes)
    root = np.random.default_rng(seed).normal(size=(count, count))
    result: Floats = root @ root.T + 0.1 * np.eye(count)
    return result


def fit(hierarchy: Hierarchy, method: Method, seed: int = 0) -> Reconciliation:
    history = np.random.default_rng(seed).uniform(1, 9, size=(len(hierarchy.bottom), 30))
    return Reconciliation.fit(hierarchy, method, covariance=covariance_of(hierarchy, seed), history=history)


def weights_of(hierarchy: Hierarchy, method: Method, covariance: Floats) -> Floats:
    """The covariance that a method supposes, as its definition has it."""
    return {
        "mint_ols": np.eye(len(hierarchy.nodes)),
        "mint_structural": np.diag(np.abs(hierarchy.summing) @ np.ones(len(hierarchy.bottom))),
        "mint_variance": np.diag(np.diag(covariance)),
        "mint_shrink": covariance,
    }[method]


@pytest.mark.parametrize("method", METHODS)
@given(hierarchy=hierarchies(), seed=st.integers(0, 99))
def test_forecasts_and_paths_add_up(method: Method, hierarchy: Hierarchy, seed: int) -> None:
    paths = np.random.default_rng(seed).normal(size=(3, len(hierarchy.nodes), 4)) * 100
    made = fit(hierarchy, method, seed).apply(paths)
    assert hierarchy.incoherence(made) <= 1e-9 * max(np.abs(made).max(), 1)
    np.testing.assert_allclose(fit(hierarchy, method, seed).apply(paths[1]), made[1])


@pytest.mark.parametrize("method", UNBIASED)
@given(hierarchy=hierarchies(), seed=st.integers(0, 99))
def test_forecasts_that_add_up_stay_as_they_are(method: Method, hierarchy: Hierarchy, seed: int) -> None:
    summing = hierarchy.summing
    np.testing.assert_allclose(summing @ fit(hierarchy, method, seed).projection @ summing, summing, atol=1e-6)


@pytest.mark.parametrize("method", [method for method in METHODS if method.startswith("mint")])
@given(hierarchy=hierarchies(), seed=st.integers(0, 99))
def test_minimum_trace_is_generalised_least_squares(method: Method, hierarchy: Hierarchy, seed: int) -> None:
    """The bottom forecasts are the regression of the base forecasts on the summing matrix, whitened."""
    weights = weights_of(hierarchy, method, covariance_of(hierarchy, seed))
    base = np.random.default_rng(seed).normal(size=(len(hierarchy.nodes), 2))
    root = scipy.linalg.cholesky(weights, lower=True)
    whitened = (scipy.linalg.solve_triangular(root, item, lower=True) for item in (hierarchy.summing, base))
    bottom, *_ = scipy.linalg.lstsq(*whitened)
    np.testing.assert_allclose(fit(hierarchy, method, seed).projection @ base, bottom, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", ["mint_variance", "mint_shrink"])
def test_minimum_trace_has_the_least_variance_of_all_unbiased_ways(method: Method) -> None:
    labels = {"unique_id": list("abcdef"), "x": list("112233"), "y": list("456456")}
    hierarchy = Hierarchy.from_columns(pl.DataFrame(labels), ["x", "y"], total="t", separator="")
    supposed = weights_of(hierarchy, method, covariance_of(hierarchy, 0))
    best = np.trace(fit(hierarchy, method).covariance(supposed))
    for other in UNBIASED:
        assert best <= np.trace(fit(hierarchy, other).covariance(supposed)) + 1e-9


@given(hierarchy=hierarchies(), seed=st.integers(0, 99))
def test_bottom_up_ignores_sums_and_top_down_all_but_the_total(hierarchy: Hierarchy, seed: int) -> None:
    base = np.random.default_rng(seed).normal(size=(len(hierarchy.nodes), 2))
    up = fit(hierarchy, "bottom_up", seed).apply(base)
    np.testing.assert_array_equal(up[hierarchy.bottom_rows], base[hierarchy.bottom_rows])
    history = np.random.default_rng(seed).uniform(1, 9, size=(len(hierarchy.bottom), 30))
    shares = np.array([sum(row) for row in history.tolist()]) / sum(map(sum, history.tolist()))
    total = hierarchy.nodes.index("total")
    np.testing.assert_allclose(fit(hierarchy, "top_down", seed).projection @ base, np.outer(shares, base[total]))


def test_says_what_is_missing() -> None:
    hierarchy = Hierarchy(("t", "a", "b"), ("a", "b"), np.array([[1.0, 2.0], [1, 0], [0, 1]]))
    with pytest.raises(ConfigError, match=r"'mint_shrink' needs forecast errors.*Set validation"):
        Reconciliation.fit(hierarchy, "mint_shrink")
    with pytest.raises(
        ConfigError, match=r"Unknown reconciliation 'min_shrink'. Did you mean 'mint_shrink'\? Known: b"
    ):
        Reconciliation.fit(hierarchy, "min_shrink")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="sum of all bottom series; the hierarchy has none"):
        Reconciliation.fit(hierarchy, "top_down", history=np.ones((2, 3)))
    whole = Hierarchy(("t", "a"), ("a",), np.ones((2, 1)))
    with pytest.raises(ConfigError, match="total is not zero"):
        Reconciliation.fit(whole, "top_down", history=np.zeros((1, 3)))
