"""Autoformer: auto-correlation instead of attention, with decomposition in every layer."""

from __future__ import annotations

from typing import ClassVar

from torch import nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import TaskSpec, Traits
from neuro_divergent.layers.attention import Attention, AutoCorrelation
from neuro_divergent.layers.decomposition import Window
from neuro_divergent.models.encoder_decoder import DecompositionNetwork, EncoderDecoder, Place


@register("autoformer")
class Autoformer(EncoderDecoder):
    """Encoder and decoder with auto-correlation and repeated decomposition into trend and season.

    Wu et al., "Autoformer: Decomposition Transformers with Auto-Correlation for Long-Term Series Forecasting", NeurIPS
    2021. The query, key and value projections are one matrix. The last norms have no bias, since the mean over time is
    taken out behind them: each of the two has ``hidden_size`` fewer parameters than in the authors' code and in
    NeuralForecast. In series of odd length the latter loses a step of the correlation; here it does not.

    Attributes:
        factor: Delays that are used, in units of the logarithm of the number of steps.
        kernel_size: Odd number of steps that the moving average covers; it may exceed the history.

    Examples:
        A moving average needs a middle:

        >>> import neuro_divergent as nd
        >>> try:
        ...     nd.Autoformer(kernel_size=24)
        ... except nd.errors.ConfigError as error:
        ...     print(error)
        autoformer: kernel_size: 24 must be odd, so that the average has a middle; try 25
    """

    traits: ClassVar[Traits] = Traits(family="transformer", future_x=True, paper="https://arxiv.org/abs/2106.13008")

    factor: int = knob(3, low=1, high=5, ge=1)
    kernel_size: Window = knob(25, choices=(5, 13, 25, 51))

    def attention(self, place: Place, queries: int, keys: int) -> nn.Module:
        return Attention(self.hidden_size, self.num_heads, scoring=AutoCorrelation(self.factor))

    def network(self, spec: TaskSpec) -> nn.Module:
        return DecompositionNetwork(self, spec, self.kernel_size)
