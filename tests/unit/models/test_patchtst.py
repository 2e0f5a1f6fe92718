"""PatchTST: patches, level and spread, and the network for pre-training."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.layers.patching import cut_patches, cut_side_by_side, join_patches, num_patches, patch_length
from neuro_divergent.layers.revin import Standardisation
from neuro_divergent.models.patchtst import PatchTST


@pytest.mark.parametrize(("history", "wanted", "stride"), [(12, 4, 2), (13, 4, 3), (5, 16, 8), (1, 16, 8), (96, 16, 8)])
def test_patches_are_slices_of_the_lengthened_history(history: int, wanted: int, stride: int) -> None:
    values = torch.arange(2.0 * history).view(2, history)
    length = patch_length(wanted, stride, history)
    patches = cut_patches(values, length, stride)
    assert patches.shape[1] == num_patches(length, stride, history)
    for row, patched in zip(values.tolist(), patches.tolist(), strict=True):
        longer = row + [row[-1]] * stride
        starts = range(0, len(longer) - length + 1, stride)
        assert patched == [longer[start : start + length] for start in starts]


def test_patches_side_by_side_end_with_the_last_value() -> None:
    patches = cut_side_by_side(torch.arange(1.0, 8.0)[None], 3)
    assert patches.tolist() == [[[1, 1, 1], [2, 3, 4], [5, 6, 7]]]


@pytest.mark.parametrize("history", [12, 14])
def test_patches_that_do_not_overlap_join_to_the_history(history: int) -> None:
    values = torch.randn(3, history)
    assert torch.equal(join_patches(cut_patches(values, 4, 4), history), values)


@pytest.mark.parametrize("level", ["mean", "last"])
def test_level_and_spread_are_those_of_what_was_observed(level: str) -> None:
    values = torch.randn(2, 9, 3, dtype=torch.float64)
    mask = (torch.rand_like(values) > 0.4).double()
    mask[:, 2] = 1
    window = Standardisation.of(values * mask, mask, level)  # type: ignore[arg-type]
    for row in range(2):
        for channel in range(3):
            seen = values[row, :, channel].numpy()[mask[row, :, channel].numpy() > 0]
            expected = seen.mean() if level == "mean" else seen[-1]
            assert np.isclose(window.level[row, 0, channel], expected)
            assert np.isclose(window.spread[row, 0, channel], np.sqrt(seen.var() + 1e-5))
    restored = window.restore(window.remove(values * mask)[..., None])[..., 0]
    torch.testing.assert_close(restored * mask, values * mask)


def test_reconstruction_shares_the_encoder_and_does_not_read_masked_values() -> None:
    torch.manual_seed(0)
    config = PatchTST(patch_length=4, stride=4, hidden_size=16, feedforward_size=16, norm="layer")
    spec = TaskSpec(6, 12, channels=2)
    network, made = config.build(spec), config.reconstruction(spec)
    assert made.patch_length == 4
    reconstruction = made.network.eval()
    of_encoder = {key: value for key, value in reconstruction.state_dict().items() if not key.startswith("head.")}
    left = network.load_state_dict(of_encoder, strict=False)
    assert set(left.missing_keys) == {"head.weight", "head.bias"}
    assert not left.unexpected_keys

    values, mask = torch.randn(3, 12, 2), torch.ones(3, 12, 2)
    mask[:, 4:8] = 0
    output = reconstruction(Batch(values, mask))
    assert output.shape == (3, 12, 2, 1)
    values[:, 4:8] = 100.0
    assert torch.equal(reconstruction(Batch(values, mask)), output)


def test_pre_training_needs_patches_that_do_not_overlap() -> None:
    with pytest.raises(ConfigError, match="do not overlap"):
        PatchTST().reconstruction(TaskSpec(6, 48))
