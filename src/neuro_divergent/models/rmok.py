"""RMoK: a mixture of Kolmogorov-Arnold layers."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.kan import JacobiKAN, TaylorKAN, Wavelet, WaveletKAN
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.normalization import make_norm
from neuro_divergent.layers.reversible import RevIN
from neuro_divergent.models.base import Architecture


@register("rmok")
class RMoK(Architecture):
    """Polynomials, Jacobi polynomials, wavelets and a linear map from history to horizon, weighted for each window.

    Han et al., "KAN4TSF: Are KAN and KAN-based Models Effective for Time Series Forecasting?", 2024, with the four
    experts and the defaults of NeuralForecast. One set of experts serves all channels, so it takes one series at a time
    unless asked for all; the gain and shift of the normalisation are for each channel of a window.

    NeuralForecast's wavelets have one more matrix of weights, which nothing reads; it is left out here.

    Attributes:
        taylor_order: Powers in the polynomials, from 0 on.
        jacobi_degree: Highest degree of the Jacobi polynomials.
        wavelet: Shape of the wavelets.
        dropout: Fraction of the normalised history dropped in training.
        affine: Whether the normalisation of the history has a learned gain and shift.
        norm: Normalisation of the forecast of the wavelets: none, over the ``batch``, or over the ``layer``.

    Examples:
        How much each of the four experts counts for a history, in the order of the description:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> network = nd.RMoK().build(nd.models.TaskSpec(horizon=12, input_size=48))
        >>> weights = network.expert_weights(torch.rand(1, 48))
        >>> weights.shape, round(weights.sum().item(), 3)
        (torch.Size([1, 4]), 1.0)
    """

    traits: ClassVar[Traits] = Traits(family="mlp", paper="https://arxiv.org/abs/2408.11306")

    taylor_order: int = knob(3, low=2, high=5, ge=1)
    jacobi_degree: int = knob(6, low=2, high=8, ge=0)
    wavelet: Wavelet = knob("mexican_hat", choices=("mexican_hat", "morlet", "dog", "meyer", "shannon"))
    dropout: float = knob(0.1, low=0.0, high=0.5, ge=0.0, lt=1.0)
    affine: bool = True
    norm: Literal["none", "batch", "layer"] = knob("batch", choices=("none", "batch", "layer"))

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: RMoK, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        history, outputs = spec.input_size, spec.horizon * spec.outputs
        wavelets: nn.Module = WaveletKAN(history, outputs, config.wavelet)
        if config.norm != "none":
            wavelets = nn.Sequential(wavelets, make_norm(config.norm, outputs))
        self.revin = RevIN(spec.channels, config.affine)
        self.dropout = Dropout(config.dropout)
        self.gate = nn.Linear(history, 4)
        self.experts = nn.ModuleList(
            [
                TaylorKAN(history, outputs, config.taylor_order),
                JacobiKAN(history, outputs, config.jacobi_degree),
                wavelets,
                nn.Linear(history, outputs),
            ]
        )

    def forward(self, inputs: Inputs) -> Tensor:
        values, measured = self.revin(*observed(inputs.past_y, inputs.past_mask))
        history = fold_channels(self.dropout(values))
        weights = self.expert_weights(history)
        forecast = torch.stack([expert(history) for expert in self.experts], 2) @ weights[..., None]
        return self.revin.restore(unfold_channels(forecast, self.spec.channels, self.spec.horizon), measured)

    def expert_weights(self, history: Tensor) -> Tensor:
        """Return how much each expert counts for each row, ``(row, expert)``."""
        weights: Tensor = self.gate(history).softmax(1)
        return weights
