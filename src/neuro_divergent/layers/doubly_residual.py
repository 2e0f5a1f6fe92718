"""Blocks that each explain a part of the history and forecast from it (N-BEATS, N-HiTS)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.layers.activation import Activation, make_activation
from neuro_divergent.layers.mlp import LinearChain


class Expansion(nn.Module):
    """Expands coefficients on fixed functions of the history and of the horizon.

    Args:
        on_history: Functions ``(coefficient, history)``, or the length when the coefficients are the values themselves.
        on_horizon: The same for the horizon.
        outputs: Numbers per step of the horizon.

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
        by_output = coefficients.view(len(coefficients), self._outputs, -1)
        return (by_output if self.on_horizon is None else by_output @ self.on_horizon).transpose(1, 2)


class ResidualBlock(nn.Module):
    """A perceptron that finds the coefficients of an expansion.

    Its first layer is linear, followed by ``num_layers`` layers with an activation.
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
    ) -> None:
        super().__init__()
        self.entrance = nn.Linear(input_size, hidden_size)
        self.first = nn.Linear(hidden_size, hidden_size)
        self._chain = LinearChain()
        rest: list[nn.Module] = []
        for layer in range(num_layers):
            rest += [nn.Linear(hidden_size, hidden_size)] if layer else []
            rest += [make_activation(activation)] + ([nn.Dropout(dropout)] if dropout else [])
        self.rest = nn.Sequential(*rest)
        self.coefficients = nn.Linear(hidden_size, sum(expansion.sizes))
        self.expansion = expansion

    def forward(self, features: Tensor, with_backcast: bool = True) -> tuple[Tensor | None, Tensor]:
        """Return the explained part of the history, if wanted, and its forecast ``(rows, horizon, outputs)``."""
        hidden = self.rest(self._chain(features, self.entrance, self.first))
        explained, ahead = self.expansion.sizes
        if with_backcast:
            backcast, forecast = self.coefficients(hidden).split([explained, ahead], 1)
            return self.expansion.backcast(backcast), self.expansion.forecast(forecast)
        weight, bias = self.coefficients.weight[explained:], self.coefficients.bias[explained:]
        return None, self.expansion.forecast(functional.linear(hidden, weight, bias))


class DoublyResidualStack(nn.Module):
    """Runs blocks one after another: each sees what those before left unexplained, and the forecasts add up.

    Histories are read backwards, latest value first, and the forecast starts from that value.

    Args:
        blocks: Modules that turn ``(residual, *context, with_backcast)`` into what ``ResidualBlock`` returns.
        repeats: How many times in a row each block is run, with the same weights.
    """

    def __init__(self, blocks: Sequence[nn.Module], repeats: Sequence[int]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self._runs = [index for index, count in enumerate(repeats) for _ in range(count)]

    def forward(self, history: Tensor, mask: Tensor | None, *context: Tensor | None) -> Tensor:
        """Return ``(rows, horizon, outputs)``.

        Args:
            history: Values shaped ``(rows, history)``, zero where unobserved.
            mask: The same shape, 1 where observed; ``None`` when all is.
            context: Passed on to every block.
        """
        forecast = history[:, -1:, None]
        residual = history.flip(1)
        observed = None if mask is None else mask.flip(1)
        for run, index in enumerate(self._runs):
            # Nobody reads what the last block explains, so it is not worked out.
            backcast, part = self.blocks[index](residual, *context, with_backcast=run < len(self._runs) - 1)
            forecast = forecast + part
            if backcast is not None:
                residual = residual - backcast
                residual = residual if observed is None else residual * observed
        return forecast


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
