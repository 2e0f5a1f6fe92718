"""TSMixer: perceptrons alternately over time and over channels."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.mixing import mixing_layer
from neuro_divergent.layers.normalization import Normalization
from neuro_divergent.layers.reversible import RevIN
from neuro_divergent.models.base import Architecture


@register("tsmixer")
class TSMixer(Architecture):
    """Blocks that mix a window over time and over channels, and a linear map from history to horizon.

    Chen et al., "TSMixer: An All-MLP Architecture for Time Series Forecasting", TMLR 2023, with NeuralForecast's
    defaults. ``TSMixerx`` is the extension to covariates.

    Attributes:
        num_blocks: Mixing blocks.
        hidden_size: Hidden units of the perceptron over channels.
        dropout: Fraction of hidden units and residual branches dropped in training.
        use_norm: Whether each history is standardised and the forecast is restored.
        norm: Normalisation of whole windows before each mixing, over the ``batch`` or over the ``layer``.

    Examples:
        Histories are standardised and forecasts restored, so one ten times as large has a forecast ten times as large:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> network = nd.TSMixer().build(nd.models.TaskSpec(horizon=12, input_size=48, channels=3)).eval()
        >>> history = torch.rand(1, 48, 3)
        >>> small, large = network(nd.models.Inputs(history)), network(nd.models.Inputs(10 * history))
        >>> torch.allclose(large, 10 * small, atol=0.01)
        True
    """

    traits: ClassVar[Traits] = Traits(family="mlp", mixes_channels=True, paper="https://arxiv.org/abs/2303.06053")

    num_blocks: int = knob(2, low=1, high=8, ge=1)
    hidden_size: int = knob(64, low=8, high=256, log=True, ge=1)
    dropout: float = knob(0.9, choices=(0.1, 0.3, 0.5, 0.7, 0.9), ge=0.0, lt=1.0)
    use_norm: bool = True
    norm: Normalization = knob("batch", choices=("batch", "layer"))

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: TSMixer, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.revin = RevIN(spec.channels) if config.use_norm else None
        sizes = (spec.input_size, spec.channels, spec.channels)
        settings: dict[str, Any] = {"hidden_size": config.hidden_size, "dropout": config.dropout, "norm": config.norm}
        blocks = (mixing_layer(*sizes, norm_place="before", **settings) for _ in range(config.num_blocks))
        self.blocks = nn.Sequential(*blocks)
        self.projection = nn.Linear(spec.input_size, spec.horizon * spec.outputs)

    def forward(self, inputs: Inputs) -> Tensor:
        values, mask = observed(inputs.past_y, inputs.past_mask)
        if self.revin is None:
            return self._forecast(values)
        values, measured = self.revin(values, mask)
        return self.revin.restore(self._forecast(values), measured)

    def _forecast(self, values_BLC: Tensor) -> Tensor:
        forecast: Tensor = self.projection(self.blocks(values_BLC).transpose(1, 2))
        return forecast.view(values_BLC.shape[0], -1, self.spec.horizon, self.spec.outputs).transpose(1, 2)
