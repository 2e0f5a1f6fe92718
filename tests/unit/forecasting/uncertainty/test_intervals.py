"""Half-widths of intervals against the definition of split-conformal prediction."""

from __future__ import annotations

import math

import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.forecasting.uncertainty.intervals import Intervals
from neuro_divergent.forecasting.uncertainty.requested import interval_quantiles


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_half_width_is_the_conformal_rank(level: float) -> None:
    errors = torch.rand(99, 3, generator=torch.Generator().manual_seed(0))
    widths = Intervals(errors.sort(0).values).half_widths(level)
    rank = math.ceil(100 * level)
    for step in range(3):
        assert float(widths[step]) == float(errors[:, step].sort().values[rank - 1])


def test_coverage_on_new_errors_is_the_requested_level() -> None:
    generator = torch.Generator().manual_seed(1)
    inside = []
    for _ in range(200):
        known, fresh = torch.randn(60, 1, generator=generator).abs(), torch.randn(50, 1, generator=generator).abs()
        inside.append(float((fresh <= Intervals(known.sort(0).values).half_widths(0.8)).float().mean()))
    # Split-conformal covers between the level and the level plus 1 / (number of errors + 1).
    assert 0.79 <= sum(inside) / len(inside) <= 0.83


def test_few_errors_are_pooled_with_those_of_neighbouring_steps() -> None:
    errors = torch.arange(30.0).reshape(3, 10).sort(0).values
    with pytest.raises(nd.errors.InputError, match="level 99 needs at least 99 validation errors, there are 30"):
        Intervals(errors).half_widths(0.99)
    # 40 errors are wanted and there are three per step, so all ten steps serve each of them.
    assert Intervals(errors).half_widths(0.8).tolist() == [24.0] * 10


def test_levels_become_central_quantiles() -> None:
    assert interval_quantiles(80) == pytest.approx((0.1, 0.9))
    assert interval_quantiles(95) == pytest.approx((0.025, 0.975))
