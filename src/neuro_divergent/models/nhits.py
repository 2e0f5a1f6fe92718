"""N-HiTS: blocks at different time scales."""

from __future__ import annotations

from math import ceil
from typing import ClassVar, Literal, Self

import torch
from pydantic import PositiveInt, model_validator
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.basis import Interpolation, interpolation_basis
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.doubly_residual import DoublyResidualStack, Expansion, ResidualBlock, blocks_per_stack
from neuro_divergent.layers.masking import observed
from neuro_divergent.models.base import Architecture


@register("nhits")
class NHITS(Architecture):
    """Doubly residual stacks that pool the history and interpolate the forecast, each at its own rate.

    Challu et al., "N-HiTS: Neural Hierarchical Interpolation for Time Series Forecasting", AAAI 2023, with the defaults
    of NeuralForecast. A block starts with a linear layer without activation, and the coefficients that the last block
    would spend on the history are there (so that the weights are interchangeable with NeuralForecast) but unused.

    Attributes:
        pooling: Steps of history that each stack pools into one.
        downsample: Steps of the horizon for each value that a stack forecasts; it interpolates between them.
        num_blocks: Blocks per stack: one number for all, or one for each.
        hidden_size: Units per hidden layer.
        num_layers: Hidden layers with an activation, after the linear one.
        pooling_mode: Whether pooling uses the maximum or the average.
        interpolation: How a forecast is filled in between its values.
        activation: Activation of the hidden layers.
        dropout: Fraction of hidden units dropped in training.
        norm: Normalisation before each activation: none, over the ``batch``, or over the ``layer``.
        stochastic_depth: Fraction of windows that skip the last block in training; earlier ones are skipped less, in
            proportion to their depth.

    Examples:
        Of 24 steps ahead the first stack forecasts two, one per half day, and the last one all, with straight lines in
        between. The last layers of the stacks, which also reconstruct 48 steps of history, differ in size:

        >>> import neuro_divergent as nd
        >>> architecture = nd.NHITS(pooling=(8, 4, 1), downsample=(12, 4, 1), hidden_size=64)
        >>> network = architecture.build(nd.models.TaskSpec(horizon=24, input_size=48))
        >>> [len(weight) - 48 for name, weight in network.named_parameters() if name.endswith("coefficients.bias")]
        [2, 6, 24]
    """

    traits: ClassVar[Traits] = Traits.with_covariates("mlp", "https://arxiv.org/abs/2201.12886")

    pooling: tuple[PositiveInt, ...] = knob((2, 2, 1), choices=((2, 2, 1), (1, 1, 1), (4, 4, 4), (8, 4, 1), (16, 8, 1)))
    downsample: tuple[PositiveInt, ...] = knob(
        (4, 2, 1), choices=((4, 2, 1), (1, 1, 1), (24, 12, 1), (60, 8, 1), (168, 24, 1))
    )
    num_blocks: int | tuple[int, ...] = knob(1, choices=(1, 2, 3))
    hidden_size: int = knob(512, low=32, high=1024, log=True, ge=1)
    num_layers: int = knob(3, low=1, high=4, ge=1)
    pooling_mode: Literal["max", "average"] = knob("max", choices=("max", "average"))
    interpolation: Interpolation = knob("linear", choices=("linear", "nearest", "cubic"))
    activation: Activation = "ReLU"
    dropout: float = knob(0.0, low=0.0, high=0.5, ge=0.0, lt=1.0)
    norm: Literal["none", "batch", "layer"] = knob("none", choices=("none", "batch", "layer"))
    stochastic_depth: float = knob(0.0, low=0.0, high=0.3, ge=0.0, lt=1.0)

    @model_validator(mode="after")
    def _check_stacks(self) -> Self:
        if len(self.pooling) != len(self.downsample):
            raise ValueError(
                f"pooling and downsample must hold one number for each stack; got {len(self.pooling)} and "
                f"{len(self.downsample)}"
            )
        blocks_per_stack(self.num_blocks, len(self.pooling))
        return self

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: NHITS, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.covariates = Covariates(spec)
        counts = blocks_per_stack(config.num_blocks, len(config.pooling))
        blocks = [
            _Block(config, spec, self.covariates, pool, step)
            for pool, step, count in zip(config.pooling, config.downsample, counts, strict=True)
            for _ in range(count)
        ]
        self.stack = DoublyResidualStack(blocks, [1] * len(blocks), config.stochastic_depth)

    def forward(self, inputs: Inputs) -> Tensor:
        values, mask = observed(inputs.past_y, inputs.past_mask)
        encoded = self.covariates(inputs.past_x, inputs.future_x, inputs.static_x)
        forecast = self.stack(fold_channels(values), None if mask is None else fold_channels(mask), *encoded)
        return unfold_channels(forecast, self.spec.channels, self.spec.horizon)


class _Block(nn.Module):
    def __init__(self, config: NHITS, spec: TaskSpec, covariates: Covariates, pool: int, step: int) -> None:
        super().__init__()
        self.pool = pool
        self._pooling = functional.max_pool1d if config.pooling_mode == "max" else functional.avg_pool1d
        history = ceil(spec.input_size / pool)
        known = history * (1 + covariates.past_size) + covariates.static_size
        known += ceil((spec.input_size + spec.horizon) / pool) * covariates.future_size
        knots = max(spec.horizon // step, 1)
        spread = spec.horizon if step == 1 else interpolation_basis(knots, spec.horizon, config.interpolation)
        self.block = ResidualBlock(
            known,
            Expansion(spec.input_size, spread, spec.outputs),
            hidden_size=config.hidden_size,
            num_layers=config.num_layers,
            activation=config.activation,
            dropout=config.dropout,
            norm=config.norm,
        )

    def forward(
        self, residual: Tensor, past: Tensor | None, future: Tensor | None, static: Tensor | None, with_backcast: bool
    ) -> tuple[Tensor | None, Tensor]:
        parts = [self._pool(residual[..., None])]
        parts += [self._pool(item) for item in (past, future) if item is not None]
        parts += [] if static is None else [static]
        features = torch.cat(parts, 1) if len(parts) > 1 else parts[0]
        explained: tuple[Tensor | None, Tensor] = self.block(features, with_backcast)
        return explained

    def _pool(self, values_NTE: Tensor) -> Tensor:
        if self.pool == 1:
            return values_NTE.flatten(1)
        pooled: Tensor = self._pooling(values_NTE.transpose(1, 2), self.pool, self.pool, ceil_mode=True)
        return pooled.transpose(1, 2).flatten(1)
