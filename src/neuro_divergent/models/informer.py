"""Informer: attention for few queries, and an encoder that halves its tokens from layer to layer."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import TaskSpec, Traits
from neuro_divergent.layers.attention import Attention, ProbSparse
from neuro_divergent.layers.normalization import Normalization, make_norm
from neuro_divergent.models.encoder_decoder import EncoderDecoder, Place, SequenceNetwork


@register("informer")
class Informer(EncoderDecoder):
    """Transformer with ProbSparse attention and distilling that forecasts the whole horizon at once.

    Zhou et al., "Informer: Beyond Efficient Transformer for Long Sequence Time-Series Forecasting", AAAI 2021. The
    query, key and value projections are one matrix. Keys are sampled at random in training only. Distilling halves the
    tokens exactly, as in the paper; NeuralForecast's convolution adds two more before halving, and its attention hands
    on heads and steps in the wrong order.

    Attributes:
        factor: Keys sampled and queries kept by the attention, in units of the logarithm of how many there are.
        distil: Whether the tokens are halved between encoder layers.
        norm: Normalisation inside the distilling; the paper shows none, its code has that of the ``batch``.

    Examples:
        Distilling puts a convolution and a normalisation between two encoder layers, which halve the tokens:

        >>> import neuro_divergent as nd
        >>> spec, counts = nd.models.TaskSpec(horizon=12, input_size=48), []
        >>> for distil in (True, False):
        ...     network = nd.Informer(hidden_size=32, distil=distil).build(spec)
        ...     counts.append(sum(parameter.numel() for parameter in network.parameters()))
        >>> counts[0] - counts[1] == (32 * 32 * 3 + 32) + (32 + 32)
        True
    """

    traits: ClassVar[Traits] = Traits(family="transformer", future_x=True, paper="https://arxiv.org/abs/2012.07436")

    factor: int = knob(3, low=1, high=5, ge=1)
    distil: bool = True
    norm: Normalization = knob("batch", choices=("batch", "layer"))

    def attention(self, place: Place, queries: int, keys: int) -> nn.Module:
        scoring = ProbSparse(self.factor, self.dropout, causal=place == "decoder")
        return Attention(self.hidden_size, self.num_heads, scoring=scoring)

    def network(self, spec: TaskSpec) -> nn.Module:
        count = self.num_layers - 1 if self.distil else 0
        return SequenceNetwork(self, spec, tuple(_Distilling(self.hidden_size, self.norm) for _ in range(count)))


class _Distilling(nn.Module):
    """Keeps the strongest of neighbouring tokens, half as many, after a convolution over time."""

    def __init__(self, hidden_size: int, norm: Normalization) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(hidden_size, hidden_size, 3, padding=1, padding_mode="circular")
        self.norm = make_norm(norm, hidden_size)

    def forward(self, tokens_BLD: Tensor) -> Tensor:
        convolved = self.norm(self.convolution(tokens_BLD.transpose(1, 2)).transpose(1, 2))
        return functional.max_pool1d(functional.elu(convolved).transpose(1, 2), 3, stride=2, padding=1).transpose(1, 2)
