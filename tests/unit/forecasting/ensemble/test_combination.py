"""Forecasts of several models become one, by the arithmetic that is promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import optimize, stats

import neuro_divergent as nd
from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.forecasting.ensemble.combination import (
    GRID,
    METHODS,
    Combination,
    accuracy_weights,
    pooled_quantiles,
    weighted_mean,
    weighted_median,
)
from neuro_divergent.losses.implicit import ImplicitQuantileLoss

Q = nd.QuantileLoss
values = hnp.arrays(
    np.float32, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(-1e6, 1e6, width=32)
)


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@given(values)
def test_mean_and_median_are_those_of_numpy_and_of_any_order(members: Any) -> None:
    wide = members.astype(np.float64)
    for combine, reference in ((weighted_mean, np.mean), (weighted_median, np.median)):
        made = combine(members)
        np.testing.assert_allclose(made, reference(wide, axis=0), rtol=1e-12, atol=1e-9)
        assert (combine(members[::-1]).astype(np.float32) == made.astype(np.float32)).all()


@given(values, st.data())
def test_weights_that_are_whole_numbers_are_repetitions(members: Any, data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(0, 4), min_size=len(members), max_size=len(members)).filter(any))
    repeated = np.repeat(members, counts, axis=0).astype(np.float64)
    weights = np.array(counts, dtype=np.float64)
    np.testing.assert_allclose(weighted_mean(members, weights), repeated.mean(0), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(weighted_median(members, weights), np.median(repeated, axis=0), rtol=1e-9, atol=1e-6)


def test_quantiles_are_averaged_level_by_level() -> None:
    loss = Q([0.1, 0.5, 0.9])
    tables = np.sort(random(3, 7, 4, 3), axis=-1)
    combination = Combination((loss,) * 3, weights=np.array([0.5, 0.25, 0.25]))
    wanted = (0.9, 0.1)
    assert combination.member_quantiles(wanted) == [(0.1, 0.9)] * 3
    point, made = combination.combine(wanted, [(table[..., 1], table[..., [0, 2]]) for table in tables])
    mean = 0.5 * tables[0] + 0.25 * tables[1] + 0.25 * tables[2]
    np.testing.assert_allclose(point, mean[..., 1], rtol=1e-6)
    assert made is not None
    np.testing.assert_allclose(made, mean[..., [2, 0]], rtol=1e-6)
    median, _ = Combination((loss,) * 3, "median").combine((), [(table[..., 1], None) for table in tables])
    assert (median == np.median(tables[..., 1], axis=0)).all()


def test_one_model_per_quantile_sorts_all_quantiles_whichever_are_requested() -> None:
    combination = Combination((Q([0.1]), Q([0.5]), Q([0.9])))
    points = random(3, 50, 2)

    def made(*wanted: float) -> Any:
        requested = combination.member_quantiles(wanted)
        assert requested == [(0.1,), (0.5,), (0.9,)]
        return combination.combine(wanted, [(point, point[..., None]) for point in points])

    ordered = np.sort(points, axis=0)
    point, all_three = made(0.1, 0.5, 0.9)
    assert (np.moveaxis(all_three, -1, 0) == ordered).all()
    assert (point == ordered[1]).all()
    assert (made(0.9)[1][..., 0] == ordered[2]).all()
    assert (made()[0] == ordered[1]).all()
    assert made()[1] is None
    with pytest.raises(InputError, match=r"0\.25 was not trained: the members have 0\.1, 0\.5, 0\.9"):
        combination.member_quantiles((0.25,))


def test_a_quantile_comes_from_the_members_that_know_it() -> None:
    combination = Combination((Q([0.1, 0.5, 0.9]), Q([0.5, 0.95])))
    assert combination.member_quantiles((0.95,)) == [(0.1, 0.5, 0.9), (0.5, 0.95)]
    first, second = np.array([[1.0, 2.0, 5.0]]), np.array([[4.0, 4.5]])
    point, made = combination.combine((0.5, 0.9, 0.95), [(first[:, 1], first), (second[:, 0], second)])
    assert made is not None
    assert made.tolist() == [[3.0, 4.5, 5.0]]  # 0.9 and 0.95 crossed
    assert point.tolist() == [3.0]


@pytest.mark.parametrize("weights", [None, np.array([0.7, 0.2, 0.1])])
def test_a_pool_has_the_quantiles_of_the_mixture(weights: Any) -> None:
    parts = [stats.norm(0, 1), stats.norm(4, 0.5), stats.laplace(-1, 2)]
    counts = np.full(3, 1 / 3) if weights is None else weights
    tables = np.stack([part.ppf(GRID) for part in parts])[:, None, :]
    wanted = (0.001, 0.05, 0.1, 0.333, 0.5, 0.9, 0.975)
    made = pooled_quantiles(tables, GRID, wanted, weights)[0]
    for share, found in zip(wanted, made, strict=True):

        def gap(value: float, share: float = share) -> float:
            return float(sum(count * part.cdf(value) for count, part in zip(counts, parts, strict=True)) - share)

        assert abs(gap(found)) < 5e-4
        if share >= 0.05:  # a step of the grid is long in the tail
            assert found == pytest.approx(optimize.brentq(gap, -50, 50), abs=0.02)


def test_a_pool_is_wider_than_the_average_of_quantiles_where_members_disagree() -> None:
    tables = [stats.norm(centre, 1).ppf(GRID)[None] for centre in (-2, 2)]
    losses = (ImplicitQuantileLoss(),) * 2
    pool, average = Combination(losses, "pool"), Combination(losses)
    wanted = (0.1, 0.9)
    assert pool.member_quantiles(wanted) == [GRID] * 2
    assert average.member_quantiles(wanted) == [wanted] * 2
    own = [stats.norm(centre, 1).ppf(wanted)[None] for centre in (-2, 2)]
    centres = [np.array([-2.0]), np.array([2.0])]
    _, wide = pool.combine(wanted, list(zip(centres, tables, strict=True)))
    point, narrow = average.combine(wanted, list(zip(centres, own, strict=True)))
    assert wide is not None
    assert narrow is not None
    np.testing.assert_allclose(narrow[0], stats.norm(0, 1).ppf(wanted), atol=1e-9)
    assert wide[0, 1] - wide[0, 0] > 2 * (narrow[0, 1] - narrow[0, 0])
    assert point.tolist() == [0.0]


def test_the_average_of_quantiles_has_its_median_as_the_point() -> None:
    losses = (ImplicitQuantileLoss(), ImplicitQuantileLoss())
    combination = Combination(losses, "quantile_average")
    assert combination.member_quantiles(()) == [(0.5,)] * 2
    forecasts: list[Any] = [(np.array([9.0]), np.array([[1.0]])), (np.array([9.0]), np.array([[2.0]]))]
    assert combination.combine((), forecasts)[0].tolist() == [1.5]


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


@pytest.mark.parametrize("method", METHODS)
def test_combination_of_one_member_returns_its_forecast(method: Any) -> None:
    combination = Combination((ImplicitQuantileLoss(),), method)
    assert combination.member_quantiles((0.123,)) == [(0.123,)]
    forecast = (random(3), random(3, 1))
    assert combination.combine((0.123,), [forecast]) is forecast


@pytest.mark.parametrize(
    ("losses", "method", "message"),
    [
        ((nd.losses.MAE(),), "maen", "Did you mean 'mean'"),
        ((nd.losses.MAE(), nd.losses.MAE()), "pool", "mixes distributions, and member 1 .mae. forecasts none"),
        ((Q([0.5]), nd.losses.MAE()), "quantile_average", "not all members forecast the median"),
    ],
)
def test_invalid_combinations_are_refused(losses: Any, method: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Combination(losses, method)
