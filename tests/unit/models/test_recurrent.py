from __future__ import annotations

import pytest
import torch
from torch import nn

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.models.base import Architecture
from neuro_divergent.models.itransformer import ITransformer
from neuro_divergent.models.recurrent import GRU, LSTM, RNN, Recurrent


@pytest.mark.parametrize(
    ("kind", "cell", "module"), [(LSTM, "lstm", nn.LSTM), (GRU, "gru", nn.GRU), (RNN, "rnn", nn.RNN)]
)
def test_each_cell_has_a_name_of_its_own(kind: type[Recurrent], cell: str, module: type[nn.Module]) -> None:
    assert Architecture.registry.get(cell) is kind
    network = kind(hidden_size=4).build(TaskSpec(3, 6))
    assert type(network.encoder) is module
    same = Recurrent(cell=cell, hidden_size=4).build(TaskSpec(3, 6))
    same.load_state_dict(network.state_dict())
    other = "gru" if cell == "lstm" else "lstm"
    with pytest.raises(ConfigError, match=f"{cell}: cell: '{other}' must be '{cell}'"):
        kind(cell=other)


def test_forecast_is_made_from_the_last_states() -> None:
    torch.manual_seed(0)
    network, values = LSTM(hidden_size=5, decoder_hidden_size=6).build(TaskSpec(3, 8)), torch.randn(4, 8, 1)
    state: tuple[torch.Tensor, torch.Tensor] | None = None
    expected = []
    for step in range(8):
        output, state = network.encoder(values[:, step].unsqueeze(0), state)
        expected.append(network.decoder(output[0]))
    forecast = network(Batch(values, torch.ones_like(values)))
    torch.testing.assert_close(forecast[:, :, 0], torch.stack(expected[-3:], 1))


def test_a_long_horizon_mixes_all_states_over_time() -> None:
    torch.manual_seed(0)
    network, values = GRU(hidden_size=5).build(TaskSpec(9, 4)), torch.randn(2, 4, 1)
    states, _ = network.encoder(values.transpose(0, 1))
    longer = network.lengthen(states.permute(1, 2, 0)).transpose(1, 2)
    forecast = network(Batch(values, torch.ones_like(values)))
    torch.testing.assert_close(forecast[:, :, 0], network.decoder(longer))


def test_one_layer_has_no_between_to_drop() -> None:
    assert LSTM(num_layers=1, dropout=0.3, hidden_size=4).build(TaskSpec(3, 6)).encoder.dropout == 0
    assert LSTM(num_layers=2, dropout=0.3, hidden_size=4).build(TaskSpec(3, 6)).encoder.dropout == 0.3


def test_itransformer_follows_level_and_spread_of_each_series() -> None:
    torch.manual_seed(0)
    network = ITransformer(hidden_size=16, feedforward_size=16).build(TaskSpec(3, 12, channels=2)).double().eval()
    values = torch.randn(4, 12, 2, dtype=torch.float64)
    batch = Batch(values, torch.ones_like(values))
    moved = network(batch._replace(past_y=values * 50 + 1000))
    torch.testing.assert_close(moved, network(batch) * 50 + 1000, atol=0.1, rtol=1e-4)


def test_itransformer_measures_level_and_spread_on_what_was_observed() -> None:
    torch.manual_seed(0)
    network = ITransformer(hidden_size=16, feedforward_size=16).build(TaskSpec(3, 12)).double().eval()
    values = 500 + torch.randn(4, 12, 1, dtype=torch.float64)
    mask = torch.ones_like(values)
    mask[:, ::3] = 0
    forecast = network(Batch(values * mask, mask))
    assert (forecast - 500).abs().max() < 10


def test_itransformer_refuses_heads_that_do_not_divide_a_token() -> None:
    with pytest.raises(ConfigError, match="hidden_size: 10 must be a multiple of num_heads \\(8\\)"):
        ITransformer(hidden_size=10)
