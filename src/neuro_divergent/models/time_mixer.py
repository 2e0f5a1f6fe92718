"""TimeMixer: seasons and trends of several time scales, mixed in opposite directions."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.decomposition import Decomposition, Waves, Window
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.embedding import ValueEmbedding
from neuro_divergent.layers.masking import observed
from neuro_divergent.layers.mlp import multilayer_perceptron
from neuro_divergent.layers.reversible import RevIN
from neuro_divergent.models.base import Architecture


@register("timemixer")
class TimeMixer(Architecture):
    """Mixes seasons from fine to coarse scales and trends from coarse to fine ones, and adds up their forecasts.

    Wang et al., "TimeMixer: Decomposable Multiscale Mixing for Time Series Forecasting", ICLR 2024. The defaults are
    NeuralForecast's, which mix channels; the published runs on ETT have ``mix_channels=False, num_scales=3``.

    Deviations: the parts of the authors' code, and of NeuralForecast's, that no forecast depends on (a norm in each
    block, and its last perceptron when channels are mixed) are not there, so there are fewer parameters. Histories need
    not be a multiple of the scales, and a scale on which no step would be left is left out. The Fourier decomposition
    is over time and for each window, where theirs is over features and by the strongest waves of the batch. Several
    outputs come from the projection, where NeuralForecast has one more layer over the finished forecast.

    Attributes:
        hidden_size: Width of the embedding of a step.
        feedforward_size: Hidden units of the perceptrons over that width.
        num_layers: Mixing blocks.
        num_scales: Coarser scales in addition to the history itself.
        scale_factor: Steps that become one from a scale to the next.
        downsampling: How they become one: their average or the largest.
        decomposition: How seasons are separated from trends: by a moving average, or as the strongest frequencies.
        kernel_size: Odd number of steps that the moving average covers.
        num_waves: Waves that make up the season in a Fourier decomposition.
        mix_channels: Whether the channels of a window are embedded together or one by one with the same weights.
        dropout: Fraction of the embedding dropped in training.
        use_norm: Whether each history is standardised and the forecast is restored.

    Examples:
        Scales of 48, 24, 12 and 6 steps; of a history of 4 steps the coarsest would have none and is left out:

        >>> import neuro_divergent as nd
        >>> architecture = nd.TimeMixer(num_scales=3, num_layers=1)
        >>> [architecture.build(nd.models.TaskSpec(horizon=2, input_size=size)).num_scales for size in (48, 4)]
        [4, 3]
    """

    traits: ClassVar[Traits] = Traits(family="mlp", mixes_channels=True, paper="https://arxiv.org/abs/2405.14616")

    hidden_size: int = knob(32, low=8, high=128, log=True, ge=1)
    feedforward_size: int = knob(32, low=8, high=256, log=True, ge=1)
    num_layers: int = knob(4, low=1, high=5, ge=1)
    num_scales: int = knob(1, low=1, high=4, ge=0)
    scale_factor: int = knob(2, choices=(2, 3, 4), ge=2)
    downsampling: Literal["average", "max"] = knob("average", choices=("average", "max"))
    decomposition: Literal["moving_average", "fourier"] = knob("moving_average", choices=("moving_average", "fourier"))
    kernel_size: Window = knob(25, choices=(5, 13, 25, 51))
    num_waves: int = knob(5, low=1, high=10, ge=1)
    mix_channels: bool = knob(True, choices=(True, False))
    dropout: float = knob(0.1, low=0.0, high=0.5, ge=0.0, lt=1.0)
    use_norm: bool = True

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: TimeMixer, spec: TaskSpec) -> None:
        super().__init__()
        self.spec, self.config = spec, config
        lengths = [spec.input_size // config.scale_factor**scale for scale in range(config.num_scales + 1)]
        lengths = [length for length in lengths if length]
        self.num_scales = len(lengths)
        width = spec.channels if config.mix_channels else 1
        self.revins = nn.ModuleList(RevIN(spec.channels) for _ in lengths if config.use_norm)
        self.embedding = ValueEmbedding(width, config.hidden_size)
        self.dropout = Dropout(config.dropout)
        averages = nn.ModuleList(Decomposition(length, config.kernel_size) for length in lengths)
        waves = nn.ModuleList(Waves(config.num_waves) for _ in lengths)
        chosen = waves if config.decomposition == "fourier" else averages
        self.blocks = nn.Sequential(*(_PastMixing(config, lengths, chosen) for _ in range(config.num_layers)))
        self.to_horizon = nn.ModuleList(nn.Linear(length, spec.horizon) for length in lengths)
        self.projection = nn.Linear(config.hidden_size, spec.outputs * width)
        # The trends of mixed channels, which the embedding does not use, are projected to the horizon separately.
        self.seasons = averages
        self.trends = nn.ModuleList(
            nn.Sequential(nn.Linear(length, length), nn.Linear(length, spec.horizon))
            for length in lengths
            if config.mix_channels
        )

    def forward(self, inputs: Inputs) -> Tensor:
        values, mask = observed(inputs.past_y, inputs.past_mask)
        scales = self._coarsen(values, mask)
        if not self.config.use_norm:
            return self._forecast([values for values, _ in scales])
        normalised = [revin(*scale) for revin, scale in zip(self.revins, scales, strict=True)]
        forecast = self._forecast([values for values, _ in normalised])
        finest = self.revins[0]
        assert isinstance(finest, RevIN)
        return finest.restore(forecast, normalised[0][1])

    def _coarsen(self, values: Tensor, mask: Tensor | None) -> list[tuple[Tensor, Tensor | None]]:
        """Return the history on every scale, finest first, each ``(batch, time, channel)`` with its mask."""
        scales = [(values, mask)]
        for _ in range(self.num_scales - 1):
            values, mask = _pool(values, mask, self.config.scale_factor, self.config.downsampling)
            scales.append((values, mask))
        return scales

    def _forecast(self, scales: list[Tensor]) -> Tensor:
        size, _, channels = scales[0].shape
        if self.config.mix_channels:
            inputs, trends = _split(scales, self.seasons)
        else:
            inputs = [values.transpose(1, 2).reshape(size * channels, -1, 1) for values in scales]
        hidden = self.blocks([self.dropout(self.embedding(values)) for values in inputs])
        # All scales share the projection, so it is applied once, to their sum.
        steps = [layer(item.transpose(1, 2)) for layer, item in zip(self.to_horizon, hidden, strict=True)]
        ahead = functional.linear(sum(steps).transpose(1, 2), self.projection.weight)
        ahead = ahead + self.num_scales * self.projection.bias
        if not self.config.mix_channels:
            return ahead.view(size, channels, self.spec.horizon, -1).transpose(1, 2)
        forecast = ahead.view(size, self.spec.horizon, -1, channels).transpose(2, 3)
        slow = [layer(item.transpose(1, 2)) for layer, item in zip(self.trends, trends, strict=True)]
        total: Tensor = forecast + sum(slow).transpose(1, 2)[..., None]
        return total


class _PastMixing(nn.Module):
    """Splits each scale in season and trend, mixes both over the scales and puts them together."""

    def __init__(self, config: TimeMixer, lengths: list[int], seasons: nn.ModuleList) -> None:
        super().__init__()
        self.mix_channels = config.mix_channels
        self.seasons = seasons
        # Over the width of a step: of season and trend before mixing when channels are mixed, else of their sum.
        perceptron = partial(multilayer_perceptron, activation="GELU")
        self.perceptron = perceptron((config.hidden_size, config.feedforward_size, config.hidden_size))
        self.coarser = nn.ModuleList(perceptron((fine, coarse, coarse)) for fine, coarse in pairwise(lengths))
        self.finer = nn.ModuleList(perceptron((coarse, fine, fine)) for fine, coarse in pairwise(lengths))

    def forward(self, scales: list[Tensor]) -> list[Tensor]:
        seasons, trends = _split(scales, self.seasons)
        if self.mix_channels:
            seasons, trends = [self.perceptron(item) for item in seasons], [self.perceptron(item) for item in trends]
        mixed = zip(self._mix_seasons(seasons), self._mix_trends(trends), strict=True)
        sums = [(season + trend).transpose(1, 2) for season, trend in mixed]
        if self.mix_channels:
            return sums
        return [values + self.perceptron(item) for values, item in zip(scales, sums, strict=True)]

    def _mix_seasons(self, seasons: list[Tensor]) -> list[Tensor]:
        """Add to each scale a projection of the finer one; return ``(batch, hidden, time)``, finest first."""
        mixed = [seasons[0].transpose(1, 2)]
        for layer, season in zip(self.coarser, seasons[1:], strict=True):
            mixed.append(season.transpose(1, 2) + layer(mixed[-1]))
        return mixed

    def _mix_trends(self, trends: list[Tensor]) -> list[Tensor]:
        """Add to each scale a projection of the coarser one; return ``(batch, hidden, time)``, finest first."""
        mixed = [trends[-1].transpose(1, 2)]
        for layer, trend in zip(reversed(self.finer), reversed(trends[:-1]), strict=True):
            mixed.append(trend.transpose(1, 2) + layer(mixed[-1]))
        return mixed[::-1]


def _split(scales: list[Tensor], seasons: nn.ModuleList) -> tuple[list[Tensor], list[Tensor]]:
    """Return the season and the trend of every scale."""
    found = [season(values) for season, values in zip(seasons, scales, strict=True)]
    return found, [values - season for values, season in zip(scales, found, strict=True)]


def _pool(values_BTC: Tensor, mask: Tensor | None, factor: int, kind: str) -> tuple[Tensor, Tensor | None]:
    """Pool every ``factor`` steps over their observed values; an incomplete rest is left out."""
    size, steps, channels = values_BTC.shape
    shape = (size, steps // factor, factor, channels)
    groups = values_BTC[:, : shape[1] * factor].reshape(shape)
    if mask is None:
        return groups.mean(2) if kind == "average" else groups.amax(2), None
    seen = mask[:, : shape[1] * factor].reshape(shape)
    count = seen.sum(2)
    if kind == "average":
        return groups.sum(2) / count.clamp(min=1), (count > 0).to(mask.dtype)
    largest = groups.masked_fill(seen == 0, -torch.inf).amax(2)
    return largest.masked_fill(count == 0, 0.0), (count > 0).to(mask.dtype)
