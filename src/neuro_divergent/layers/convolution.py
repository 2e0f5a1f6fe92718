"""Convolutions over sequences with time first.

Letters: T time, N rows, D hidden, I inputs, O outputs. Every layer turns ``TNI`` into ``TNO``, or ``TND`` into ``TND``.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm

from neuro_divergent.layers.activation import Activation, make_activation
from neuro_divergent.layers.dropout import Dropout


class DilatedConvolution(nn.Conv1d):
    """Convolution over the present and steps before it (or after it), ``dilation`` apart.

    Values outside the sequence are zero. It is computed as one product of matrices per tap of the kernel, which
    for the small kernels of sequence models is faster than a general convolution.

    Args:
        ahead: Whether the steps after the present are used instead of those before.
    """

    def __init__(self, inputs: int, outputs: int, kernel_size: int, dilation: int = 1, *, ahead: bool = False) -> None:
        super().__init__(inputs, outputs, kernel_size, dilation=dilation)
        self.ahead = ahead

    def forward(self, values_TNI: Tensor) -> Tensor:
        present, *others = self.weight.unbind(2) if self.ahead else self.weight.flip(2).unbind(2)
        result = functional.linear(values_TNI, present, self.bias)
        seen = values_TNI.to(result.dtype)  # under autocast the product above is of a narrower type
        for place, tap_OI in enumerate(others, 1):
            distance = place * self.dilation[0]
            if distance >= len(seen):
                break
            later, earlier = slice(distance, None), slice(-distance)
            into, of = (earlier, later) if self.ahead else (later, earlier)
            result[into].view(-1, self.out_channels).addmm_(seen[of].flatten(0, 1), tap_OI.T.to(result.dtype))
        return result


class DepthwiseConvolution(nn.Conv1d):
    """Causal convolution of each number of a step by itself; the last step of the kernel is the present."""

    def __init__(self, hidden_size: int, kernel_size: int) -> None:
        super().__init__(hidden_size, hidden_size, kernel_size, groups=hidden_size)

    def forward(self, values_TND: Tensor) -> Tensor:
        present, *others = self.weight.squeeze(1).flip(1).unbind(1)
        assert self.bias is not None
        result = torch.addcmul(self.bias, values_TND, present)
        for distance, tap_D in enumerate(others[: values_TND.shape[0] - 1], 1):
            result[distance:].addcmul_(values_TND[:-distance], tap_D)
        return result


def causal_stack(
    inputs: int, hidden_size: int, kernel_size: int, dilations: tuple[int, ...], activation: Activation
) -> nn.Sequential:
    """Return causal convolutions one after the other, each followed by an activation.

    Weights start as He et al. (2015) draw them; torch's smaller ones leave little of the signal after a few layers.
    """
    layers: list[nn.Module] = []
    for dilation in dilations:
        convolution = DilatedConvolution(inputs, hidden_size, kernel_size, dilation)
        nn.init.kaiming_uniform_(convolution.weight, nonlinearity="relu")
        layers += [convolution, make_activation(activation)]
        inputs = hidden_size
    return nn.Sequential(*layers)


class ResidualConvolution(nn.Module):
    """Two causal convolutions with normalised weights and dropout, added to their input (Bai et al., 2018).

    Args:
        outputs: Output features per step; if they differ from the inputs, the input is mapped to them before the sum.
        activation: Activation after each convolution and after the sum.
        dropout: Fraction dropped in training after each convolution.
    """

    def __init__(
        self, inputs: int, outputs: int, kernel_size: int, dilation: int, activation: Activation, dropout: float
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for width in (inputs, outputs):
            convolution = weight_norm(DilatedConvolution(width, outputs, kernel_size, dilation))
            layers += [convolution, make_activation(activation), Dropout(dropout)]
        self.branch = nn.Sequential(*layers)
        self.shortcut = nn.Linear(inputs, outputs) if inputs != outputs else nn.Identity()
        self.activation = make_activation(activation)

    def forward(self, values_TNI: Tensor) -> Tensor:
        result: Tensor = self.activation(self.branch(values_TNI) + self.shortcut(values_TNI))
        return result


class SkipConvolution(nn.Module):
    """Dilated convolution whose output is split into a residual for its input and a skip output.

    The cell of BiTCN (Sprangers et al., 2023), after WaveNet (van den Oord et al., 2016).
    """

    def __init__(self, hidden_size: int, kernel_size: int, dilation: int, dropout: float, *, ahead: bool) -> None:
        super().__init__()
        self.convolution = DilatedConvolution(hidden_size, hidden_size, kernel_size, dilation, ahead=ahead)
        self.split = nn.Linear(hidden_size, 2 * hidden_size)
        self.dropout = Dropout(dropout)

    def forward(self, values_TND: Tensor) -> tuple[Tensor, Tensor]:
        """Return the corrected values and the skip output, both ``(time, row, hidden)``."""
        correction, skip = self.split(self.dropout(functional.gelu(self.convolution(values_TND)))).chunk(2, 2)
        return values_TND + correction, skip
