"""Blocks that each explain a part of the history and forecast from it (N-BEATS, N-HiTS)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.core.segment import run_in_segments
from neuro_divergent.layers.activation import Activation, make_activation
from neuro_divergent.layers.dropout import Dropout
from neuro_divergent.layers.mlp import linear_pair, merge_pair
from neuro_divergent.layers.normalization import Normalization, make_norm
from neuro_divergent.layers.stochastic_depth import growing_rates, kept_rows


class Expansion(nn.Module):
    """Expands coefficients on fixed functions of the history and of the horizon.

    Args:
        on_history: Functions ``(coefficient, history)``, or the length when the coefficients are the values themselves.
        on_horizon: The same for the horizon.

    Attributes:
        sizes: Coefficients for the history, and for the horizon with all its outputs.
    """

    on_history: Tensor | None
    on_horizon: Tensor | None

    def __init__(self, on_history: Tensor | int, on_horizon: Tensor | int, outputs: int) -> None:
        super().__init__()
        self.sizes = (_coefficients(on_history), _coefficients(on_horizon) * outputs)
        self._outputs = outputs
        for name, basis in (("on_history", on_history), ("on_horizon", on_horizon)):
            self.register_buffer(name, basis if isinstance(basis, Tensor) else None, persistent=False)

    def backcast(self, coefficients: Tensor) -> Tensor:
        """Return ``(rows, history)``."""
        return coefficients if self.on_history is None else coefficients @ self.on_history

    def forecast(self, coefficients: Tensor) -> Tensor:
        """Return ``(rows, horizon, outputs)``."""
        by_output = coefficients.view(coefficients.shape[0], self._outputs, -1)
        return (by_output if self.on_horizon is None else by_output @ self.on_horizon).transpose(1, 2)


class ResidualBlock(nn.Module):
    """A perceptron that finds the coefficients of an expansion.

    Its first layer is linear, followed by ``num_layers`` layers with a norm, if wanted, and an activation.
    """

    def __init__(
        self,
        input_size: int,
        expansion: Expansion,
        *,
        hidden_size: int,
        num_layers: int,
        activation: Activation,
        dropout: float,
        norm: Normalization | Literal["none"] = "none",
    ) -> None:
        super().__init__()
        self.entrance = nn.Linear(input_size, hidden_size)
        self.first = nn.Linear(hidden_size, hidden_size)
        self._merged: tuple[Tensor, Tensor] | None = None
        rest: list[nn.Module] = []
        for layer in range(num_layers):
            rest += [nn.Linear(hidden_size, hidden_size)] if layer else []
            rest += [] if norm == "none" else [make_norm(norm, hidden_size)]
            rest += [make_activation(activation)] + ([Dropout(dropout)] if dropout else [])
        self.rest = nn.Sequential(*rest)
        self.coefficients = nn.Linear(hidden_size, sum(expansion.sizes))
        self.expansion = expansion

    def forward(self, features: Tensor, with_backcast: bool = True) -> tuple[Tensor | None, Tensor]:
        """Return the explained part of the history, if wanted, and its forecast ``(rows, horizon, outputs)``."""
        if self._merged is not None and not torch.is_grad_enabled():
            hidden = self.rest(functional.linear(features, *self._merged))
        else:
            hidden = self.rest(linear_pair(features, self.entrance, self.first))
        explained, ahead = self.expansion.sizes
        if with_backcast:
            backcast, forecast = self.coefficients(hidden).split([explained, ahead], 1)
            return self.expansion.backcast(backcast), self.expansion.forecast(forecast)
        weight, bias = self.coefficients.weight[explained:], self.coefficients.bias[explained:]
        return None, self.expansion.forecast(functional.linear(hidden, weight, bias))

    def prepare_to_forecast(self) -> None:
        """Multiply the first two layers once for all forecasts, until the block is trained, loaded or moved again.

        Changes of the weights are not detected, since fused optimizers of torch do not update version counters:
        call it only when the weights are final.
        """
        with torch.no_grad():
            self._merged = merge_pair(self.entrance, self.first)

    def train(self, mode: bool = True) -> Self:
        """Set the mode; weights may change from now on."""
        if mode:
            self._merged = None
        return super().train(mode)

    def _apply(self, *arguments: Any, **options: Any) -> Self:
        self._merged = None
        return super()._apply(*arguments, **options)  # type: ignore[no-any-return, no-untyped-call]

    def _load_from_state_dict(self, *arguments: Any, **options: Any) -> None:
        self._merged = None
        super()._load_from_state_dict(*arguments, **options)


class DoublyResidualStack(nn.Module):
    """Runs blocks in sequence: each reads the residual of those before, and the forecasts are summed.

    Histories are read backwards, latest value first, and the forecast starts from that value.

    Args:
        blocks: Modules that turn ``(residual, *context, with_backcast)`` into what ``ResidualBlock`` returns.
        repeats: How many times in a row each block is run, with the same weights.
        stochastic_depth: Fraction of rows that skip the last block in training; earlier ones are skipped less, in
            proportion to their depth.

    Attributes:
        recompute_every: Blocks per segment whose activations are computed again in the backward pass of training; 0
            keeps them all.
        num_blocks: Blocks that are run, each as often as it is repeated.
    """

    recompute_every: int = 0

    def __init__(self, blocks: Sequence[nn.Module], repeats: Sequence[int], stochastic_depth: float = 0.0) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self._runs = [index for index, count in enumerate(repeats) for _ in range(count)]
        self.num_blocks = len(self._runs)
        self._rates = growing_rates(stochastic_depth, self.num_blocks)

    def forward(self, history: Tensor, mask: Tensor | None, *context: Tensor | None) -> Tensor:
        """Return ``(rows, horizon, outputs)`` for histories ``(rows, history)``, zero where unobserved."""
        observed = None if mask is None else mask.flip(1)

        def advance(run: int, index: int, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
            residual, forecast = state
            # The backcast of the last block is not used, so it is not computed.
            backcast, part = self.blocks[index](residual, *context, with_backcast=run < self.num_blocks - 1)
            if self.training and self._rates[run]:
                kept = kept_rows(part, self._rates[run])
                part, backcast = part * kept, None if backcast is None else backcast * kept.squeeze(-1)
            if backcast is not None:
                residual = residual - backcast
                residual = residual if observed is None else residual * observed
            return residual, forecast + part

        steps = [partial(advance, run, index) for run, index in enumerate(self._runs)]
        every = self.recompute_every if self.training else 0
        _, forecast = run_in_segments(self, steps, every, (history.flip(1), history[:, -1:, None]))
        result: Tensor = forecast
        return result


def blocks_per_stack(num_blocks: int | tuple[int, ...], stacks: int) -> tuple[int, ...]:
    """Return the number of blocks of each stack.

    Raises:
        ValueError: If there is no stack, or not one number for all or one for each, all at least 1.
    """
    if not stacks:
        raise ValueError("there must be at least one stack")
    blocks = (num_blocks,) * stacks if isinstance(num_blocks, int) else num_blocks
    if len(blocks) != stacks or min(blocks) < 1:
        raise ValueError(
            f"num_blocks: {num_blocks!r} must be one number for all {stacks} stacks or one for each, at least 1"
        )
    return blocks


def _coefficients(basis: Tensor | int) -> int:
    return basis if isinstance(basis, int) else len(basis)
