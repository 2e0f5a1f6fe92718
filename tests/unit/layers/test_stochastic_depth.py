from __future__ import annotations

import pytest
import torch

from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.layers.encoder import EncoderLayer
from neuro_divergent.layers.stochastic_depth import StochasticDepth, growing_rates
from neuro_divergent.models.itransformer import ITransformer
from neuro_divergent.models.nbeats import NBEATS


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("shape", [(3,), (2, 5)])
def test_rows_are_dropped_whole_and_independently_and_the_mean_stays(rate: float, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    rows = 20_000
    branch = torch.rand(rows, *shape) + 1
    factor = StochasticDepth(rate)(branch) / branch
    kept = factor.flatten(1)[:, 0] > 0
    for row_factor in factor.flatten(1).T:
        torch.testing.assert_close(row_factor, kept / (1 - rate))
    error = (rate * (1 - rate) / rows) ** 0.5
    assert abs(float(kept.float().mean()) - (1 - rate)) < 4 * error
    assert abs(float(factor.mean()) - 1) < 4 * error / (1 - rate)
    centred = kept.float() - (1 - rate)
    assert abs(float((centred[1:] * centred[:-1]).mean())) < 4 * rate * (1 - rate) / rows**0.5


def test_evaluation_and_a_rate_of_zero_are_the_identity() -> None:
    branch = torch.randn(4, 3)
    assert StochasticDepth(0.5).eval()(branch) is branch
    assert StochasticDepth(0.0)(branch) is branch


def test_rates_grow_linearly_with_depth() -> None:
    assert growing_rates(0.5, 5) == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert growing_rates(0.0, 3) == [0.0] * 3
    layers = ITransformer(num_layers=4, stochastic_depth=0.2, hidden_size=8, feedforward_size=8)
    network = layers.build(TaskSpec(2, 4, channels=2))
    assert [layer.depth.rate for layer in network.layers] == pytest.approx([0.05, 0.1, 0.15, 0.2])


def test_an_encoder_layer_leaves_a_row_that_lost_both_branches_to_its_norms() -> None:
    torch.manual_seed(0)
    layer = EncoderLayer(
        8, num_heads=2, feedforward_size=12, activation="GELU", dropout=0.0, norm="layer", stochastic_depth=0.5
    )
    tokens = torch.randn(400, 3, 8)
    skipped = layer.feedforward_norm(layer.attention_norm(tokens))
    same = (layer(tokens) - skipped).abs().amax((1, 2)) < 1e-6
    assert abs(float(same.float().mean()) - 0.25) < 5 * (0.25 * 0.75 / 400) ** 0.5


def test_a_skipped_block_neither_explains_nor_forecasts() -> None:
    torch.manual_seed(0)
    config = NBEATS(stacks=("generic",) * 2, hidden_size=8, stochastic_depth=0.5)
    network, values = config.build(TaskSpec(3, 6)), torch.randn(1, 6, 1)
    stack, history = network.stack, values[..., 0]
    # Two blocks are skipped at rates 1/4 and 1/2, and count 4/3 and 2 times when they are not.
    outcomes = []
    for first in (0, 4 / 3):
        for second in (0, 2):
            backcast, part = stack.blocks[0](history.flip(1))
            _, rest = stack.blocks[1](history.flip(1) - first * backcast, with_backcast=False)
            outcomes.append(history[:, -1:, None] + first * part + second * rest)
    rows = 4000
    many = values.expand(rows, -1, -1)
    forecast = network(Batch(many, torch.ones_like(many)))[:, :, 0]
    distance = (forecast[:, None] - torch.stack(outcomes, 1)).abs().amax((2, 3))
    assert (distance.amin(1) < 1e-5).all()
    seen = torch.bincount(distance.argmin(1), minlength=4) / rows
    for share, expected in zip(seen.tolist(), (1 / 8, 1 / 8, 3 / 8, 3 / 8), strict=True):
        assert abs(share - expected) < 5 * (expected * (1 - expected) / rows) ** 0.5
    network.eval()
    backcast, part = stack.blocks[0](history.flip(1))
    _, rest = stack.blocks[1](history.flip(1) - backcast, with_backcast=False)
    expected_forecast = history[:, -1:, None] + part + rest
    torch.testing.assert_close(network(Batch(values, torch.ones_like(values)))[:, :, 0], expected_forecast)
