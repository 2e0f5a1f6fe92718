"""How often a shadow test promotes, by simulation: equal challengers and better ones, looked at after every block."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.unit.lifecycle.promotion.losses import HORIZON, blocks_of, differences, promoted

REPETITIONS = 600
KINDS = ["independent", "heavy tails", "volatility clusters", "autocorrelated"]


def at_most(fraction: float) -> float:
    """Return what a fraction of that size stays below in all but one of 10,000 simulations."""
    return float(stats.binom.ppf(1 - 1e-4, REPETITIONS, fraction)) / REPETITIONS


@pytest.mark.parametrize("kind", KINDS)
def test_equal_challenger_is_promoted_in_at_most_5_percent_with_a_look_after_every_block(kind: str) -> None:
    assert promoted(kind, gain=0.0, repetitions=REPETITIONS) <= 0.05


@pytest.mark.parametrize("kind", KINDS[:3])
def test_gain_of_a_tenth_is_promoted_in_80_percent_within_60_blocks(kind: str) -> None:
    assert promoted(kind, gain=0.1, repetitions=REPETITIONS) >= 0.8


def test_worse_challenger_is_hardly_ever_promoted() -> None:
    assert promoted("independent", gain=-0.1, repetitions=REPETITIONS) <= at_most(0.001)


def test_t_test_looked_at_after_every_block_promotes_equal_challengers_often() -> None:
    # The reason for the e-process, and a check that these simulations can tell a wrong rule.
    rows = differences("independent", repetitions=REPETITIONS, steps=60 * 2 * HORIZON)
    means = np.array([[block.difference for block in blocks_of(row)] for row in rows])
    hits = np.zeros(len(means), bool)
    for count in range(3, 61):
        hits |= stats.ttest_1samp(means[:, :count], 0, axis=1, alternative="greater").pvalue < 0.05
    assert hits.mean() > 0.2
