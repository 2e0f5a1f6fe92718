"""KAN: a network whose connections are splines."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar, Self

from pydantic import model_validator
from torch import Tensor, nn

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.kan import SplineKAN
from neuro_divergent.layers.known import join_known, known_size
from neuro_divergent.layers.masking import observed
from neuro_divergent.models.base import Architecture


@register("kan")
class KAN(Architecture):
    """Layers of learned splines from the flattened history and covariates to all steps of the horizon at once.

    Liu et al., "KAN: Kolmogorov-Arnold Networks", ICLR 2025, in NeuralForecast's form and with its defaults. The grid
    stays where it is: it is not moved to where the values are. Scale the series so that they lie on it.

    Attributes:
        hidden_size: Units per hidden layer.
        num_layers: Hidden layers.
        grid_size: Intervals of the grid that the splines are made on.
        spline_order: Degree of the splines.
        grid_range: Where the grid begins and ends.
        noise: Size of the random curves that the splines start from.

    Examples:
        From 48 values to 8 units to 12 values there are 480 connections, each a curve of 10 numbers: 8 splines, their
        scale, and how much a smooth activation of the value counts:

        >>> import neuro_divergent as nd
        >>> architecture = nd.KAN(hidden_size=8, grid_size=5, spline_order=3)
        >>> network = architecture.build(nd.models.TaskSpec(horizon=12, input_size=48))
        >>> sum(parameter.numel() for parameter in network.parameters())
        4800
    """

    traits: ClassVar[Traits] = Traits.with_covariates("mlp", "https://arxiv.org/abs/2404.19756")

    hidden_size: int = knob(512, low=64, high=512, log=True, ge=1)
    num_layers: int = knob(1, low=1, high=3, ge=0)
    grid_size: int = knob(5, low=3, high=10, ge=1)
    spline_order: int = knob(3, low=1, high=4, ge=1)
    grid_range: tuple[float, float] = knob((-1.0, 1.0), choices=((-1.0, 1.0), (-2.0, 2.0), (-3.0, 3.0)))
    noise: float = knob(0.1, low=0.01, high=0.5, log=True, ge=0.0)

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        begin, end = self.grid_range
        if not begin < end:
            raise ValueError(f"grid_range: {begin} must be less than {end}")
        return self

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: KAN, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self.covariates = Covariates(spec)
        known = known_size(spec.input_size, spec, self.covariates)
        sizes = [known, *[config.hidden_size] * config.num_layers, spec.horizon * spec.outputs]
        settings: dict[str, Any] = {"grid_size": config.grid_size, "order": config.spline_order}
        settings |= {"grid_range": config.grid_range, "noise": config.noise}
        self.layers = nn.Sequential(*(SplineKAN(*pair, **settings) for pair in pairwise(sizes)))

    def forward(self, inputs: Inputs) -> Tensor:
        values, _ = observed(inputs.past_y, inputs.past_mask)
        encoded = self.covariates(inputs.past_x, inputs.future_x, inputs.static_x)
        forecast = self.layers(join_known(fold_channels(values), encoded))
        return unfold_channels(forecast, self.spec.channels, self.spec.horizon)
