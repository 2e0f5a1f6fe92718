from __future__ import annotations

import torch

from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.models.softs import SOFTS, _Core

SMALL = SOFTS(hidden_size=8, core_size=6, feedforward_size=16, dropout=0.0)


def test_a_core_is_drawn_in_training_as_it_is_expected_afterwards() -> None:
    torch.manual_seed(0)
    core = _Core(SMALL, channels=5)
    offers = torch.randn(1, 5, 6)
    drawn = core.train()._pool(offers.expand(20000, 5, 6))
    assert drawn.shape == (20000, 1, 6)
    assert (drawn == offers).any(1).all()
    torch.testing.assert_close(drawn.mean(0, keepdim=True), core.eval()._pool(offers), atol=0.03, rtol=0)


def test_only_sharp_softs_has_positional_encoding() -> None:
    torch.manual_seed(0)
    spec = TaskSpec(4, 12, channels=4)
    values = torch.randn(3, 12, 4)
    order = torch.tensor([2, 0, 3, 1])
    for config in (SMALL, SMALL.replace(sharp=True)):
        network = config.build(spec).eval()
        forecast, permuted = network(Batch(values)), network(Batch(values[:, :, order]))
        assert torch.allclose(permuted, forecast[:, :, order], atol=1e-5) != config.sharp


def test_the_place_is_added_to_some_windows_in_training_and_weaker_to_all_afterwards() -> None:
    torch.manual_seed(0)
    core = _Core(SMALL.replace(sharp=True, position_rate=0.25), channels=3)
    tokens = torch.zeros(4000, 3, 8)
    placed = core.train()._placed(tokens)
    told = (placed != 0).any(2).any(1)
    torch.testing.assert_close(placed[told][0], core.positions)
    assert abs(told.float().mean().item() - 0.25) < 0.03
    torch.testing.assert_close(core.eval()._placed(tokens)[0], 0.25 * core.positions)
