"""DeepNPTS: forecasts that are weighted averages of the history."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.known import join_known, known_size
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.normalization import make_norm
from neuro_divergent.models.base import Architecture


@register("deepnpts")
class DeepNPTS(Architecture):
    """A perceptron that finds, for each step of the horizon, how much each past value counts in its forecast.

    Rangapuram et al., "Deep Non-Parametric Time Series Forecaster", 2023, in NeuralForecast's form: the forecast is the
    mean of the distribution over past values that the paper draws from, for all steps of the horizon at once. No
    forecast leaves the range of the history, and values that were not observed do not count.

    Each output of the loss, such as a quantile, has its own weights; NeuralForecast supports point losses only.

    Attributes:
        hidden_size: Units per hidden layer.
        num_layers: Hidden layers.
        dropout: Fraction of hidden units dropped in training.
        norm: Normalisation after each activation: none, over the ``batch``, or over the ``layer``.

    Examples:
        A forecast is a weighted mean of the history, so even an untrained network stays in its range:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> network = nd.DeepNPTS().build(nd.models.TaskSpec(horizon=12, input_size=48)).eval()
        >>> forecast = network(nd.models.Inputs(torch.linspace(10, 20, 48).view(1, 48, 1)))
        >>> bool((forecast > 10).all()), bool((forecast < 20).all())
        (True, True)
    """

    traits: ClassVar[Traits] = Traits.with_covariates("mlp", "https://arxiv.org/abs/2312.14657")

    hidden_size: int = knob(32, low=16, high=512, log=True, ge=1)
    num_layers: int = knob(2, low=1, high=4, ge=1)
    dropout: float = knob(0.1, low=0.0, high=0.5, ge=0.0, lt=1.0)
    norm: Literal["none", "batch", "layer"] = knob("batch", choices=("none", "batch", "layer"))

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: DeepNPTS, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.covariates = Covariates(spec)
        width = known_size(spec.input_size, spec, self.covariates)
        layers: list[nn.Module] = []
        for _ in range(config.num_layers):
            layers += [nn.Linear(width, config.hidden_size), nn.ReLU(inplace=True)]
            layers += [] if config.norm == "none" else [make_norm(config.norm, config.hidden_size)]
            layers += [Dropout(config.dropout)]
            width = config.hidden_size
        self.layers = nn.Sequential(*layers, nn.Linear(width, spec.input_size * spec.horizon * spec.outputs))

    def forward(self, inputs: Inputs) -> Tensor:
        values, mask = observed(inputs.past_y, inputs.past_mask)
        history = fold_channels(values)
        encoded = self.covariates(inputs.past_x, inputs.future_x, inputs.static_x)
        weights = self._weights(join_known(history, encoded), None if mask is None else fold_channels(mask))
        return unfold_channels(history[:, None] @ weights, self.spec.channels, self.spec.horizon)

    def _weights(self, known: Tensor, mask: Tensor | None) -> Tensor:
        """Return ``(row, history, horizon * outputs)``, of which each column sums to 1."""
        scores: Tensor = self.layers(known).view(known.shape[0], self.spec.input_size, -1)
        if mask is not None:
            # Not minus infinity: a history without observed values would give NaN.
            scores = scores.masked_fill(mask[..., None] == 0, torch.finfo(scores.dtype).min)
        return scores.softmax(1)
