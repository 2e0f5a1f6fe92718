from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from neuro_divergent.layers.attention import Attention, DotProduct
from neuro_divergent.layers.decoder import Decoder, DecoderLayer, DecompositionDecoder, DecompositionLayer
from neuro_divergent.layers.decomposition import Decomposition, SeasonalNorm


def test_decoder_is_torchs() -> None:
    torch.manual_seed(0)
    decoder = Decoder(
        [
            DecoderLayer(
                8,
                self_attention=Attention(8, 2, scoring=DotProduct(causal=True)),
                cross_attention=Attention(8, 2),
                activation="GELU",
                feedforward_size=12,
                dropout=0.1,
            )
            for _ in range(2)
        ],
        nn.LayerNorm(8),
    ).eval()
    one = nn.TransformerDecoderLayer(8, 2, 12, activation="gelu", batch_first=True)
    reference = nn.TransformerDecoder(one, 2, nn.LayerNorm(8)).eval()
    renamed = {
        "self_attn.in_proj_": "self_attention.query_key_value.",
        "self_attn.out_proj.": "self_attention.output.",
        "multihead_attn.in_proj_": "cross_attention.query_key_value.",
        "multihead_attn.out_proj.": "cross_attention.output.",
        "linear1.": "feedforward.0.",
        "linear2.": "feedforward.3.",
        "norm1.": "self_norm.",
        "norm2.": "cross_norm.",
        "norm3.": "feedforward_norm.",
    }
    weights = decoder.state_dict()
    places = {f"layers.{layer}.{a}": f"layers.{layer}.{b}" for layer in range(2) for a, b in renamed.items()}
    places["norm."] = "norm."
    reference.load_state_dict(
        {f"{a}{end}": weights[f"{b}{end}"] for a, b in places.items() for end in ("weight", "bias")}
    )
    tokens, encoded = torch.randn(3, 5, 8), torch.randn(3, 7, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    with torch.no_grad():
        expected = reference(tokens, encoded, tgt_mask=mask, tgt_is_causal=True)
        torch.testing.assert_close(decoder(tokens, encoded), expected, atol=1e-5, rtol=1e-5)


def test_trends_of_all_layers_add_up() -> None:
    torch.manual_seed(0)
    decomposition = Decomposition(5, 3)
    layers = [
        DecompositionLayer(
            8,
            2,
            self_attention=Attention(8, 2),
            cross_attention=Attention(8, 2),
            decomposition=decomposition,
            activation="GELU",
            feedforward_size=12,
            dropout=0.1,
        )
        for _ in range(2)
    ]
    decoder = DecompositionDecoder(layers, SeasonalNorm(8)).eval()
    tokens, encoded = torch.randn(3, 5, 8), torch.randn(3, 7, 8)
    season, trend = decoder(tokens, encoded)
    expected_trend = torch.zeros(3, 5, 2)
    for layer in layers:
        slow = torch.zeros(3, 5, 8)
        for step in range(3):
            added = (
                layer.self_attention(tokens, tokens, tokens),
                layer.cross_attention(tokens, encoded, encoded),
                layer.feedforward(tokens),
            )[step]
            padded = functional.pad((tokens + added).transpose(1, 2), (1, 1), mode="replicate")
            average = functional.avg_pool1d(padded, 3, 1).transpose(1, 2)
            tokens, slow = tokens + added - average, slow + average
        ring = functional.pad(slow.transpose(1, 2), (1, 1), mode="circular")
        expected_trend += functional.conv1d(ring, layer.trend_projection.weight).transpose(1, 2)
    torch.testing.assert_close(season, decoder.norm(tokens), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(trend, expected_trend, atol=1e-5, rtol=1e-5)
