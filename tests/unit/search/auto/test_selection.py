"""Greedy selection and the choice of weights, compared with brute force."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.search.auto.combination import choose_weights
from neuro_divergent.search.auto.groups import GROUPS
from neuro_divergent.search.auto.metric import Scoring
from neuro_divergent.search.auto.selection import equal_weights, greedy_picks, weights_after

Arrays = tuple[np.ndarray, Scoring]


def case(seed: int, members: int, cutoffs: int = 3, series: int = 4, horizon: int = 2, metric: str = "mase") -> Arrays:
    """Return random forecasts of members, and what scores them."""
    generator = np.random.default_rng(seed)
    actual = generator.normal(10, 3, (cutoffs, series, horizon))
    spread = generator.uniform(0.2, 2, (members, 1, 1, 1))
    bias = generator.normal(0, 1, (members, 1, 1, 1))
    forecasts = actual + bias + spread * generator.normal(0, 1, (members, *actual.shape))
    scale = generator.uniform(0.5, 2, series)
    return forecasts, Scoring(metric, actual, scale, scale)


def test_the_score_is_the_mean_absolute_error_divided_by_the_scale_of_each_series() -> None:
    forecasts, scoring = case(0, 1)
    actual = scoring.actual.copy()
    actual[0, 1, 0] = np.nan
    scale = scoring.scale.copy()
    scale[2] = 0.0
    found = Scoring("mase", actual, scale, scale).score(forecasts[0])
    kept = [
        abs(forecasts[0][c, s, h] - actual[c, s, h]) / scale[s]
        for c in range(3)
        for s in (0, 1, 3)
        for h in range(2)
        if not np.isnan(actual[c, s, h])
    ]
    assert found == pytest.approx(sum(kept) / len(kept))


@pytest.mark.parametrize("metric", ["mae", "rmse", "smape", "wape", "rmsse"])
def test_other_metrics_are_those_of_the_package(metric: str) -> None:
    from neuro_divergent.evaluation import metrics

    forecasts, scoring = case(1, 1, metric=metric)
    arguments = (scoring.actual.reshape(-1, 2), forecasts[0].reshape(-1, 2))
    scale = (np.tile(scoring.scale, 3),) if metric == "rmsse" else ()
    assert scoring.score(forecasts[0]) == pytest.approx(getattr(metrics, metric)(*arguments, *scale))


@pytest.mark.parametrize("seed", range(8))
def test_two_greedy_picks_are_the_best_second_member_for_the_best_first(seed: int) -> None:
    forecasts, scoring = case(seed, 4)
    picks = greedy_picks(forecasts, scoring, rounds=2)
    singles = [scoring.score(member) for member in forecasts]
    first = int(np.argmin(singles))
    pairs = [scoring.score((forecasts[first] + member) / 2) for member in forecasts]
    assert picks[0] == first
    if min(pairs) < singles[first]:
        assert picks[1] == int(np.argmin(pairs))
    else:
        assert len(picks) == 1


def test_greedy_selection_reaches_the_best_of_all_small_ensembles_where_errors_are_opposite() -> None:
    actual = np.zeros((1, 3, 2))
    scoring = Scoring("mae", actual, np.ones(3), np.ones(3))
    forecasts = np.stack([np.full_like(actual, value) for value in (1.0, -2.0, 5.0)])
    picks = greedy_picks(forecasts, scoring)
    best = min(
        scoring.score(np.mean([forecasts[place] for place in chosen], axis=0))
        for size in (1, 2, 3)
        for chosen in combinations_with_replacement(range(3), size)
    )
    assert scoring.score(np.tensordot(weights_after(picks, len(picks), 3), forecasts, 1)) == pytest.approx(best)
    assert best == 0.0  # two of the first and one of the second


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), members=st.integers(1, 6), rounds=st.integers(1, 12))
def test_greedy_weights_add_up_and_are_never_worse_than_the_best_member_where_selected(
    seed: int, members: int, rounds: int
) -> None:
    forecasts, scoring = case(seed, members)
    weights = weights_after(greedy_picks(forecasts, scoring, rounds=rounds), rounds, members)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    best = min(scoring.score(member) for member in forecasts)
    assert scoring.score(np.tensordot(weights, forecasts, 1)) <= best * (1 + 1e-12)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    members=st.integers(1, 5),
    cutoffs=st.integers(1, 4),
    series=st.sampled_from([1, 3, 9, 50]),
)
def test_chosen_weights_add_up_to_one_for_every_series(seed: int, members: int, cutoffs: int, series: int) -> None:
    forecasts, scoring = case(seed, members, cutoffs=cutoffs, series=series)
    groups = np.arange(series) % len(GROUPS)
    chosen = choose_weights(forecasts, scoring, groups)
    weights = chosen.of_series(groups)
    assert weights.shape == (members, series)
    assert np.allclose(weights.sum(0), 1)
    assert (weights >= 0).all()
    assert chosen.forecast.shape == scoring.actual.shape
    assert np.isfinite(chosen.left_out)


def test_left_out_forecasts_of_a_cutoff_do_not_depend_on_its_observed_values() -> None:
    forecasts, scoring = case(3, 4, series=6)
    groups = np.zeros(6, np.int64)
    first = choose_weights(forecasts, scoring, groups)
    from neuro_divergent.search.auto.combination import _Selection

    changed = scoring.actual.copy()
    changed[1] += 100.0
    other = Scoring("mase", changed, scoring.scale, scoring.scale)
    before = _Selection.of(forecasts, scoring).left_out_forecast(first.rule)
    after = _Selection.of(forecasts, other).left_out_forecast(first.rule)
    assert np.array_equal(before[1], after[1])
    assert not np.array_equal(before[0], after[0]) or not np.array_equal(before[2], after[2])


def test_a_group_for_which_another_member_is_much_better_gets_weights_of_its_own() -> None:
    generator = np.random.default_rng(0)
    actual = generator.normal(0, 1, (3, 60, 4))
    groups = np.repeat([0, 3], 30)
    noise = generator.normal(0, 0.1, actual.shape)
    one, other = actual + noise, actual + noise
    one[:, :30] += 5
    other[:, 30:] += 5
    scoring = Scoring("mae", actual, np.ones(60), np.ones(60))
    chosen = choose_weights(np.stack([one, other]), scoring, groups)
    assert set(chosen.by_group) == {"intermittent", "smooth"}
    weights = chosen.of_series(groups)
    assert (weights[1, :30] > 0.9).all()
    assert (weights[0, 30:] > 0.9).all()


def test_groups_share_weights_where_nothing_tells_them_apart() -> None:
    forecasts, scoring = case(5, 3, series=80, horizon=6)
    chosen = choose_weights(forecasts, scoring, np.arange(80) % 2)
    assert chosen.by_group == {}


def test_without_anything_to_leave_out_the_best_few_have_equal_weights() -> None:
    forecasts, scoring = case(2, 5, cutoffs=1, series=1)
    chosen = choose_weights(forecasts, scoring, np.zeros(1, np.int64))
    scores = np.array([scoring.score(member) for member in forecasts])
    assert np.allclose(chosen.overall, equal_weights(scores, 3))
