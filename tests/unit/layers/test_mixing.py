from __future__ import annotations

import pytest
import torch

from neuro_divergent.layers.mixing import FeatureMixing, TimeMixing, WindowBatchNorm, mixing_layer
from neuro_divergent.layers.normalization import Normalization

SETTINGS = {"dropout": 0.0, "norm": "batch", "norm_place": "before"}


def moved(layer: torch.nn.Module) -> torch.Tensor:
    """Return which numbers of a window (6 steps, 4 features) change when feature 2 of step 3 does."""
    torch.manual_seed(0)
    values = torch.randn(1, 6, 4)
    changed = values.clone()
    changed[0, 3, 2] += 1
    layer.eval()
    return (layer(values) != layer(changed))[0]


def test_time_is_mixed_within_a_feature() -> None:
    mask = moved(TimeMixing(6, 4, **SETTINGS))
    assert mask[:, 2].sum() > 1
    assert not mask[:, [0, 1, 3]].any()


def test_features_are_mixed_within_a_step() -> None:
    mask = moved(FeatureMixing(6, 4, 4, hidden_size=8, **SETTINGS))
    assert mask[3].all()
    assert not mask[[0, 1, 2, 4, 5]].any()


def test_a_layer_mixes_both_and_changes_the_number_of_features() -> None:
    layer = mixing_layer(6, 4, 5, hidden_size=32, **SETTINGS).eval()
    assert layer(torch.randn(2, 6, 4)).shape == (2, 6, 5)


@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_a_norm_afterwards_is_what_comes_out(norm: Normalization) -> None:
    torch.manual_seed(0)
    output = TimeMixing(6, 4, dropout=0.0, norm=norm, norm_place="after")(torch.randn(64, 6, 4) * 3 + 1)
    over = 0 if norm == "batch" else (1, 2)
    mean, spread = output.mean(over), output.std(over, correction=0)
    torch.testing.assert_close(mean, torch.zeros_like(mean), atol=1e-5, rtol=0)
    torch.testing.assert_close(spread, torch.ones_like(spread), atol=2e-3, rtol=0)


def test_window_norm_has_parameters_for_each_step_and_feature() -> None:
    norm = WindowBatchNorm(2, 3)
    norm(torch.arange(6.0).view(1, 2, 3).expand(4, 2, 3))
    torch.testing.assert_close(norm.running_mean, torch.arange(6.0) * 0.01)
