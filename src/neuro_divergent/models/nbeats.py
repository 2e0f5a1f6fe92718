"""N-BEATS and NBEATSx: blocks that explain the history bit by bit, on free or fixed functions of time or covariates."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import torch
from pydantic import model_validator
from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.basis import harmonic_basis, polynomial_basis
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.covariates import Covariates, Encoded
from neuro_divergent.layers.doubly_residual import DoublyResidualStack, Expansion, ResidualBlock, blocks_per_stack
from neuro_divergent.layers.known import join_known, known_size
from neuro_divergent.layers.masking import observed
from neuro_divergent.models.base import Architecture


@register("nbeats")
class NBEATS(Architecture):
    """Doubly residual stacks of perceptrons on a free, a polynomial or a harmonic basis.

    Oreshkin et al., "N-BEATS: Neural Basis Expansion Analysis for Interpretable Time Series Forecasting", ICLR 2020.
    The published models are ``stacks=("generic",) * 30, num_layers=4`` and ``stacks=("trend", "seasonality"),
    num_blocks=3, share_weights=True``; the defaults here are NeuralForecast's.

    Deviations, all shared with NeuralForecast: a block starts with a linear layer without activation, the forecast
    starts from the last value instead of zero, and the coefficients that the last block would spend on the history are
    there (so that the weights are interchangeable) but are not used.

    Attributes:
        stacks: Kind of each stack: ``generic`` (free), ``trend`` (polynomial) or ``seasonality`` (harmonic).
        num_blocks: Blocks per stack: one number for all, or one for each.
        share_weights: Whether the blocks of a stack are the same block.
        hidden_size: Units per hidden layer.
        num_layers: Hidden layers with an activation, after the linear one.
        degree: Highest power of time in a trend.
        harmonics: Frequencies per cycle over the horizon in a seasonality.
        activation: Activation of the hidden layers.
        dropout: Fraction of hidden units dropped in training.
        norm: Normalisation before each activation: none, over the ``batch``, or over the ``layer``.
        stochastic_depth: Fraction of windows that skip the last block in training; earlier ones are skipped less, in
            proportion to their depth.

    Examples:
        The three blocks of a stack have weights of their own, or share them as in the published interpretable model:

        >>> import neuro_divergent as nd
        >>> architecture = nd.NBEATS(stacks=("trend", "seasonality"), num_blocks=3, hidden_size=64)
        >>> spec, counts = nd.models.TaskSpec(horizon=12, input_size=48), []
        >>> for share_weights in (False, True):
        ...     network = architecture.replace(share_weights=share_weights).build(spec)
        ...     counts.append(sum(parameter.numel() for parameter in network.parameters()))
        >>> counts[0] / counts[1]
        3.0
    """

    traits: ClassVar[Traits] = Traits(family="mlp", paper="https://arxiv.org/abs/1905.10437")

    stacks: tuple[Literal["generic", "trend", "seasonality"], ...] = knob(
        ("generic", "trend", "seasonality"),
        choices=(("generic", "trend", "seasonality"), ("generic",) * 3, ("trend", "seasonality")),
    )
    num_blocks: int | tuple[int, ...] = knob(1, choices=(1, 2, 3))
    share_weights: bool = False
    hidden_size: int = knob(512, low=32, high=512, log=True, ge=1)
    num_layers: int = knob(3, low=1, high=4, ge=1)
    degree: int = knob(2, low=1, high=4, ge=0)
    harmonics: int = knob(2, low=1, high=4, ge=1)
    activation: Activation = "ReLU"
    dropout: float = knob(0.0, low=0.0, high=0.5, ge=0.0, lt=1.0)
    norm: Literal["none", "batch", "layer"] = knob("none", choices=("none", "batch", "layer"))
    stochastic_depth: float = knob(0.0, low=0.0, high=0.3, ge=0.0, lt=1.0)

    @model_validator(mode="after")
    def _check_blocks(self) -> Self:
        blocks_per_stack(self.num_blocks, len(self.stacks))
        return self

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


@register("nbeatsx")
class NBEATSx(NBEATS):
    """``NBEATS`` whose blocks also read covariates, and may expand on them.

    Olivares et al., "Neural Basis Expansion Analysis with Exogenous Variables: Forecasting Electricity Prices with
    NBEATSx", International Journal of Forecasting 2023. The published interpretable model is ``stacks=("trend",
    "seasonality", "exogenous")``. An ``exogenous`` stack forecasts a weighted sum of the covariates known ahead and the
    static ones; it is the one with a basis of raw covariates, not with the one that a convolution finds.

    Deviations from NeuralForecast: the backcast of an ``exogenous`` block is reversed in time like the history, so that
    a covariate refers to its own step, and there are weights for each output of the loss.

    Attributes:
        stacks: Kind of each stack: ``generic`` (free), ``trend`` (polynomial), ``seasonality`` (harmonic) or
            ``exogenous`` (covariates).

    Examples:
        Forecasts are expanded on the price, which must be known ahead:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> architecture = nd.NBEATSx(stacks=("trend", "seasonality", "exogenous"), hidden_size=64)
        >>> spec = nd.models.TaskSpec(horizon=12, input_size=48, future=(nd.models.Feature("price"),))
        >>> inputs = nd.models.Inputs(torch.zeros(2, 48, 1), future_x=torch.zeros(2, 60, 1))
        >>> architecture.build(spec)(inputs).shape
        torch.Size([2, 12, 1, 1])
    """

    traits: ClassVar[Traits] = Traits.with_covariates("mlp", "https://arxiv.org/abs/2104.05522")

    stacks: tuple[Literal["generic", "trend", "seasonality", "exogenous"], ...] = knob(  # type: ignore[assignment]
        ("generic", "trend", "seasonality"),
        choices=(("generic", "trend", "seasonality"), ("generic",) * 3, ("trend", "seasonality")),
    )


class _Network(nn.Module):
    def __init__(self, config: NBEATS, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.covariates = Covariates(spec)
        kinds: list[str] = []
        repeats: list[int] = []
        for kind, count in zip(config.stacks, blocks_per_stack(config.num_blocks, len(config.stacks)), strict=True):
            kinds += [kind] * (1 if config.share_weights else count)
            repeats += [count] if config.share_weights else [1] * count
        blocks = [
            ResidualBlock(
                known_size(spec.input_size, spec, self.covariates),
                _expansion(kind, config, spec, self.covariates),
                hidden_size=config.hidden_size,
                num_layers=config.num_layers,
                activation=config.activation,
                dropout=config.dropout,
                norm=config.norm,
            )
            for kind in kinds
        ]
        reading = [
            _ReadingBlock(block, kind == "exogenous", spec.horizon) for block, kind in zip(blocks, kinds, strict=True)
        ]
        self._reads = bool(spec.past or spec.future or spec.static)
        self.stack = DoublyResidualStack(reading if self._reads else blocks, repeats, config.stochastic_depth)

    def forward(self, inputs: Inputs) -> Tensor:
        values, mask = observed(inputs.past_y, inputs.past_mask)
        encoded = self.covariates(inputs.past_x, inputs.future_x, inputs.static_x) if self._reads else ()
        forecast = self.stack(fold_channels(values), None if mask is None else fold_channels(mask), *encoded)
        return unfold_channels(forecast, self.spec.channels, self.spec.horizon)


class _ReadingBlock(nn.Module):
    """A block that reads covariates and the history; its coefficients may be the weights of those covariates."""

    def __init__(self, block: ResidualBlock, on_covariates: bool, horizon: int) -> None:
        super().__init__()
        self.block = block
        self._on_covariates = on_covariates
        self._horizon = horizon

    def forward(
        self, residual: Tensor, past: Tensor | None, future: Tensor | None, static: Tensor | None, with_backcast: bool
    ) -> tuple[Tensor | None, Tensor]:
        features = join_known(residual, Encoded(past, future, static))
        backcast, forecast = self.block(features, with_backcast)
        if not self._on_covariates:
            return backcast, forecast
        history = residual.shape[1]
        basis = [] if future is None else [future]
        basis += [] if static is None else [static[:, None].expand(-1, history + self._horizon, -1)]
        basis_NTE = torch.cat(basis, 2)
        if backcast is not None:
            backcast = torch.matmul(basis_NTE[:, :history], backcast[..., None]).squeeze(2).flip(1)
        return backcast, basis_NTE[:, history:] @ forecast


def _expansion(kind: str, config: NBEATS, spec: TaskSpec, covariates: Covariates) -> Expansion:
    history, horizon = spec.input_size, spec.horizon
    if kind == "trend":
        backcast, forecast = polynomial_basis(history, config.degree), polynomial_basis(horizon, config.degree)
        return Expansion(backcast, forecast, spec.outputs)
    if kind == "seasonality":
        backcast = harmonic_basis(history, horizon, config.harmonics, direction=-1)
        return Expansion(backcast, harmonic_basis(horizon, horizon, config.harmonics), spec.outputs)
    if kind == "exogenous":
        size = covariates.future_size + covariates.static_size
        if not size:
            raise ConfigError("an exogenous stack needs covariates that are known ahead or static; the task has none.")
        return Expansion(size, size, spec.outputs)
    return Expansion(history, horizon, spec.outputs)
