from __future__ import annotations

import pytest
import torch

from neuro_divergent.layers.masking import observed


@pytest.mark.parametrize("shape", [(4, 5, 1), (4, 5, 3), (1, 5, 1), (4, 1, 1)])
def test_observed_without_mask_returns_the_values_themselves(shape: tuple[int, ...]) -> None:
    values = torch.randn(shape)
    result, mask = observed(values, None)
    assert result is values
    assert mask is None


def test_observed_with_an_expanded_zero_hides_everything() -> None:
    result, mask = observed(torch.ones(2, 3, 1), torch.zeros(1, 1, 1).expand(2, 3, 1))
    assert not result.any()
    assert mask is not None


@pytest.mark.parametrize("shape", [(4, 5, 1), (1, 1, 1), (2, 1, 1)])
def test_observed_sets_masked_values_to_zero(shape: tuple[int, ...]) -> None:
    values, mask = torch.randn(shape), torch.zeros(shape)
    mask[-1] = 1
    result, kept = observed(values, mask)
    assert kept is mask
    assert torch.equal(result, torch.where(mask.bool(), values, 0.0))
    if len(mask) == 1:
        assert not observed(values, torch.zeros(shape))[0].any()


def test_observed_applies_a_mask_expanded_over_channels() -> None:
    mask = torch.tensor([1.0, 0.0, 1.0])[None, :, None].expand(2, 3, 4)
    result, _ = observed(torch.ones(2, 3, 4), mask)
    assert torch.equal(result, mask)
