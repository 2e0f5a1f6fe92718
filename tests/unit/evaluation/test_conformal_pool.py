"""Conformal quantiles of groups, trackers and spreads against plain loops."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import InputError
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.evaluation.conformal.online import walk
from neuro_divergent.evaluation.conformal.pool import ENOUGH, widths
from neuro_divergent.evaluation.conformal.spread import spread_before


def weighted(values: np.ndarray, groups: np.ndarray, group: int, share: float) -> float:
    """The smallest value whose weight, with all below it, reaches the share of the weight and one more."""
    pool = max(ENOUGH, math.ceil(share / (1 - share) - 1e-9))
    weight = (groups == group) + pool / len(values)
    total = weight.sum() + 1
    for value in np.sort(values):
        if weight[values <= value].sum() >= share * total - 1e-6:
            return float(value)
    raise AssertionError("the weights do not reach the share")


@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 60), min_size=1, max_size=4),
    st.sampled_from([0.5, 0.8, 0.9, 0.95]),
)
@settings(max_examples=60, deadline=None)
def test_width_of_a_group_weights_its_scores_and_the_pool(seed: int, sizes: list[int], share: float) -> None:
    random = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes) + 1), [*sizes, 25])
    values = random.exponential(size=len(groups)) * (1 + groups)
    made = widths(values[:, None], share, by="step", groups=groups)[:, 0]
    for group in range(len(sizes) + 1):
        assert made[group] == weighted(values, groups, group, share)
    assert made[-1] == np.sort(values)[math.ceil((len(values) + 1) * share - 1e-9) - 1]


def test_steps_with_few_scores_are_pooled_with_neighbours() -> None:
    scores = np.random.default_rng(0).exponential(size=(20, 6))
    made = widths(scores, 0.9, by="step")[0]
    for step, (begin, end) in enumerate([(0, 2), (0, 2), (1, 3), (2, 4), (3, 5), (4, 6)]):
        assert made[step] == np.sort(scores[:, begin:end].reshape(-1))[math.ceil(41 * 0.9) - 1]
    with pytest.raises(InputError, match=r"at least 199 errors.*there are 120"):
        widths(scores, 0.995, by="pooled")


def test_trackers_use_a_value_from_when_it_is_observed() -> None:
    """One tracker for all steps: the widths of each window follow from the truths before its first target alone."""
    random = np.random.default_rng(1)
    scores = random.exponential(size=(12, 1, 1, 3))
    times = 5 * np.arange(12)[:, None] + np.array([0, 5, 10])  # windows overlap
    common = {
        "start": np.ones((1, 1, 1, 3)),
        "middle": np.zeros((1, 1, 3)),
        "scale": np.ones((1, 1, 3)),
        "misses": np.array([[0.2]]),
        "by": "pooled",
    }
    whole = walk(scores, times, np.zeros(12, np.int64), **common).widths
    assert whole[0] == pytest.approx(np.ones((1, 1, 3)))
    for window in range(1, 12):
        known = scores.copy()
        known[:, 0, 0][times >= times[window, 0]] = np.nan
        again = walk(known, times, np.zeros(12, np.int64), **common).widths
        assert np.array_equal(again[: window + 1], whole[: window + 1])
        assert not np.array_equal(whole[window], whole[window - 1])


def test_spread_is_that_of_the_observed_history() -> None:
    random = np.random.default_rng(0)
    y = random.normal(1e4, 3, 40).astype(np.float32)
    mask = random.random(40) > 0.3
    y[~mask] = 0
    y[20:30] = 7.0
    mask[20:30] = True
    panel = Panel(
        schema=Schema(id="unique_id"),
        ids=pl.Series(["a"]),
        starts=pl.Series([0]),
        frequency=Frequency(1, ""),
        offsets=np.array([0, 40]),
        y=y,
        mask=mask,
    )
    rows = np.array([8, 15, 30, 40])
    expected = [y[row - 8 : row][mask[row - 8 : row]].astype(np.float64).std() for row in rows]
    expected[2] = 1.0  # it never moved
    assert spread_before(panel, rows, 8) == pytest.approx(expected)
