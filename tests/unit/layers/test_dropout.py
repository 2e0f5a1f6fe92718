from __future__ import annotations

import pytest
import torch
from torch import nn

from neuro_divergent.layers.dropout import Dropout

LARGE, SMALL = (7, 31, 101), (3, 5)  # drawn here, and by torch; neither is a multiple of four


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.9])
def test_dropout_is_independent_and_keeps_the_mean(share: float) -> None:
    torch.manual_seed(0)
    count = 400_000
    factor = Dropout(share)(torch.ones(count))
    kept = factor > 0
    error = (share * (1 - share) / count) ** 0.5
    assert abs(float(kept.double().mean()) - (1 - share)) < 4 * error + 2**-16
    torch.testing.assert_close(factor, kept / (1 - share), rtol=2**-12, atol=0)
    assert abs(float(factor.double().mean()) - 1) < 4 * error / (1 - share)
    centred = kept.double() - (1 - share)
    for lag in (1, 2, 3, 4, 8, 64):  # several are decided by one random integer
        assert abs(float((centred[lag:] * centred[:-lag]).mean())) < 4 * share * (1 - share) / count**0.5 + 2**-16


@pytest.mark.parametrize("share", [1e-9, 1 - 1e-9])
def test_dropout_rates_near_0_and_1_give_finite_values(share: float) -> None:
    assert Dropout(share)(torch.ones(LARGE)).isfinite().all()


def test_every_part_of_the_random_integer_is_uniform() -> None:
    torch.manual_seed(0)
    kept = (Dropout(0.25)(torch.ones(100_000, 4)) > 0).double().mean(0)
    torch.testing.assert_close(kept, torch.full_like(kept, 0.75), atol=0.006, rtol=0)


@pytest.mark.parametrize("shape", [LARGE, SMALL])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_gradients_are_those_of_the_factors(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    values = torch.rand(shape).to(dtype).add(1).requires_grad_()
    output = Dropout(0.4)(values)
    assert output.dtype is dtype
    output.sum().backward()
    assert values.grad is not None
    assert torch.equal(values.grad > 0, output > 0)
    torch.testing.assert_close(values.grad * values, output)


@pytest.mark.parametrize("shape", [LARGE, SMALL])
def test_the_seed_decides_and_two_draws_differ(shape: tuple[int, ...]) -> None:
    dropout, values = Dropout(0.5), torch.ones(shape)
    torch.manual_seed(3)
    first, second = dropout(values), dropout(values)
    torch.manual_seed(3)
    assert torch.equal(dropout(values), first)
    assert not torch.equal(first, second)


def test_dropout_in_evaluation_or_with_rate_zero_is_the_identity() -> None:
    values = torch.randn(LARGE)
    assert Dropout(0.5).eval()(values) is values
    assert Dropout(0.0)(values) is values
    assert not Dropout(1.0)(values).any()
    assert isinstance(Dropout(), nn.Dropout)


def test_reads_values_that_are_not_contiguous() -> None:
    values = torch.ones(64, 3, 50).transpose(0, 2)
    output = Dropout(0.5)(values)
    assert output.shape == values.shape
    assert set(output.unique().tolist()) == {0.0, 2.0}
