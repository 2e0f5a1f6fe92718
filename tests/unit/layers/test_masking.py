from __future__ import annotations

import pytest
import torch

from neuro_divergent.layers.masking import observed


@pytest.mark.parametrize("shape", [(4, 5, 1), (4, 5, 3), (1, 5, 1), (4, 1, 1)])
def test_an_expanded_one_means_all_observed_and_nothing_is_copied(shape: tuple[int, ...]) -> None:
    values = torch.randn(shape)
    for one in (torch.ones(1, 1, 1), torch.ones(())):
        result, mask = observed(values, one.expand(shape))
        assert result is values
        assert mask is None


@pytest.mark.parametrize("shape", [(4, 5, 1), (1, 1, 1), (2, 1, 1)])
def test_masked_values_become_zero(shape: tuple[int, ...]) -> None:
    values, mask = torch.randn(shape), torch.zeros(shape)
    mask[-1] = 1
    result, kept = observed(values, mask)
    assert kept is mask
    assert torch.equal(result, torch.where(mask.bool(), values, 0.0))
    if len(mask) == 1:
        assert not observed(values, torch.zeros(shape))[0].any()


def test_a_mask_that_is_shared_by_channels_still_counts() -> None:
    mask = torch.tensor([1.0, 0.0, 1.0])[None, :, None].expand(2, 3, 4)
    result, _ = observed(torch.ones(2, 3, 4), mask)
    assert torch.equal(result, mask)
