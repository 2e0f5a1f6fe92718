"""TimesNet: a series folded by its periods into pictures, and convolutions over them."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.channels import fold_channels, unfold_channels
from neuro_divergent.layers.covariates import Covariates
from neuro_divergent.layers.embedding import SequenceEmbedding
from neuro_divergent.layers.masking import observed
from neuro_divergent.models.base import Architecture


@register("timesnet")
class TimesNet(Architecture):
    """Blocks that fold the window by each of its strongest periods and convolve within and across periods.

    Wu et al., "TimesNet: Temporal 2D-Variation Modeling for General Time Series Analysis", ICLR 2023.

    Deviations: periods are found for each window, as the paper writes, while the published code takes those of the
    average over the batch (``periods="batch"``), which makes a forecast depend on the rest of its batch. Channels are
    forecast one by one with the same weights, as in NeuralForecast; ``joint_channels`` reads and forecasts all at once,
    as in the paper. Covariates known ahead also enter at the steps of the horizon, through the layer that embeds them
    in the history, unless ``horizon_covariates`` is off, as in the published code. Level and spread of a window are
    left to the scaler of the task. The kernels of an inception block are added up to one before it is applied, and its
    parts that meet only the border are left out: the function and the weights are the same, with a fraction of the
    work.

    Attributes:
        hidden_size: Width of a step's token.
        conv_hidden_size: Width between the two inception blocks.
        top_k: Periods per window; at most as many as it has frequencies.
        num_kernels: Kernels of an inception block, of 1, 3, 5, ... steps.
        num_layers: Blocks.
        dropout: Fraction of the embedding dropped in training.
        periods: Whether periods are found for each ``window`` or for the average over a ``batch``.
        joint_channels: Whether the channels of a window are read and forecast together.
        horizon_covariates: Whether covariates known ahead also enter at the steps of the horizon.

    Examples:
        All periods share the same kernels, so more of them make the network slower and not larger:

        >>> import neuro_divergent as nd
        >>> spec, counts = nd.models.TaskSpec(horizon=12, input_size=48), []
        >>> for periods in (1, 5):
        ...     network = nd.TimesNet(hidden_size=8, conv_hidden_size=8, num_kernels=3, top_k=periods).build(spec)
        ...     counts.append(sum(parameter.numel() for parameter in network.parameters()))
        >>> counts[0] == counts[1]
        True
    """

    traits: ClassVar[Traits] = Traits(
        family="convolutional",
        future_x=True,
        paper="https://arxiv.org/abs/2210.02186",
        not_exported="the periods, and with them the shapes, depend on the values",
    )

    hidden_size: int = knob(64, choices=(16, 32, 64, 128), ge=1)
    conv_hidden_size: int = knob(64, choices=(32, 64, 128), ge=1)
    top_k: int = knob(5, low=1, high=5, ge=1)
    num_kernels: int = knob(6, low=2, high=6, ge=1)
    num_layers: int = knob(2, low=1, high=3, ge=1)
    dropout: float = knob(0.1, low=0.0, high=0.5, ge=0.0, lt=1.0)
    periods: Literal["window", "batch"] = "window"
    joint_channels: bool = False
    horizon_covariates: bool = True

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: TimesNet, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        self._joint = config.joint_channels
        self._ahead = config.horizon_covariates
        width = spec.channels if self._joint else 1
        self.covariates = Covariates(replace(spec, channels=1) if self._joint else spec)
        self.embedding = SequenceEmbedding(
            width, self.covariates.future_size, config.hidden_size, steps=spec.input_size, dropout=config.dropout
        )
        self.lengthen = nn.Linear(spec.input_size, spec.input_size + spec.horizon)
        self.blocks = nn.ModuleList(_TimesBlock(config) for _ in range(config.num_layers))
        self.norm = nn.LayerNorm(config.hidden_size)
        self.output = nn.Linear(config.hidden_size, width * spec.outputs)

    def forward(self, inputs: Inputs) -> Tensor:
        values, _ = observed(inputs.past_y, inputs.past_mask)
        values_NLC = values if self._joint else fold_channels(values)[..., None]
        _, future, _ = self.covariates(inputs.past_x, inputs.future_x, inputs.static_x)
        tokens_NTD = self._embed(values_NLC, future)
        for block in self.blocks:
            tokens_NTD = self.norm(block(tokens_NTD))
        forecast: Tensor = self.output(tokens_NTD[:, -self.spec.horizon :])
        if self._joint:
            return forecast.view(*forecast.shape[:2], self.spec.channels, self.spec.outputs)
        return unfold_channels(forecast, self.spec.channels, self.spec.horizon)

    def _embed(self, values_NLC: Tensor, future_NTE: Tensor | None) -> Tensor:
        """Return tokens of the history and the horizon."""
        history = self.spec.input_size
        tokens_NLD = self.embedding(values_NLC, None if future_NTE is None else future_NTE[:, :history])
        tokens_NTD: Tensor = self.lengthen(tokens_NLD.transpose(1, 2)).transpose(1, 2)
        if future_NTE is None or self.embedding.covariates is None or not self._ahead:
            return tokens_NTD.contiguous()
        ahead = self.embedding.covariates(future_NTE[:, history:])
        return tokens_NTD + functional.pad(ahead, (0, 0, history, 0))


class _TimesBlock(nn.Module):
    def __init__(self, config: TimesNet) -> None:
        super().__init__()
        self._top_k = config.top_k
        self._over_batch = config.periods == "batch"
        self.widen = _Inception(config.hidden_size, config.conv_hidden_size, config.num_kernels)
        self.narrow = _Inception(config.conv_hidden_size, config.hidden_size, config.num_kernels)

    def forward(self, values_NTD: Tensor) -> Tensor:
        periods_NK, strengths_NK = find_periods(values_NTD, self._top_k, over_batch=self._over_batch)
        shares_NK = strengths_NK.softmax(1)
        kernels = self.widen.merged(), self.narrow.merged()
        result = values_NTD
        # A strong wave leaves the others shares that no sum shows, and whose gradients are slow subnormal numbers.
        smallest = torch.finfo(shares_NK.dtype).eps ** 2
        for period in torch.unique(periods_NK).tolist():
            share_N = (shares_NK * (periods_NK == period)).sum(1)
            rows = (share_N > smallest).nonzero().squeeze(1)
            if not rows.shape[0]:
                continue
            if rows.shape[0] == values_NTD.shape[0]:
                result = result + _convolve(values_NTD, period, *kernels) * share_N[:, None, None]
            else:
                part = _convolve(values_NTD[rows], period, *kernels) * share_N[rows, None, None]
                result = result.index_add(0, rows, part)
        return result


def find_periods(values_NTD: Tensor, top_k: int, *, over_batch: bool = False) -> tuple[Tensor, Tensor]:
    """Return the periods of the strongest frequencies of each row, and their amplitudes, both ``(row, top_k)``.

    There are at most half as many as steps. Amplitudes are averaged over the last axis; with ``over_batch`` the
    frequencies are those of the average over the rows, the same for all of them.
    """
    steps = values_NTD.shape[1]
    amplitudes_NF = torch.fft.rfft(values_NTD, dim=1).abs().mean(2)[:, 1:]  # a constant has no period
    ranked = amplitudes_NF.mean(0, keepdim=True).expand_as(amplitudes_NF) if over_batch else amplitudes_NF
    places = ranked.detach().topk(min(top_k, steps // 2), 1).indices
    return steps // (places + 1), amplitudes_NF.gather(1, places)


def _convolve(values_NTD: Tensor, period: int, *kernels: tuple[Tensor, Tensor]) -> Tensor:
    """Fold the steps into rows of a period, apply two convolutions with an activation between, and unfold."""
    size, steps, width = values_NTD.shape
    folds = -(-steps // period)
    picture = functional.pad(values_NTD, (0, 0, 0, folds * period - steps)).view(size, folds, period, width)
    (widen, narrow) = kernels
    hidden = functional.gelu(_apply(picture.permute(0, 3, 1, 2), *widen))
    return _apply(hidden, *narrow).permute(0, 2, 3, 1).reshape(size, folds * period, width)[:, :steps]


def _apply(picture: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Convolve with the part of a kernel that a picture is large enough for."""
    reach = weight.shape[-1] // 2
    margins = [min(reach, size - 1) for size in picture.shape[2:]]
    rows, columns = (slice(reach - margin, reach + margin + 1) for margin in margins)
    return functional.conv2d(picture, weight[:, :, rows, columns], bias, padding=margins)


class _Inception(nn.Module):
    """Mean of convolutions with square kernels of 1, 3, 5, ... steps."""

    def __init__(self, inputs: int, outputs: int, num_kernels: int) -> None:
        super().__init__()
        self.weights = nn.ParameterList(
            torch.empty(outputs, inputs, 2 * reach + 1, 2 * reach + 1) for reach in range(num_kernels)
        )
        self.biases = nn.ParameterList(torch.zeros(outputs) for _ in range(num_kernels))
        for weight in self.weights:
            nn.init.kaiming_normal_(weight, mode="fan_out", nonlinearity="relu")

    def merged(self) -> tuple[Tensor, Tensor]:
        """Return weight and bias of the one convolution that is the mean of all."""
        largest = len(self.weights) - 1
        padded = [functional.pad(weight, [largest - reach] * 4) for reach, weight in enumerate(self.weights)]
        return torch.stack(padded).mean(0), torch.stack(list(self.biases)).mean(0)
