"""TSMixerx: TSMixer over the steps of the horizon, with covariates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.mixing import FeatureMixing, mixing_layer
from neuro_divergent.layers.reversible import RevIN
from neuro_divergent.models.base import Architecture


@register("tsmixerx")
class TSMixerx(Architecture):
    """Aligns history, known future and static covariates on the steps of the horizon, then mixes them.

    Chen et al., "TSMixer: An All-MLP Architecture for Time Series Forecasting", TMLR 2023, section "TSMixer-Ext", with
    NeuralForecast's defaults. Windows are normalised after each addition instead of before each mixing.

    The channels of a window share their covariates here; NeuralForecast has a copy for each channel, and so more
    parameters when there are both covariates and several channels.

    Attributes:
        num_blocks: Mixing blocks after the first.
        hidden_size: Features of a step inside, and hidden units of the perceptrons over them.
        dropout: Fraction of hidden units and residual branches dropped in training.
        use_norm: Whether each history is standardised and the forecast is restored.

    Examples:
        Two series and covariates of all three kinds:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> visitors, price, size = (nd.models.Feature(name) for name in ("visitors", "price", "size"))
        >>> spec = nd.models.TaskSpec(12, 48, channels=2, past=(visitors,), future=(price,), static=(size,))
        >>> values, covariates = torch.rand(1, 48, 2), (torch.rand(1, 48, 1), torch.rand(1, 60, 1), torch.rand(1, 1))
        >>> inputs = nd.models.Inputs(values, None, *covariates)
        >>> nd.TSMixerx(hidden_size=16).build(spec)(inputs).shape
        torch.Size([1, 12, 2, 1])
    """

    traits: ClassVar[Traits] = Traits.with_covariates("mlp", "https://arxiv.org/abs/2303.06053", mixes_channels=True)

    num_blocks: int = knob(2, low=1, high=8, ge=1)
    hidden_size: int = knob(64, low=8, high=256, log=True, ge=1)
    dropout: float = knob(0.0, low=0.0, high=0.9, ge=0.0, lt=1.0)
    use_norm: bool = True

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: TSMixerx, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.covariates = covariates = Covariates(replace(spec, channels=1))
        hidden, steps = config.hidden_size, spec.horizon
        settings: dict[str, Any] = {"hidden_size": hidden, "dropout": config.dropout}
        settings |= {"norm": "layer", "norm_place": "after"}

        def mix_features(inputs: int) -> FeatureMixing | None:
            return FeatureMixing(steps, inputs, hidden, **settings) if inputs else None

        self.revin = RevIN(spec.channels) if config.use_norm else None
        self.align = nn.Linear(spec.input_size, steps)
        self.mix_past = FeatureMixing(
            steps, spec.channels + covariates.past_size + covariates.future_size, hidden, **settings
        )
        self.mix_future = mix_features(covariates.future_size)
        self.mix_static = mix_features(covariates.static_size)
        sources = 1 + (self.mix_future is not None) + (self.mix_static is not None)
        self.first = mixing_layer(steps, sources * hidden, hidden, **settings)
        # Every block reads the static covariates again, through a mixing of its own.
        self.block_statics = nn.ModuleList(
            FeatureMixing(steps, covariates.static_size, hidden, **settings)
            for _ in range(config.num_blocks if self.mix_static else 0)
        )
        width = 2 * hidden if self.mix_static else hidden
        self.blocks = nn.ModuleList(mixing_layer(steps, width, hidden, **settings) for _ in range(config.num_blocks))
        self.projection = nn.Linear(hidden, spec.outputs * spec.channels)

    def forward(self, inputs: Inputs) -> Tensor:
        values, mask = observed(inputs.past_y, inputs.past_mask)
        encoded = self.covariates(inputs.past_x, inputs.future_x, inputs.static_x)
        if self.revin is None:
            return self._forecast(values, *encoded)
        values, measured = self.revin(values, mask)
        return self.revin.restore(self._forecast(values, *encoded), measured)

    def _forecast(
        self, values_BLC: Tensor, past: Tensor | None, future: Tensor | None, static: Tensor | None
    ) -> Tensor:
        size, history = values_BLC.shape[:2]
        parts = [values_BLC] + ([] if past is None else [past]) + ([] if future is None else [future[:, :history]])
        aligned = self.align(torch.cat(parts, 2).transpose(1, 2)).transpose(1, 2)
        sources = [self.mix_past(aligned)]
        if future is not None and self.mix_future is not None:
            sources.append(self.mix_future(future[:, history:]))
        steps = None if static is None else static[:, None].expand(-1, self.spec.horizon, -1)
        if steps is not None and self.mix_static is not None:
            sources.append(self.mix_static(steps))
        hidden = self.first(torch.cat(sources, 2))
        for index, block in enumerate(self.blocks):
            if steps is not None:
                hidden = torch.cat([hidden, self.block_statics[index](steps)], 2)
            hidden = block(hidden)
        forecast: Tensor = self.projection(hidden)
        return forecast.view(size, self.spec.horizon, self.spec.outputs, -1).transpose(2, 3)
