"""The sequential test: a fair game, the same after a restart, and the same block never twice."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.errors import InputError, UntrustedFileError
from neuro_divergent.lifecycle.promotion.e_process import EProcess

DIFFERENCES = st.floats(-1e6, 1e6)


def after(values: list[float], process: EProcess | None = None) -> EProcess:
    process = process or EProcess()
    for index, value in enumerate(values):
        process = process.update(index, value)
    return process


def brute_force(values: list[float], bet: float = 0.25, clip: float = 2.5) -> float:
    """Return the value by the formula: scales from weighted sums over all earlier differences."""
    product = 1.0
    for place, value in enumerate(values):
        earlier = np.array(values[:place])
        weights = 0.95 ** np.arange(place)[::-1]
        if place < 2 or not np.abs(earlier).any():
            continue
        size = np.average(np.abs(earlier), weights=weights) * math.sqrt(math.pi / 2)
        variance = np.cov(earlier, aweights=weights, bias=True) * place / (place - 1)
        scale = max(math.sqrt(variance), 0.4 * size)
        product *= 1 + bet * float(np.clip(value / scale, -clip, clip))
    return product


@given(st.lists(DIFFERENCES.filter(lambda value: value == 0 or abs(value) > 1e-6), max_size=40))
def test_value_is_the_product_of_bets_on_differences_scaled_by_earlier_ones(values: list[float]) -> None:
    assert after(values).value == pytest.approx(brute_force(values), rel=1e-9)


@pytest.mark.parametrize("sizes", [[1.0] * 14, [0.1, 3.0, 1.0, 7.0, 0.5, 2.0, 2.0, 9.0, 0.2, 1.0, 4.0, 1.0, 30.0, 0.1]])
def test_expected_value_over_all_signs_is_exactly_one(sizes: list[float]) -> None:
    # Signs of a fair coin in all 2 ** 14 orders: the expectation is the mean over them, whatever the sizes are.
    best, last = [], []
    for signs in itertools.product((-1.0, 1.0), repeat=len(sizes)):
        process, largest = EProcess(), 0.0
        for index, (sign, size) in enumerate(zip(signs, sizes, strict=True)):
            process = process.update(index, sign * size)
            largest = max(largest, process.value)
        best.append(largest)
        last.append(process.value)
    assert np.mean(last) == pytest.approx(1.0, abs=1e-12)
    for threshold in (2, 4, 8):
        assert np.mean(np.array(best) >= threshold) <= 1 / threshold


@given(st.lists(DIFFERENCES | st.sampled_from([math.inf, -math.inf]), max_size=30), st.integers(0, 30))
def test_restart_through_json_continues_bit_for_bit(values: list[float], place: int) -> None:
    uninterrupted = after(values)
    process = after(values[:place])
    process = EProcess.from_dict(json.loads(json.dumps(process.to_dict(), allow_nan=False)))
    for index, value in enumerate(values[place:], start=place):
        process = process.update(index, value)
    assert process == uninterrupted


def test_block_that_was_seen_or_is_older_changes_nothing() -> None:
    process = after([1.0, 1.0, 1.0])
    assert process.update(2, -50.0) == process
    assert process.update(0, 50.0) == process
    assert process.update(7, 1.0).blocks == 4


def test_scale_does_not_depend_on_the_block_itself() -> None:
    # Within the clip the factor is linear in the difference: its slope is the scale of the past.
    past = after([0.5, -1.0, 2.0])
    one, two = (past.update(3, value).value / past.value - 1 for value in (0.4, 0.8))
    assert two == pytest.approx(2 * one, rel=1e-12)


def test_first_two_blocks_and_blocks_without_difference_leave_the_value_at_one() -> None:
    assert after([5.0, -3.0]).value == 1.0
    assert after([0.0] * 60).value == 1.0
    assert after([0.0, 5e-324, 1.0]).value == 1.0  # a scale that underflows is none


@pytest.mark.parametrize(("difference", "factor"), [(1e9, 1.625), (math.inf, 1.625), (-1e9, 0.375), (-math.inf, 0.375)])
def test_one_block_changes_the_value_by_a_bounded_factor(difference: float, factor: float) -> None:
    past = after([1.0, -1.0])
    assert past.update(2, difference).value == pytest.approx(factor)


def test_numbers_that_grow_without_bound_stay_finite() -> None:
    process = after([1e90 * (index + 1) for index in range(3000)])
    assert math.isfinite(process.value)
    assert all(math.isfinite(value) for value in process.to_dict().values())


def test_block_without_a_difference_is_refused() -> None:
    with pytest.raises(InputError, match="NaN"):
        EProcess().update(0, math.nan)


def test_bet_that_could_lose_everything_is_refused() -> None:
    with pytest.raises(InputError, match="below 1"):
        EProcess(bet=0.5, clip=2.0)


@pytest.mark.parametrize("change", [{"log_value": math.nan}, {"blocks": 1.5}, {"size": "1"}, {"more": 1}])
def test_damaged_state_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(UntrustedFileError, match="state of a sequential test"):
        EProcess.from_dict({**EProcess().to_dict(), **change})
