"""StemGNN: a graph of the series that is found in their histories, and spectra over it and over time."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Inputs, TaskSpec, Traits
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.gating import GatedLinearUnit
from neuro_divergent.layers.masking import observed
from neuro_divergent.models.base import Architecture

_ORDERS = 4  # Chebyshev polynomials of degree 0 to 3


@register("stemgnn")
class StemGNN(Architecture):
    """Spectral temporal graph network: a learned graph, Chebyshev filters over it and gated layers on Fourier spectra.

    Cao et al., "Spectral Temporal Graph Neural Network for Multivariate Time-series Forecasting", NeurIPS 2020. The
    spectrum over the graph is filtered with Chebyshev polynomials of the Laplacian, as in the authors' code, which
    spares the eigenvectors.

    Deviations: each window has a graph of its own, where the authors average it over the batch, so that a forecast does
    not depend on the rest of the batch. The polynomial of degree 0 is the identity, as in the paper, where the
    code has zeros. The Fourier transform runs over time, as in the paper and the authors' code; in NeuralForecast it
    runs over the polynomials. The Laplacian is that of the symmetric graph. Spectra and gated layers start such that
    the signal keeps its size; the start that torch gives linear layers leaves a fortieth of it. The shortcut of the
    last block, which is not used, is left out: one linear layer over the history less than in NeuralForecast.

    Attributes:
        num_blocks: Blocks; each but the last also reconstructs the input of the next.
        multiplier: Width of the spectral layers in histories.
        dropout: Fraction of the edges of the graph dropped in training.
        leak: Slope of the leaky activation below zero when edges are scored.

    Examples:
        Five series are forecast together, each from its own history and those of its neighbours in a learned graph:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> spec = nd.models.TaskSpec(horizon=4, input_size=16, channels=5)
        >>> network = nd.StemGNN(num_blocks=1, multiplier=3).build(spec)
        >>> network(nd.models.Inputs(torch.rand(2, 16, 5))).shape
        torch.Size([2, 4, 5, 1])
    """

    traits: ClassVar[Traits] = Traits(family="graph", mixes_channels=True, paper="https://arxiv.org/abs/2103.07719")

    num_blocks: int = knob(2, low=1, high=3, ge=1)
    multiplier: int = knob(5, choices=(3, 5, 7), ge=1)
    dropout: float = knob(0.5, low=0.0, high=0.7, ge=0.0, lt=1.0)
    leak: float = knob(0.2, low=0.0, high=0.5, ge=0.0)

    def network(self, spec: TaskSpec) -> nn.Module:
        return _Network(self, spec)


class _Network(nn.Module):
    def __init__(self, config: StemGNN, spec: TaskSpec) -> None:
        super().__init__()
        self.spec = spec
        steps = spec.input_size
        self.graph = _LatentCorrelation(config, spec)
        last = config.num_blocks - 1
        self.blocks = nn.ModuleList(
            _Block(steps, config.multiplier, is_last=place == last) for place in range(config.num_blocks)
        )
        self.output = nn.Sequential(
            nn.Linear(steps, steps), nn.LeakyReLU(), nn.Linear(steps, spec.horizon * spec.outputs)
        )

    def forward(self, inputs: Inputs) -> Tensor:
        values, _ = observed(inputs.past_y, inputs.past_mask)
        history_BCL = values.transpose(1, 2)
        filters = chebyshev_polynomials(self.graph(history_BCL))
        forecasts = []
        residual: Tensor | None = history_BCL
        for block in self.blocks:
            forecast, residual = block(residual, filters)
            forecasts.append(forecast)
        output: Tensor = self.output(torch.stack(forecasts).sum(0))
        return output.view(*output.shape[:2], self.spec.horizon, -1).transpose(1, 2)


class _LatentCorrelation(nn.Module):
    """Finds how much the series of a window have to do with each other: its normalised Laplacian ``B C C``."""

    def __init__(self, config: StemGNN, spec: TaskSpec) -> None:
        super().__init__()
        self.leak = config.leak
        self.encoder = nn.GRU(spec.input_size, spec.channels)
        self.key = nn.Parameter(nn.init.xavier_uniform_(torch.empty(spec.channels, 1), 2**0.5))
        self.query = nn.Parameter(nn.init.xavier_uniform_(torch.empty(spec.channels, 1), 2**0.5))
        self.dropout = Dropout(config.dropout)

    def forward(self, history_BCL: Tensor) -> Tensor:
        # The cells read one series after the other, and each unit of their state represents one series.
        states_CBC, _ = self.encoder(history_BCL.transpose(0, 1))
        nodes = states_CBC.permute(1, 2, 0)
        scores = functional.leaky_relu(nodes @ self.key + (nodes @ self.query).transpose(1, 2), self.leak)
        return normalised_laplacian(self.dropout(scores.softmax(2)))


class _Block(nn.Module):
    """Filters histories over the graph and over their frequencies, forecasts, and reconstructs them unless last."""

    def __init__(self, steps: int, multiplier: int, *, is_last: bool) -> None:
        super().__init__()
        width = steps * multiplier
        sizes = (_ORDERS * steps, _ORDERS * width, _ORDERS * width, _ORDERS * width)
        self.real = nn.Sequential(*map(_gated, sizes[:-1], sizes[1:]))
        self.imaginary = nn.Sequential(*map(_gated, sizes[:-1], sizes[1:]))
        self.kernel = nn.Parameter(nn.init.xavier_normal_(torch.empty(_ORDERS * width, width)))
        self.forecast = nn.Sequential(nn.Linear(width, width), nn.Sigmoid(), nn.Linear(width, steps))
        self.backcast = None if is_last else nn.Linear(width, steps)
        self.shortcut = None if is_last else nn.Linear(steps, steps)

    def forward(self, history_BCL: Tensor, filters_BKCC: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the forecast and the reconstruction, both ``(batch, channel, history)``."""
        filtered = self._over_frequencies(filters_BKCC @ history_BCL[:, None])
        mixed = filtered @ self.kernel
        forecast: Tensor = self.forecast(mixed)
        if self.backcast is None or self.shortcut is None:
            return forecast, None
        return forecast, torch.sigmoid(self.backcast(mixed) - self.shortcut(history_BCL))

    def _over_frequencies(self, values_BKCL: Tensor) -> Tensor:
        """Return ``(batch, channel, K * width)`` after gated layers on the spectra of all filtered histories."""
        spectrum = torch.fft.fft(values_BKCL.transpose(1, 2), norm="ortho")
        real, imaginary = self.real(spectrum.real.flatten(2)), self.imaginary(spectrum.imag.flatten(2))
        changed = torch.complex(real, imaginary).view(*real.shape[:2], _ORDERS, -1)
        result: Tensor = torch.fft.ifft(changed, norm="ortho").real.flatten(2)
        return result


def _gated(input_size: int, output_size: int) -> GatedLinearUnit:
    """Return a gated layer that, before training, passes on as large a signal as comes in."""
    layer = GatedLinearUnit(input_size, output_size)
    nn.init.normal_(layer.weight[:output_size], std=2 / input_size**0.5)  # a gate starts half open
    return layer


def normalised_laplacian(graph: Tensor) -> Tensor:
    """Return ``I - D^-1/2 W D^-1/2`` for the symmetric part ``W`` of weights ``(..., node, node)`` and its degrees."""
    weights = (graph + graph.transpose(-1, -2)) / 2
    scale = weights.sum(-1).clamp(min=1e-7).rsqrt()
    identity = torch.eye(graph.shape[-1], dtype=graph.dtype, device=graph.device)
    return identity - scale[..., None] * weights * scale[..., None, :]


def chebyshev_polynomials(matrix: Tensor) -> Tensor:
    """Return ``T_0 .. T_3`` of square matrices ``(..., node, node)`` as ``(..., 4, node, node)``."""
    polynomials = [torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device).expand_as(matrix), matrix]
    for _ in range(2, _ORDERS):
        polynomials.append(2 * matrix @ polynomials[-1] - polynomials[-2])
    return torch.stack(polynomials, -3)
