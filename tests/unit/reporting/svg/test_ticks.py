"""Round numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.reporting.svg.ticks import power_ticks, round_ticks


def test_round_ticks() -> None:
    assert round_ticks(0, 10) == [0, 5, 10]
    assert round_ticks(0.13, 1.02, 6) == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert round_ticks(-3, 4, 5) == [-2, 0, 2, 4]
    assert round_ticks(7, 7) == [7]


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 8))
def test_ticks_lie_inside_and_are_not_too_many(low: float, size: float, most: int) -> None:
    ticks = round_ticks(low, low + size, most)
    assert len(ticks) <= most
    assert all(low - 1e-6 * size <= tick <= low + size * (1 + 1e-6) for tick in ticks)


def test_power_ticks() -> None:
    assert power_ticks(0.1, 10) == pytest.approx([0.1, 0.3, 1, 3, 10])
    assert power_ticks(1, 8) == [1, 2, 5]
    assert len(power_ticks(1e-9, 1e9)) <= 5
