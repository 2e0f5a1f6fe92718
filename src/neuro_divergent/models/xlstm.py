"""xLSTM: long short-term memory with exponential gates and with matrices for memory."""

from __future__ import annotations

from math import ceil
from typing import ClassVar, Literal, Self

import torch
from pydantic import model_validator
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.config import knob, register
from neuro_divergent.core.spec import Traits
from neuro_divergent.layers.activation import Activation
from neuro_divergent.layers.convolution import DepthwiseConvolution
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.recurrent import matrix_memory, scalar_memory
from neuro_divergent.models.sequence import SequenceArchitecture

Block = Literal["mlstm", "slstm"]


@register("xlstm")
class XLSTM(SequenceArchitecture):
    """Residual blocks of mLSTM (a matrix that stores values under keys) or sLSTM (exponential gates, heads that mix).

    Beck et al., "xLSTM: Extended Long Short-Term Memory", NeurIPS 2024; the head (a linear map over time and a
    perceptron) and the sizes are NeuralForecast's. The blocks have the layout and the number of weights of the authors'
    package, which NeuralForecast uses with ``bias=True``, where widths need no rounding there: an mLSTM block is
    exactly twice as wide inside, and only the gated layer of an sLSTM block is rounded up to a multiple of 64.

    Attributes:
        blocks: Kind of each block, first to last.
        hidden_size: Width of a state, an even multiple of ``num_heads``.
        num_heads: Heads, each with a memory of its own.
        kernel_size: Steps of the causal convolution before the gates.
        dropout: Fraction of the residual branch of a block dropped in training.
        decoder_hidden_size: Hidden units of the perceptron.
        decoder_num_layers: Linear layers of the perceptron, the output included.
        decoder_activation: Activation of the perceptron.

    Examples:
        The state of an sLSTM block flows back within each of its four heads, to three gates and the content:

        >>> import neuro_divergent as nd
        >>> architecture = nd.XLSTM(blocks=("mlstm", "slstm"), hidden_size=32, num_heads=4)
        >>> weights = architecture.build(nd.models.TaskSpec(horizon=12, input_size=48)).state_dict()
        >>> next(list(weight.shape) for name, weight in weights.items() if name.endswith("recurrent"))
        [4, 8, 32]
    """

    traits: ClassVar[Traits] = Traits.with_covariates("recurrent", "https://arxiv.org/abs/2405.04517")

    blocks: tuple[Block, ...] = knob(
        ("mlstm", "mlstm"), choices=(("mlstm", "mlstm"), ("slstm", "slstm"), ("mlstm", "slstm")), min_length=1
    )
    hidden_size: int = knob(128, choices=(32, 64, 128, 256, 512), ge=1)  # a multiple of every number of heads
    num_heads: int = knob(4, choices=(2, 4, 8), ge=1)
    kernel_size: int = knob(4, low=2, high=8, ge=1)
    dropout: float = knob(0.1, low=0.0, high=0.5, ge=0.0, lt=1.0)
    decoder_activation: Activation = "GELU"

    @model_validator(mode="after")
    def _check_heads(self) -> Self:
        if self.hidden_size % self.num_heads or self.hidden_size % 2:
            raise ValueError(
                f"hidden_size: {self.hidden_size} must be even and a multiple of num_heads ({self.num_heads})"
            )
        return self

    def encoder(self, inputs: int) -> nn.Module:
        kinds = {"mlstm": _MatrixBlock, "slstm": _ScalarBlock}
        blocks = [kinds[kind](self) for kind in self.blocks]
        return nn.Sequential(nn.Linear(inputs, self.hidden_size), *blocks, nn.LayerNorm(self.hidden_size, bias=False))


class _MatrixBlock(nn.Module):
    def __init__(self, config: XLSTM) -> None:
        super().__init__()
        width = 2 * config.hidden_size
        self.norm = nn.LayerNorm(config.hidden_size, bias=False)
        self.widen = nn.Linear(config.hidden_size, 2 * width)
        self.convolution = DepthwiseConvolution(width, config.kernel_size)
        self.query, self.key, self.value = (_BlockLinear(width, width // 4, bias=True) for _ in range(3))
        self.write, self.keep = (nn.Linear(3 * width, config.num_heads) for _ in range(2))
        nn.init.zeros_(self.write.weight)
        nn.init.normal_(self.write.bias, std=0.1)
        nn.init.zeros_(self.keep.weight)
        # Heads start with memories from short to long.
        self.keep.bias = nn.Parameter(torch.linspace(3.0, 6.0, config.num_heads))
        self.heads_norm = _HeadNorm(width, config.num_heads)
        self.skip = nn.Parameter(torch.ones(width))
        self.narrow = nn.Linear(width, config.hidden_size)
        self.dropout = Dropout(config.dropout)

    def forward(self, values_TND: Tensor) -> Tensor:
        content, gate = self.widen(self.norm(values_TND)).chunk(2, 2)
        local = functional.silu(self.convolution(content))
        query, key, value = self.query(local), self.key(local), self.value(content)
        told = torch.cat([query, key, value], 2)
        write, keep = self._gates(told).permute(1, 2, 0).chunk(2, 1)
        found_NGTK = matrix_memory(self._heads(query), self._heads(key), self._heads(value), write, keep)
        found_TND = found_NGTK.permute(2, 0, 1, 3).reshape(content.shape)
        states = self.heads_norm(found_TND) + self.skip * local
        result: Tensor = values_TND + self.dropout(self.narrow(states * functional.silu(gate)))
        return result

    def _gates(self, told_TND: Tensor) -> Tensor:
        """Return input and forget gates, from one matrix product."""
        weight = torch.cat([self.write.weight, self.keep.weight])
        return functional.linear(told_TND, weight, torch.cat([self.write.bias, self.keep.bias]))

    def _heads(self, values_TND: Tensor) -> Tensor:
        return values_TND.view(*values_TND.shape[:2], self.write.out_features, -1).permute(1, 2, 0, 3)


class _ScalarBlock(nn.Module):
    def __init__(self, config: XLSTM) -> None:
        super().__init__()
        hidden, heads = config.hidden_size, config.num_heads
        self.norm = nn.LayerNorm(hidden, bias=False)
        self.convolution = DepthwiseConvolution(hidden, config.kernel_size)
        # Input and forget gates read the convolution, cell and output gates the values themselves.
        self.gates = nn.ModuleList(_BlockLinear(hidden, heads, bias=False) for _ in range(4))
        self.recurrent = nn.Parameter(torch.zeros(heads, hidden // heads, 4 * hidden // heads))
        self.bias = nn.Parameter(torch.zeros(4, hidden))
        nn.init.constant_(self.bias[1], 3.0)
        self.heads_norm = _HeadNorm(hidden, heads)
        self.feedforward_norm = nn.LayerNorm(hidden, bias=False)
        width = 64 * ceil(1.3 * hidden / 64)
        self.widen = nn.Linear(hidden, 2 * width, bias=False)
        self.narrow = nn.Linear(width, hidden, bias=False)
        self.dropout = Dropout(config.dropout)

    def forward(self, values_TND: Tensor) -> Tensor:
        states = self.dropout(self._remember(self.norm(values_TND)))
        values_TND = values_TND + self.heads_norm(states)
        gate, content = self.widen(self.feedforward_norm(values_TND)).chunk(2, 2)
        result: Tensor = values_TND + self.dropout(self.narrow(functional.gelu(gate) * content))
        return result

    def _remember(self, values_TND: Tensor) -> Tensor:
        steps, rows, _ = values_TND.shape
        local = functional.silu(self.convolution(values_TND))
        sources = (local, local, values_TND, values_TND)
        told = [gate(source) + bias for gate, source, bias in zip(self.gates, sources, self.bias, strict=True)]
        gates_TN4GK = torch.stack(told, 2).view(steps, rows, 4, self.recurrent.shape[0], -1)
        states = scalar_memory(gates_TN4GK.permute(0, 3, 1, 2, 4).flatten(3), self.recurrent)
        return states.transpose(1, 2).reshape(values_TND.shape)


class _BlockLinear(nn.Module):
    """A linear layer whose matrix is made of square blocks along the diagonal."""

    def __init__(self, size: int, blocks: int, *, bias: bool) -> None:
        super().__init__()
        width = size // blocks
        self.weight = nn.Parameter(torch.randn(blocks, width, width) * (2 / (5 * width)) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(size)) if bias else None

    def forward(self, values_TND: Tensor) -> Tensor:
        parts = values_TND.view(*values_TND.shape[:2], self.weight.shape[0], -1)
        result = torch.einsum("tnbi,boi->tnbo", parts, self.weight).reshape(values_TND.shape)
        return result if self.bias is None else result + self.bias


class _HeadNorm(nn.Module):
    """Normalises each head of a state by itself; there is a gain for each number and no shift."""

    def __init__(self, size: int, num_heads: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(size))
        self.num_heads = num_heads

    def forward(self, values_TND: Tensor) -> Tensor:
        # Twice as fast as torch's normalisation of groups.
        heads = values_TND.view(*values_TND.shape[:2], self.num_heads, -1)
        return functional.layer_norm(heads, heads.shape[3:]).flatten(2) * self.gain
