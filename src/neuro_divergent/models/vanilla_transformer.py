"""The transformer as a forecaster: full attention in an encoder and a decoder."""

from __future__ import annotations

from typing import ClassVar

from torch import nn

from neuro_divergent.core.config import register
from neuro_divergent.core.spec import TaskSpec, Traits
from neuro_divergent.layers.attention import Attention, DotProduct
from neuro_divergent.models.encoder_decoder import EncoderDecoder, Place, SequenceNetwork


@register("vanilla_transformer")
class VanillaTransformer(EncoderDecoder):
    """Transformer that forecasts the whole horizon at once, the baseline that Informer is compared with.

    Vaswani et al., "Attention Is All You Need", NeurIPS 2017, with the embedding and the one-step decoding of Zhou et
    al., "Informer", AAAI 2021. The query, key and value projections are one matrix, which changes nothing.

    Attributes:
        causal: Whether a step of the decoder attends only to itself and earlier ones, as in both papers. The decoder
            reads placeholders, so nothing leaks without it; NeuralForecast's has no such mask.

    Examples:
        The decoder reads the last quarter of the history, and as many blanks as there are steps to forecast:

        >>> import neuro_divergent as nd
        >>> architecture = nd.VanillaTransformer(start_share=0.25, hidden_size=32)
        >>> architecture.start(nd.models.TaskSpec(horizon=12, input_size=48))
        12
    """

    traits: ClassVar[Traits] = Traits(family="transformer", future_x=True, paper="https://arxiv.org/abs/1706.03762")

    causal: bool = True

    def attention(self, place: Place, queries: int, keys: int) -> nn.Module:
        scoring = DotProduct(self.dropout, causal=self.causal and place == "decoder")
        return Attention(self.hidden_size, self.num_heads, scoring=scoring)

    def network(self, spec: TaskSpec) -> nn.Module:
        return SequenceNetwork(self, spec)
