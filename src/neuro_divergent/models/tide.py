"""TiDE: residual blocks from everything known to the horizon, and a small decoder for each of its steps."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.covariates import Covariates, Encoded
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.known import join_known
from neuro_divergent.layers.masking import observed
from neuro_divergent.models.base import Architecture


@register("tide")
class TiDE(Architecture):
    """Dense encoder and decoder, a temporal decoder with the covariates of each step, and a linear skip connection.

    Das et al., "Long-term Forecasting with TiDE: Time-series Dense Encoder", TMLR 2023, with NeuralForecast's defaults.
    Covariates known only in the past are an addition of NeuralForecast's.

    Deviations: the decoder of a step has no normalisation, because over the one number of a point forecast it would
    erase all that the network found; so there are two parameters per output less than in NeuralForecast (none less
    with ``norm="none"``). The published code has it, so its figures with layer norm are those of the linear skip
    connection alone. A projection is made only for covariates that exist, where NeuralForecast makes an empty one
    for the past next to each for the future. Normalisation of the windows is the scaler's: ``scaler="revin"``.

    Attributes:
        hidden_size: Units of the encoder, the decoder and the projections.
        num_encoder_layers: Residual blocks of the encoder.
        num_decoder_layers: Residual blocks of the decoder.
        projection_size: Size of the projected covariates of a step.
        decoder_output_size: Output features of the decoder for each step of the horizon.
        temporal_hidden_size: Hidden units of the decoder of a step.
        dropout: Fraction of the residual branch of a block dropped in training.
        norm: Normalisation after each block: none, or over the ``layer``.

    Examples:
        A covariate that is known ahead is projected first, and enters again in the decoder of each step:

        >>> import neuro_divergent as nd
        >>> spec = nd.models.TaskSpec(horizon=12, input_size=48, future=(nd.models.Feature("price"),))
        >>> network = nd.TiDE(hidden_size=32).build(spec)
        >>> [name for name, _ in network.named_children()][1:]
        ['project_future', 'encoder', 'decoder', 'temporal_decoder', 'skip']
    """

    traits: ClassVar[Traits] = Traits.with_covariates("mlp", "https://arxiv.org/abs/2304.08424")

    hidden_size: int = knob(512, low=64, high=1024, log=True, ge=1)
    num_encoder_layers: int = knob(1, low=1, high=3, ge=1)
    num_decoder_layers: int = knob(1, low=1, high=3, ge=1)
    projection_size: int = knob(4, low=2, high=16, log=True, ge=1)
    decoder_output_size: int = knob(32, low=4, high=32, log=True, ge=1)
    temporal_hidden_size: int = knob(128, low=32, high=128, log=True, ge=1)
    dropout: float = knob(0.3, low=0.0, high=0.5, ge=0.0, lt=1.0)
    norm: Literal["none", "layer"] = knob("layer", choices=("none", "layer"))

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: TiDE, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.covariates = covariates = Covariates(spec)
        hidden, width = config.hidden_size, config.projection_size

        def block(inputs: int, outputs: int, hidden_size: int = hidden, norm: str = config.norm) -> _ResidualBlock:
            return _ResidualBlock(inputs, hidden_size, outputs, config.dropout, norm)

        self.project_past = block(covariates.past_size, width) if covariates.past_size else None
        self.project_future = block(covariates.future_size, width) if covariates.future_size else None
        known = spec.input_size + covariates.static_size
        known += spec.input_size * width if self.project_past else 0
        known += (spec.input_size + spec.horizon) * width if self.project_future else 0
        inputs = [known] + [hidden] * (config.num_encoder_layers - 1)
        self.encoder = nn.Sequential(*(block(size, hidden) for size in inputs))
        outputs = [hidden] * (config.num_decoder_layers - 1) + [spec.horizon * config.decoder_output_size]
        self.decoder = nn.Sequential(*(block(hidden, size) for size in outputs))
        of_step = config.decoder_output_size + (width if self.project_future else 0)
        self.temporal_decoder = block(of_step, spec.outputs, config.temporal_hidden_size, "none")
        self.skip = nn.Linear(spec.input_size, spec.horizon * spec.outputs)

    def forward(self, inputs: Inputs) -> Tensor:
        values, _ = observed(inputs.past_y, inputs.past_mask)
        history = fold_channels(values)
        past, future, static = self.covariates(inputs.past_x, inputs.future_x, inputs.static_x)
        past = None if past is None or self.project_past is None else self.project_past(past)
        future = None if future is None or self.project_future is None else self.project_future(future)
        hidden = self.decoder(self.encoder(join_known(history, Encoded(past, future, static))))
        steps = hidden.view(history.shape[0], self.spec.horizon, -1)
        if future is not None:
            steps = torch.cat([steps, future[:, self.spec.input_size :]], 2)
        forecast = self.temporal_decoder(steps).flatten(1) + self.skip(history)
        return unfold_channels(forecast, self.spec.channels, self.spec.horizon)


class _ResidualBlock(nn.Module):
    """A hidden layer plus a linear skip connection, normalised."""

    def __init__(self, inputs: int, hidden_size: int, outputs: int, dropout: float, norm: str) -> None:
        super().__init__()
        self.entrance = nn.Linear(inputs, hidden_size)
        self.exit = nn.Linear(hidden_size, outputs)
        self.skip = nn.Linear(inputs, outputs)
        self.dropout = Dropout(dropout)
        self.norm = nn.LayerNorm(outputs) if norm == "layer" else nn.Identity()

    def forward(self, values: Tensor) -> Tensor:
        branch = self.dropout(self.exit(torch.relu(self.entrance(values))))
        result: Tensor = self.norm(branch + self.skip(values))
        return result
