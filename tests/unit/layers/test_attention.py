from __future__ import annotations

import math

import pytest
import torch

from neuro_divergent.layers.attention import SelfAttention
from neuro_divergent.layers.encoder import EncoderLayer


@pytest.mark.parametrize("num_heads", [1, 2, 4])
def test_attention_is_a_softmax_weighted_mean_of_values(num_heads: int) -> None:
    torch.manual_seed(0)
    attention, tokens = SelfAttention(8, num_heads).double(), torch.randn(3, 5, 8, dtype=torch.float64)
    width = 8 // num_heads
    query, key, value = attention.query_key_value(tokens).split(8, -1)
    heads = []
    for head in range(num_heads):
        part = slice(head * width, (head + 1) * width)
        scores = query[..., part] @ key[..., part].transpose(1, 2) / math.sqrt(width)
        heads.append(torch.softmax(scores, -1) @ value[..., part])
    torch.testing.assert_close(attention(tokens), attention.output(torch.cat(heads, -1)))


def test_attention_drops_weights_only_in_training() -> None:
    torch.manual_seed(0)
    attention, tokens = SelfAttention(8, 2, dropout=0.5), torch.randn(3, 5, 8)
    assert not torch.equal(attention(tokens), attention(tokens))
    attention.eval()
    assert torch.equal(attention(tokens), attention(tokens))


def test_encoder_layer_is_torchs() -> None:
    torch.manual_seed(0)
    layer = EncoderLayer(8, num_heads=2, feedforward_size=12, activation="GELU", dropout=0.1).eval()
    reference = torch.nn.TransformerEncoderLayer(8, 2, 12, activation="gelu", batch_first=True).eval()
    weights = layer.state_dict()
    renamed = {
        "self_attn.in_proj_": "attention.query_key_value.",
        "self_attn.out_proj.": "attention.output.",
        "linear1.": "feedforward.0.",
        "linear2.": "feedforward.3.",
        "norm1.": "attention_norm.",
        "norm2.": "feedforward_norm.",
    }
    reference.load_state_dict(
        {f"{a}{end}": weights[f"{b}{end}"] for a, b in renamed.items() for end in ("weight", "bias")}
    )
    tokens = torch.randn(3, 5, 8)
    with torch.no_grad():
        torch.testing.assert_close(layer(tokens), reference(tokens), atol=1e-5, rtol=1e-5)
