"""Attention with several heads over an exchangeable way to score.

Letters: B batch, M head, Q query, K key, D hidden, E = D / M width of a head, U sampled or selected. A scoring turns
queries ``BMQE``, keys and values ``BMKE`` into ``BMQE``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.exporting import is_exporting
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.spectral import add_shifted, correlate

_GOLDEN = (math.sqrt(5) - 1) / 2


def attend(
    query_BMQE: Tensor,
    key_BMKE: Tensor,
    value_BMKE: Tensor,
    dropout: Dropout,
    *,
    mask_QK: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """Return the values weighed by the softmax of the scaled products of query and keys; dropout is of the weights.

    ``mask_QK`` is which keys a query attends to, of a shape that fits ``(batch, head, query, key)``; all unless given.
    With ``causal``, instead of a mask, a query attends to no later key.
    """
    rate = dropout.p if dropout.training else 0.0
    if not rate or query_BMQE.device.type != "cpu":
        return functional.scaled_dot_product_attention(
            query_BMQE, key_BMKE, value_BMKE, attn_mask=mask_QK, dropout_p=rate, is_causal=causal
        )
    # On a CPU torch works with dropout step by step as well, but draws a random number for each weight.
    scores_BMQK = query_BMQE * query_BMQE.shape[3] ** -0.5 @ key_BMKE.transpose(2, 3)
    if causal:
        mask_QK = torch.ones(scores_BMQK.shape[2:], dtype=torch.bool).tril_()
    if mask_QK is not None:
        scores_BMQK = scores_BMQK.masked_fill(~mask_QK, -torch.inf)
    attended: Tensor = dropout(scores_BMQK.softmax(3)) @ value_BMKE
    return attended


class DotProduct(nn.Module):
    """Weighs the values by the softmax of the scaled products of query and keys (Vaswani et al., 2017).

    Args:
        causal: Whether a query attends to no later key.
    """

    def __init__(self, dropout: float = 0.0, causal: bool = False) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.causal = causal

    def forward(self, query_BMQE: Tensor, key_BMKE: Tensor, value_BMKE: Tensor) -> Tensor:
        return attend(query_BMQE, key_BMKE, value_BMKE, self.dropout, causal=self.causal)


class ProbSparse(nn.Module):
    """ProbSparse attention: only queries with uneven attention use it; the others get the mean of the values.

    Zhou et al., "Informer", AAAI 2021. A query is measured by how far its largest score is above its mean score, over a
    sample of ``factor * ceil(ln(keys))`` keys; ``factor * ceil(ln(queries))`` queries are kept. The sample is random in
    training. In evaluation it is spread by the golden ratio instead, so that a forecast does not depend on chance.
    The authors' code divides the sum of the sample by the number of all keys. Where a causal query is not kept, their
    code adds up the values up to its own; here it gets their mean too.

    Args:
        factor: Keys sampled and queries kept, in units of the logarithm of how many there are.
        causal: Whether a query attends to no later key; there must then be as many keys as queries.
    """

    def __init__(self, factor: int, dropout: float = 0.0, causal: bool = False) -> None:
        super().__init__()
        self.factor = factor
        self.dropout = Dropout(dropout)
        self.causal = causal

    def forward(self, query_BMQE: Tensor, key_BMKE: Tensor, value_BMKE: Tensor) -> Tensor:
        queries, keys, width = query_BMQE.shape[2], key_BMKE.shape[2], query_BMQE.shape[3]
        kept = self._count(queries)
        if kept == queries:
            return attend(query_BMQE, key_BMKE, value_BMKE, self.dropout, causal=self.causal)
        chosen_BMU = self._sparsity(query_BMQE, key_BMKE).topk(kept, sorted=False).indices
        index_BMUE = chosen_BMU[..., None].expand(-1, -1, -1, width)
        reachable = None
        if self.causal:
            reachable = torch.arange(keys, device=query_BMQE.device) <= chosen_BMU[..., None]
            steps = torch.arange(1, keys + 1, device=query_BMQE.device, dtype=value_BMKE.dtype)
            spread = value_BMKE.cumsum(2) / steps[:, None]
        else:
            spread = value_BMKE.mean(2, keepdim=True).expand(-1, -1, queries, -1)
        chosen_queries = query_BMQE.gather(2, index_BMUE)
        attended = attend(chosen_queries, key_BMKE, value_BMKE, self.dropout, mask_QK=reachable)
        return spread.scatter(2, index_BMUE, attended)

    def _sparsity(self, query_BMQE: Tensor, key_BMKE: Tensor) -> Tensor:
        """Return how uneven the attention of each query would be, ``(batch, head, query)``."""
        queries, keys = query_BMQE.shape[2], key_BMKE.shape[2]
        count, device = self._count(keys), query_BMQE.device
        with torch.no_grad():
            if self.training:
                sample_QU = torch.randint(keys, (queries, count), device=device)
            elif is_exporting():  # as a constant: exported, these 64-bit numbers would be rounded to 32 bits on the way
                sampled = [int(place * _GOLDEN % 1 * keys) for place in range(queries * count)]
                sample_QU = torch.tensor(sampled, device=device).view(queries, count)
            else:
                places = torch.arange(queries * count, device=device, dtype=torch.float64) * _GOLDEN
                sample_QU = (places.frac() * keys).long().view(queries, count)
            # One product with all keys, read at the sampled ones, moves less memory than as many copies of keys.
            scores_BMQK = query_BMQE @ key_BMKE.transpose(2, 3)
            scores = scores_BMQK.gather(3, sample_QU.expand(*scores_BMQK.shape[:2], -1, -1))
            return scores.amax(3) - scores.mean(3)

    def _count(self, steps: int) -> int:
        return max(1, min(steps, self.factor * math.ceil(math.log(steps))))


class AutoCorrelation(nn.Module):
    """Adds up the values shifted by the delays at which queries and keys agree most.

    Wu et al., "Autoformer", NeurIPS 2021. The correlation over all delays comes from a Fourier transform and is
    averaged over heads and their width. The ``factor * ln(queries)`` best delays are weighed by the softmax of their
    correlation; in training they are those of the whole batch, in evaluation those of each row, as in the authors'
    code. Adding up shifted values is a circular correlation as well, and is done like the first. Keys and values are
    cut, or filled up with zeros, to as many as there are queries.

    Args:
        factor: Delays that are used, in units of the logarithm of the number of queries.
    """

    def __init__(self, factor: int) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, query_BMQE: Tensor, key_BMKE: Tensor, value_BMKE: Tensor) -> Tensor:
        steps = query_BMQE.shape[2]
        # A negative pad cuts.
        missing = (0, 0, 0, steps - key_BMKE.shape[2])
        key, value = functional.pad(key_BMKE, missing), functional.pad(value_BMKE, missing)
        correlation_BQ = correlate(query_BMQE, key)
        count = min(max(1, int(self.factor * math.log(steps))), steps)  # a short history has few delays
        if self.training:
            delays = correlation_BQ.mean(0).topk(count).indices.expand(correlation_BQ.shape[0], -1)
        else:
            delays = correlation_BQ.topk(count).indices
        weights = torch.softmax(correlation_BQ.gather(1, delays), 1)
        kernel_BQ = torch.zeros_like(correlation_BQ).scatter(1, delays, weights)
        return add_shifted(value, kernel_BQ).type_as(value)


class Attention(nn.Module):
    """Multi-head attention of every query to all keys.

    The projections of queries, keys and values are one matrix, applied in one go when all three are the same tokens.

    Args:
        hidden_size: Width of a token, a multiple of ``num_heads``.
        scoring: Attention over projected queries, keys and values ``(batch, head, token, width)``; scaled dot product
            with ``dropout`` by default.
    """

    def __init__(
        self, hidden_size: int, num_heads: int, dropout: float = 0.0, *, scoring: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.query_key_value = nn.Linear(hidden_size, 3 * hidden_size)
        self.output = nn.Linear(hidden_size, hidden_size)
        self.num_heads = num_heads
        self.scoring = DotProduct(dropout) if scoring is None else scoring

    def forward(self, queries_BQD: Tensor, keys_BKD: Tensor | None = None, values_BKD: Tensor | None = None) -> Tensor:
        """Return a token for each query, ``BQD``; by default the keys are the queries and the values are the keys."""
        keys_BKD = queries_BQD if keys_BKD is None else keys_BKD
        values_BKD = keys_BKD if values_BKD is None else values_BKD
        batch, count, width = queries_BQD.shape
        if keys_BKD is queries_BQD and values_BKD is queries_BQD:
            heads = self.query_key_value(queries_BQD).view(batch, count, 3, self.num_heads, width // self.num_heads)
            query, key, value = heads.permute(2, 0, 3, 1, 4)
        else:
            weights, biases = self.query_key_value.weight.chunk(3), self.query_key_value.bias.chunk(3)
            tokens = (queries_BQD, keys_BKD, values_BKD)
            query, key, value = (
                functional.linear(*given).view(batch, -1, self.num_heads, width // self.num_heads).transpose(1, 2)
                for given in zip(tokens, weights, biases, strict=True)
            )
        attended = self.scoring(query, key, value)
        result: Tensor = self.output(attended.transpose(1, 2).reshape(batch, count, width))
        return result
