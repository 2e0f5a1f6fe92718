"""Bounding gradients."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import neuro_divergent as nd


def parameters(*values: list[float], dtype: torch.dtype = torch.float64) -> list[nn.Parameter]:
    made = [nn.Parameter(torch.zeros(len(value), dtype=dtype)) for value in values]
    for parameter, value in zip(made, values, strict=True):
        parameter.grad = torch.tensor(value, dtype=dtype)
    return made


numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4)


@given(st.lists(numbers, min_size=1, max_size=4), st.floats(1e-3, 1e3))
def test_clipping_by_norm_is_torchs(values: list[list[float]], limit: float) -> None:
    ours, theirs = parameters(*values), parameters(*values)
    norm = nd.ClipNorm(limit).clip(ours)
    assert float(norm) == pytest.approx(float(nn.utils.clip_grad_norm_(theirs, limit)))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_gradients_of_several_types_are_clipped_together() -> None:
    mixed = [*parameters([3.0]), *parameters([4.0], dtype=torch.float32)]
    assert float(nd.ClipNorm(1.0).clip(mixed)) == pytest.approx(5.0)
    assert [float(parameter.grad) for parameter in mixed] == pytest.approx([0.6, 0.8], rel=1e-5)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_does_not_spoil_the_others(bad: float) -> None:
    both = parameters([bad, 1.0], [3.0])
    assert not torch.isfinite(nd.ClipNorm(1.0).clip(both))
    assert both[1].grad.tolist() == [3.0]
    assert both[0].grad.tolist()[1] == 1.0


def test_without_gradients_there_is_nothing_to_clip() -> None:
    assert float(nd.ClipNorm(1.0).clip([nn.Parameter(torch.ones(2))])) == 0.0


def test_clipping_by_value_bounds_each_entry_and_tells_the_norm_before() -> None:
    both = parameters([-3.0, 0.5], [4.0])
    assert float(nd.training.ClipValue(1.0).clip(both)) == pytest.approx(math.sqrt(9 + 0.25 + 16))
    assert [parameter.grad.tolist() for parameter in both] == [[-1.0, 0.5], [1.0]]


@pytest.mark.parametrize("size", [1e3, 1e22, 1e30])
def test_gradients_too_large_to_be_squared_are_still_clipped(size: float) -> None:
    parameters = [nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(2))]
    for parameter in parameters:
        parameter.grad = torch.full_like(parameter, size)
    norm = nd.ClipNorm(2.0).clip(parameters)
    assert float(norm) == pytest.approx(size * 5**0.5)
    clipped = torch.cat([parameter.grad for parameter in parameters])  # type: ignore[misc]
    assert float(clipped.norm()) == pytest.approx(2.0)


def test_the_norm_that_is_reported_is_the_one_before_the_first_clipping() -> None:
    both, context = parameters([3.0], [4.0]), nd.training.GradientContext()
    nd.ClipNorm(1.0).apply(both, context)
    nd.training.ClipValue(0.1).apply(both, context)
    assert float(context.norm) == pytest.approx(5.0)
    assert [parameter.grad.tolist() for parameter in both] == [[0.1], [0.1]]


def test_a_transform_that_does_not_clip_is_refused_as_clip() -> None:
    with pytest.raises(nd.errors.ConfigError, match=r"Unknown clipping 'noise'\. Known: norm, value"):
        nd.TrainingConfig(clip="noise")
