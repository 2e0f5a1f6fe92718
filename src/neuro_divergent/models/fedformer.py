"""FEDformer: attention between frequencies, with decomposition in every layer."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import model_validator
from torch import nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import TaskSpec, Traits
from neuro_divergent.layers.attention import Attention
from neuro_divergent.layers.decomposition import Window
from neuro_divergent.layers.spectral import (
    FourierAttention,
    FourierMixing,
    FrequencyBlock,
    Score,
    Selection,
    select_modes,
)
from neuro_divergent.layers.wavelet import WaveletAttention, WaveletMixing
from neuro_divergent.models.encoder_decoder import DecompositionNetwork, EncoderDecoder, Place


@register("fedformer")
class FEDformer(EncoderDecoder):
    """Autoformer's encoder and decoder with blocks that work on a few Fourier or wavelet coefficients.

    Zhou et al., "FEDformer: Frequency Enhanced Decomposed Transformer for Long-term Series Forecasting", ICML 2022,
    with a moving average of one width. Where it deviates from NeuralForecast and the authors' code, in size too:

    - The blocks in place of self-attention have no projections of keys and values, which neither uses, and every
      encoder layer has a block of its own. A complex weight is two real ones. The last norms have no bias, since the
      mean over time is taken out behind them.
    - Heads and steps keep their order, selected frequencies go back to where they were taken from, and the values of
      the attention are those of the values, not of the keys. The attention's outputs are not divided by the square of
      the width a second time.
    - Which frequencies are selected at random depends on the sizes alone.
    - In the ``wavelet`` version, which NeuralForecast does not have, the wavelets work on the hidden size, not on 1024
      numbers per step.

    Attributes:
        version: Whether blocks and attention work on ``fourier`` or on ``wavelet`` coefficients.
        modes: Most frequencies that are used.
        mode_selection: Whether these are the lowest (``low``) or any (``random``); wavelets use the lowest.
        score: How products of frequencies become the weights of the attention. The ``tanh`` of a complex number, as in
            the authors' code, has poles, near which rounding errors are large; ``softmax`` of its size has none.
        polynomials: Legendre polynomials that a multiwavelet is made of; ``hidden_size`` is a multiple of it.
        kernel_size: Odd number of steps that the moving average covers; it may exceed the history.

    Examples:
        Eight frequencies are used, each with weights of its own for 4 heads of width 8, real and imaginary:

        >>> import neuro_divergent as nd
        >>> architecture = nd.FEDformer(modes=8, mode_selection="low", hidden_size=32, num_heads=4, num_layers=1)
        >>> weights = architecture.build(nd.models.TaskSpec(horizon=12, input_size=48)).state_dict()
        >>> next(list(weight.shape) for name, weight in weights.items() if name.endswith("mixing.weights.weight"))
        [8, 4, 8, 8, 2]
    """

    traits: ClassVar[Traits] = Traits(family="transformer", future_x=True, paper="https://arxiv.org/abs/2201.12740")

    num_heads: int = knob(8, choices=(4, 8), ge=1)
    version: Literal["fourier", "wavelet"] = knob("fourier", choices=("fourier", "wavelet"))
    modes: int = knob(64, choices=(16, 32, 64), ge=1)
    mode_selection: Selection = knob("random", choices=("random", "low"))
    score: Score = knob("tanh", choices=("tanh", "softmax"))
    polynomials: int = knob(8, choices=(4, 8), ge=1)
    kernel_size: Window = knob(25, choices=(5, 13, 25, 51))

    @model_validator(mode="after")
    def _check_polynomials(self) -> Self:
        if self.version == "wavelet" and self.hidden_size % self.polynomials:
            raise ValueError(f"hidden_size: {self.hidden_size} must be a multiple of polynomials ({self.polynomials})")
        return self

    def attention(self, place: Place, queries: int, keys: int) -> nn.Module:
        return self._wavelet(place, queries) if self.version == "wavelet" else self._fourier(place, queries, keys)

    def _fourier(self, place: Place, queries: int, keys: int) -> nn.Module:
        width = self.hidden_size // self.num_heads
        modes = select_modes(queries, self.modes, self.mode_selection)
        if place != "cross":
            return FrequencyBlock(self.hidden_size, self.num_heads, FourierMixing(self.num_heads, width, modes))
        key_modes = select_modes(keys, self.modes, self.mode_selection)
        scoring = FourierAttention(self.num_heads, width, modes, key_modes, self.score)
        return Attention(self.hidden_size, self.num_heads, scoring=scoring)

    def _wavelet(self, place: Place, queries: int) -> nn.Module:
        heads = self.hidden_size // self.polynomials
        if place != "cross":
            mixing = WaveletMixing(heads, self.polynomials, queries, self.modes)
            return FrequencyBlock(self.hidden_size, heads, mixing)
        scoring = WaveletAttention(self.polynomials, self.modes, self.score)
        return Attention(self.hidden_size, heads, scoring=scoring)

    def network(self, spec: TaskSpec) -> nn.Module:
        return DecompositionNetwork(self, spec, self.kernel_size)
