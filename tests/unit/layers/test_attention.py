from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.layers.attention import Attention, AutoCorrelation, DotProduct, ProbSparse
from neuro_divergent.layers.encoder import EncoderLayer


def heads(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("num_heads", [1, 2, 4])
def test_attention_is_a_softmax_weighted_mean_of_values(num_heads: int) -> None:
    torch.manual_seed(0)
    attention, tokens = Attention(8, num_heads).double(), torch.randn(3, 5, 8, dtype=torch.float64)
    width = 8 // num_heads
    query, key, value = attention.query_key_value(tokens).split(8, -1)
    parts = []
    for head in range(num_heads):
        part = slice(head * width, (head + 1) * width)
        scores = query[..., part] @ key[..., part].transpose(1, 2) / math.sqrt(width)
        parts.append(torch.softmax(scores, -1) @ value[..., part])
    torch.testing.assert_close(attention(tokens), attention.output(torch.cat(parts, -1)))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("same", ["nothing", "keys and values", "all"])
def test_attention_is_torchs(same: str, causal: bool) -> None:
    torch.manual_seed(0)
    attention = Attention(8, 2, scoring=DotProduct(causal=causal))
    reference = nn.MultiheadAttention(8, 2, batch_first=True)
    names = {"in_proj_": "query_key_value.", "out_proj.": "output."}
    weights = attention.state_dict()
    reference.load_state_dict(
        {f"{a}{end}": weights[f"{b}{end}"] for a, b in names.items() for end in ("weight", "bias")}
    )
    queries, keys, values = torch.randn(3, 5, 8), torch.randn(3, 5 if causal else 7, 8), None
    values = torch.randn_like(keys) if same == "nothing" else keys
    if same == "all":
        keys = values = queries
    mask = nn.Transformer.generate_square_subsequent_mask(5) if causal else None
    expected, _ = reference(queries, keys, values, attn_mask=mask)
    torch.testing.assert_close(attention(queries, keys, values), expected)


def test_attention_defaults_to_self_attention() -> None:
    torch.manual_seed(0)
    attention, tokens, others = Attention(8, 2), torch.randn(3, 5, 8), torch.randn(3, 4, 8)
    torch.testing.assert_close(attention(tokens), attention(tokens, tokens.clone(), tokens.clone()))
    torch.testing.assert_close(attention(tokens, others), attention(tokens, others, others))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_weights_are_dropped_or_scaled_up_in_training(causal: bool) -> None:
    """Values that are unit vectors make the weights visible."""
    torch.manual_seed(0)
    scoring, tokens, steps = DotProduct(0.25, causal=causal), heads(4, 3, 16, 8), 16
    shown = torch.eye(steps, dtype=torch.float64).expand(4, 3, -1, -1)
    weights = scoring.eval()(tokens, tokens, shown)
    dropped = scoring.train()(tokens, tokens, shown)
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], weights[kept] / 0.75)
    assert abs(kept.sum() / (weights != 0).sum() - 0.75) < 0.05
    assert not (kept & (weights == 0)).any()


def test_attention_drops_weights_only_in_training() -> None:
    torch.manual_seed(0)
    attention, tokens = Attention(8, 2, dropout=0.5), torch.randn(3, 5, 8)
    assert not torch.equal(attention(tokens), attention(tokens))
    attention.eval()
    assert torch.equal(attention(tokens), attention(tokens))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_probsparse_is_full_attention_when_all_queries_are_kept(causal: bool, training: bool) -> None:
    query, key, value = (heads(2, 3, 9, 4, seed=seed) for seed in range(3))
    sparse = ProbSparse(factor=3, causal=causal).train(training)  # 3 * ceil(ln 9) = 9
    torch.testing.assert_close(sparse(query, key, value), DotProduct(causal=causal)(query, key, value))


@pytest.mark.parametrize("causal", [False, True])
def test_probsparse_attends_with_the_most_uneven_queries_and_averages_for_the_others(causal: bool) -> None:
    query, key, value = (heads(2, 3, 20, 4, seed=seed) for seed in range(3))
    uneven = torch.tensor([1, 5, 19])
    query *= 1e-3
    query[:, :, uneven] *= 1e6  # their largest score is far above their mean, whichever keys are sampled
    attended = ProbSparse(factor=1, causal=causal).eval()(query, key, value)
    full = DotProduct(causal=causal)(query, key, value)
    torch.testing.assert_close(attended[:, :, uneven], full[:, :, uneven])
    for step in {0, 4, 7, 12, 18}:
        mean = value[:, :, : step + 1 if causal else 20].mean(2)
        torch.testing.assert_close(attended[:, :, step], mean)


def test_probsparse_samples_at_random_only_in_training() -> None:
    query, key, value = (heads(2, 3, 40, 4, seed=seed) for seed in range(3))
    sparse = ProbSparse(factor=1)
    torch.manual_seed(0)
    assert not torch.equal(sparse(query, key, value), sparse(query, key, value))
    sparse.eval()
    assert torch.equal(sparse(query, key, value), sparse(query, key, value))


def correlate(query: Tensor, key: Tensor) -> Tensor:
    """Return the mean of ``query[t + delay] * key[t]`` over heads and width, summed over time, for each delay."""
    steps = query.shape[2]
    return torch.stack([(query.roll(-delay, 2) * key).sum(2).mean((1, 2)) for delay in range(steps)], 1)


@pytest.mark.parametrize("steps", [1, 2, 9, 12])
@pytest.mark.parametrize("keys", [1, 7, 30])
def test_autocorrelation_is_a_sum_of_values_shifted_by_the_best_delays(steps: int, keys: int) -> None:
    query, key, value = heads(3, 2, steps, 4), heads(3, 2, keys, 4, seed=1), heads(3, 2, keys, 4, seed=2)
    found = AutoCorrelation(factor=2).eval()(query, key, value)
    filled = [torch.zeros(3, 2, max(steps, keys), 4, dtype=torch.float64) for _ in range(2)]
    for whole, part in zip(filled, (key, value), strict=True):
        whole[:, :, :keys] = part
    key, value = (whole[:, :, :steps] for whole in filled)
    best = correlate(query, key).topk(max(1, int(2 * math.log(steps))))
    for row in range(3):
        weights = torch.softmax(best.values[row], 0)
        expected = sum(
            weight * value[row].roll(-int(delay), 1) for weight, delay in zip(weights, best.indices[row], strict=True)
        )
        torch.testing.assert_close(found[row], expected)


def test_autocorrelation_shares_the_delays_of_a_batch_in_training() -> None:
    query, key, value = (heads(3, 2, 24, 4, seed=seed) for seed in range(3))
    scoring = AutoCorrelation(factor=1)
    correlation = correlate(query, key)
    delays = correlation.mean(0).topk(3).indices
    weights = torch.softmax(correlation[:, delays], 1)
    expected = sum(weights[:, i, None, None, None] * value.roll(-int(delays[i]), 2) for i in range(3))
    torch.testing.assert_close(scoring(query, key, value), expected)
    assert not torch.allclose(scoring.eval()(query, key, value), torch.as_tensor(expected))


@pytest.mark.parametrize(
    "scoring", [ProbSparse(1), AutoCorrelation(1), DotProduct()], ids=lambda kind: type(kind).__name__
)
@pytest.mark.precision("bf16")
def test_scoring_keeps_half_precision(scoring: nn.Module) -> None:
    query, key, value = (heads(2, 3, 10, 4, seed=seed).bfloat16() for seed in range(3))
    assert scoring.eval()(query, key, value).dtype is torch.bfloat16


def test_encoder_layer_is_torchs() -> None:
    torch.manual_seed(0)
    layer = EncoderLayer(8, num_heads=2, feedforward_size=12, activation="GELU", dropout=0.1).eval()
    reference = nn.TransformerEncoderLayer(8, 2, 12, activation="gelu", batch_first=True).eval()
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


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_autocorrelation_of_a_history_with_few_delays_uses_all_of_them(steps: int) -> None:
    query = torch.randn(2, 1, steps, 3)
    assert AutoCorrelation(5)(query, query, query).shape == query.shape
