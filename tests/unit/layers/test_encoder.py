from __future__ import annotations

import pytest
import torch
from torch import nn

from neuro_divergent.layers.encoder import Encoder, EncoderLayer, feedforward


def test_layers_run_in_turn_with_something_between_and_a_norm_at_the_end() -> None:
    torch.manual_seed(0)
    layers, between = [nn.Linear(4, 4) for _ in range(3)], [nn.Linear(4, 4) for _ in range(2)]
    norm, tokens = nn.LayerNorm(4), torch.randn(2, 5, 4)
    expected = norm(layers[2](between[1](layers[1](between[0](layers[0](tokens))))))
    torch.testing.assert_close(Encoder(layers, norm, between)(tokens), expected)
    torch.testing.assert_close(Encoder(layers, norm)(tokens), norm(layers[2](layers[1](layers[0](tokens)))))


def test_layer_takes_any_attention_and_any_norm() -> None:
    class Shift(nn.Module):
        def forward(self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
            return queries + keys + values

    layer = EncoderLayer(
        4, attention=Shift(), norm=nn.Identity, bias=False, feedforward_size=3, activation="ReLU", dropout=0.0
    )
    tokens = torch.randn(2, 5, 4)
    torch.testing.assert_close(layer(tokens), 4 * tokens + layer.feedforward(4 * tokens))
    assert {key for key, _ in layer.named_parameters()} == {"feedforward.0.weight", "feedforward.2.weight"}


@pytest.mark.parametrize("bias", [True, False])
def test_feedforward_has_biases_if_wanted(bias: bool) -> None:
    count = sum(value.numel() for value in feedforward(4, 3, "GELU", 0.1, bias=bias).parameters())
    assert count == 24 + (7 if bias else 0)
