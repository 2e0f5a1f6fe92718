from __future__ import annotations

import pytest
import torch

from neuro_divergent.layers.reversible import RevIN


@pytest.mark.parametrize("affine", [False, True])
def test_revin_restores_the_input_scale(affine: bool) -> None:
    torch.manual_seed(0)
    revin = RevIN(3, affine)
    for value in revin.parameters():
        torch.nn.init.uniform_(value, 0.5, 2)
    values = torch.randn(4, 10, 3) * 5 + 7
    inside, measured = revin(values, None)
    torch.testing.assert_close(revin.restore(inside[..., None], measured)[..., 0], values)
    if not affine:
        torch.testing.assert_close(inside.mean(1), torch.zeros(4, 3), atol=1e-5, rtol=0)


def test_what_was_not_observed_stays_zero_in_spite_of_the_shift() -> None:
    revin = RevIN(1)
    torch.nn.init.ones_(revin.shift)
    mask = torch.tensor([1.0, 0.0, 1.0, 1.0]).view(1, 4, 1)
    inside, measured = revin(torch.tensor([2.0, 0.0, 4.0, 6.0]).view(1, 4, 1), mask)
    assert inside[0, 1, 0] == 0
    assert measured.level.item() == pytest.approx(4)
    assert inside[0, 2, 0].item() == pytest.approx(1)


def test_a_gain_of_zero_gives_finite_forecasts() -> None:
    revin = RevIN(1)
    torch.nn.init.zeros_(revin.gain)
    inside, measured = revin(torch.randn(2, 5, 1), None)
    assert revin.restore(inside[..., None], measured).isfinite().all()
