from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.layers.basis import polynomial_basis
from neuro_divergent.layers.doubly_residual import DoublyResidualStack, Expansion, ResidualBlock, blocks_per_stack


class Halve(nn.Module):
    """Explains half of what it sees and forecasts the mean of it."""

    def __init__(self, horizon: int) -> None:
        super().__init__()
        self.horizon = horizon
        self.seen: list[Tensor] = []

    def forward(self, residual: Tensor, with_backcast: bool) -> tuple[Tensor | None, Tensor]:
        self.seen.append(residual)
        return residual / 2 if with_backcast else None, residual.mean(1)[:, None, None].expand(-1, self.horizon, 1)


def block(outputs: int = 2) -> ResidualBlock:
    torch.manual_seed(0)
    expansion = Expansion(6, polynomial_basis(4, 1), outputs)
    return ResidualBlock(6, expansion, hidden_size=5, num_layers=2, activation="ReLU", dropout=0.0)


def test_each_block_reads_the_residual_and_forecasts_are_summed() -> None:
    history, halve = torch.randn(3, 6), Halve(4)
    forecast = DoublyResidualStack([halve], [3])(history, None)
    backwards = history.flip(1)
    for seen, share in zip(halve.seen, (1, 2, 4), strict=True):
        torch.testing.assert_close(seen, backwards / share)
    expected = history[:, -1] + history.mean(1) * (1 + 1 / 2 + 1 / 4)
    torch.testing.assert_close(forecast, expected[:, None, None].expand(3, 4, 1))


def test_what_was_not_observed_stays_zero() -> None:
    mask = torch.tensor([[1.0, 0.0, 1.0]])
    shift = Halve(2)
    shift.forward = (
        lambda residual, with_backcast: (  # type: ignore[method-assign]
            shift.seen.append(residual) or (residual + 1, residual[:, :2, None])
        )
    )
    DoublyResidualStack([shift], [2])(torch.tensor([[3.0, 0.0, 5.0]]), mask)
    assert shift.seen[1].tolist() == [[-1.0, 0.0, -1.0]]


def test_expansion_is_a_sum_of_functions() -> None:
    basis = torch.randn(3, 4)
    expansion = Expansion(basis, torch.randn(2, 5), outputs=2)
    assert expansion.sizes == (3, 4)
    coefficients = torch.randn(7, 3)
    expected = sum(coefficients[:, index, None] * basis[index] for index in range(3))
    torch.testing.assert_close(expansion.backcast(coefficients), expected)
    ahead = torch.randn(7, 4)
    forecast = expansion.forecast(ahead)
    assert forecast.shape == (7, 5, 2)
    torch.testing.assert_close(forecast[..., 1], ahead[:, 2:] @ expansion.on_horizon)


@pytest.mark.parametrize("rows", [2, 20])
def test_block_forecasts_the_same_without_a_backcast(rows: int) -> None:
    values = torch.randn(rows, 6)
    backcast, forecast = block()(values)
    nothing, again = block()(values, with_backcast=False)
    assert nothing is None
    assert backcast is not None
    assert backcast.shape == (rows, 6)
    torch.testing.assert_close(again, forecast)


def test_blocks_per_stack() -> None:
    assert blocks_per_stack(2, 3) == (2, 2, 2)
    assert blocks_per_stack((1, 2, 3), 3) == (1, 2, 3)
    for wrong in (0, (1, 2), (1, 0, 2)):
        with pytest.raises(ValueError, match="one number for all 3 stacks or one for each, at least 1"):
            blocks_per_stack(wrong, 3)


def forecast(part: ResidualBlock) -> torch.Tensor:
    with torch.inference_mode():
        return part(torch.linspace(-1, 1, 12).view(2, 6).to(part.first.weight.dtype))[1]


def test_merged_weights_do_not_change_forecasts() -> None:
    part = block().eval()
    expected = forecast(part)
    part.prepare_to_forecast()
    assert part._merged is not None
    torch.testing.assert_close(forecast(part), expected)


def test_merged_weights_are_dropped_when_training_resumes() -> None:
    def trained(part: ResidualBlock) -> None:
        part.train()
        optimizer = torch.optim.SGD(part.parameters(), lr=0.5, fused=True)  # leaves no trace in the version of weights
        part(torch.ones(3, 6))[1].sum().backward()
        optimizer.step()
        part.eval()

    def loaded(part: ResidualBlock) -> None:
        part.load_state_dict({name: value + 1 for name, value in part.state_dict().items()})

    changes = (trained, loaded, lambda part: part.double())
    for change in changes:
        part = block().eval()
        part.prepare_to_forecast()
        change(part)
        fresh = block().eval().to(part.first.weight.dtype)
        fresh.load_state_dict(part.state_dict())
        torch.testing.assert_close(forecast(part), forecast(fresh))
