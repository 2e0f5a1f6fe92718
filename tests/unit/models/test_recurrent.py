from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.models.base import Architecture
from neuro_divergent.models.itransformer import ITransformer
from neuro_divergent.models.recurrent import GRU, LSTM, RNN, Recurrent
from neuro_divergent.models.reversible import ReversibleNetwork


@pytest.mark.parametrize(
    ("kind", "cell", "module"), [(LSTM, "lstm", nn.LSTM), (GRU, "gru", nn.GRU), (RNN, "rnn", nn.RNN)]
)
def test_each_cell_has_a_name_of_its_own(kind: type[Recurrent], cell: str, module: type[nn.Module]) -> None:
    assert Architecture.registry.get(cell) is kind
    network = kind(hidden_size=4).build(TaskSpec(3, 6))
    assert type(network.encoder) is module
    with pytest.raises(ConfigError, match="Unknown model 'recurrent'"):
        Architecture.from_dict("recurrent")


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
    longer = functional.linear(states.permute(1, 2, 0), network.lengthen.weight, network.lengthen.bias).transpose(1, 2)
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


PAST, FUTURE, STATIC = (Feature("p"), Feature("pc", 4)), (Feature("f"), Feature("fc", 3)), (Feature("s"),)
SPEC = TaskSpec(5, 8, channels=2, outputs=3, past=PAST, future=FUTURE, static=STATIC)


def autoregressive(spec: TaskSpec = SPEC, kind: type[Recurrent] = LSTM, **settings: object) -> nn.Module:
    torch.manual_seed(0)
    sizes = {"hidden_size": 6, "decoder_hidden_size": 5, **settings}
    return kind(decoding="autoregressive", **sizes).build(spec).double()


def example(spec: TaskSpec = SPEC, size: int = 4, *, missing: bool = False) -> Batch:
    torch.manual_seed(1)
    steps = spec.input_size + spec.horizon
    mask = (torch.rand(size, steps, spec.channels) > 0.4).double()
    mask = mask if missing else torch.ones_like(mask)
    values = torch.randn(size, steps, spec.channels).double() * mask

    def covariates(features: tuple[Feature, ...], *shape: int) -> torch.Tensor | None:
        columns = [
            torch.randn(shape) if item.cardinality is None else torch.randint(item.cardinality, shape).float()
            for item in features
        ]
        return torch.stack(columns, -1).double() if features else None

    return Batch(
        values[:, : spec.input_size],
        mask[:, : spec.input_size],
        past_x=covariates(spec.past, size, spec.input_size),
        future_x=covariates(spec.future, size, steps),
        static_x=covariates(spec.static, size),
        future_y=values[:, spec.input_size :],
        future_mask=mask[:, spec.input_size :] if missing else None,
    )


def decode_by_hand(
    network: nn.Module, batch: Batch, truth: torch.Tensor | None, shown: torch.Tensor | None
) -> torch.Tensor:
    """Return the forecast of one window and channel at a time, one step at a time."""
    spec = network.spec
    past, future, static = (
        encoder(values)
        for encoder, values in (
            (network.covariates.past, batch.past_x),
            (network.covariates.future, batch.future_x),
            (network.covariates.static, batch.static_x),
        )
    )
    size, steps, channels = batch.past_y.shape
    result = torch.empty(size, spec.horizon, channels, spec.outputs, dtype=torch.float64)
    for window in range(size):
        for channel in range(channels):
            memory, before = None, torch.zeros(0)
            for step in range(steps + spec.horizon - 1):
                if step < steps:
                    value, extra = batch.past_y[window, step, channel], past[window, step]
                else:
                    value, extra = before, torch.zeros_like(past[window, 0])
                    ahead = step - steps
                    if truth is not None and shown is not None and shown[window, ahead, channel]:
                        value = truth[window, ahead, channel]
                read = torch.cat([value.view(1), extra, static[window], future[window, step]])
                state, memory = network.encoder(read.view(1, 1, -1), memory)
                if step >= steps - 1:
                    known = torch.cat([state[0, 0], future[window, step + 1]])
                    result[window, step - steps + 1, channel] = network.decoder(known)
                    before = result[window, step - steps + 1, channel, 1].clone()
    return result


@pytest.mark.parametrize("kind", [LSTM, GRU, RNN])
@torch.no_grad()
def test_each_step_is_decoded_from_the_middle_output_of_the_step_before(kind: type[Recurrent]) -> None:
    network, batch = autoregressive(kind=kind).eval(), example()
    torch.testing.assert_close(network(batch), decode_by_hand(network, batch, None, None))


@torch.no_grad()
def test_teacher_forcing_reads_the_true_values_but_never_missing_ones() -> None:
    network, batch = autoregressive().train(), example(missing=True)
    assert batch.future_mask is not None
    expected = decode_by_hand(network, batch, batch.future_y, batch.future_mask)
    torch.testing.assert_close(network(batch), expected)
    spoilt = batch._replace(future_y=torch.where(batch.future_mask > 0, batch.future_y, torch.nan))
    torch.testing.assert_close(network(spoilt), expected)


@pytest.mark.parametrize("horizon", [1, 2, 5, 11])
def test_teacher_forcing_in_one_pass_equals_step_by_step(horizon: int, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = replace(SPEC, horizon=horizon)
    network, batch = autoregressive(spec).train(), example(spec)
    calls = []
    network.encoder.register_forward_hook(lambda *_: calls.append(1))
    fast = network(batch)
    assert len(calls) == 1
    gradients = torch.autograd.grad(fast.square().sum(), list(network.parameters()))
    monkeypatch.setattr(type(network), "_reads_all_targets", lambda *_: False)
    slow = network(batch)
    assert len(calls) == 1 + horizon
    torch.testing.assert_close(fast, slow)
    for one, two in zip(gradients, torch.autograd.grad(slow.square().sum(), list(network.parameters())), strict=True):
        torch.testing.assert_close(one, two)


@torch.no_grad()
def test_teacher_forcing_ratio_zero_reads_own_forecasts() -> None:
    network, batch = autoregressive(), example()
    alone = network.eval()(batch)
    assert not torch.allclose(network.train()(batch), alone)
    network.teacher_forcing_ratio = 0.0
    torch.testing.assert_close(network(batch), alone)
    network.teacher_forcing_ratio = 1.0
    torch.testing.assert_close(network(batch._replace(future_y=None)), alone)


@torch.no_grad()
def test_teacher_forcing_ratio_is_the_fraction_of_targets_read() -> None:
    spec = TaskSpec(3, 4, channels=2)
    network = autoregressive(spec).train()
    network.teacher_forcing_ratio = 0.3
    batch = example(spec, 1)
    many = Batch(*(None if item is None else item.expand(4000, *item.shape[1:]) for item in batch))
    second = network(many)[:, 1, :, 0]
    network.teacher_forcing_ratio = 1.0
    forced, alone = network(batch)[:, 1, :, 0], network.eval()(batch)[:, 1, :, 0]
    is_forced = (second - forced).abs() < 1e-9
    assert (is_forced | ((second - alone).abs() < 1e-9)).all()
    assert torch.equal(is_forced[:, 0], is_forced[:, 1]), "the channels of a window share their fate"
    assert abs(float(is_forced.double().mean()) - 0.3) < 5 * (0.21 / 4000) ** 0.5


@torch.no_grad()
def test_one_step_ahead_both_decodings_are_the_same_network() -> None:
    spec = replace(SPEC, horizon=1)
    direct = LSTM(hidden_size=6, decoder_hidden_size=5).build(spec).double()
    direct.load_state_dict(autoregressive(spec).state_dict())
    torch.testing.assert_close(direct(example(spec)), autoregressive(spec).eval()(example(spec)))


def test_autoregressive_property_follows_the_decoding_setting() -> None:
    assert LSTM(decoding="autoregressive").is_autoregressive
    assert not LSTM().is_autoregressive
    assert LSTM.traits.autoregressive == LSTM().is_autoregressive, "traits tell of the default settings"
    with pytest.raises(ConfigError, match="lstm: decoding"):
        LSTM(decoding="backwards")


def test_the_true_values_before_are_on_the_scale_of_the_network_under_revin() -> None:
    """Shifting and stretching the data moves forecasts made with teacher forcing in the same way."""
    spec = TaskSpec(horizon=4, input_size=8)
    torch.manual_seed(0)
    network = ReversibleNetwork(LSTM(decoding="autoregressive", hidden_size=8).build(spec), 1).double().train()
    values = torch.randn(3, 12, 1, dtype=torch.float64)

    def forecast(moved: torch.Tensor) -> torch.Tensor:
        past, future = moved[:, :8], moved[:, 8:]
        loc, scale = past.mean(1, keepdim=True), past.std(1, keepdim=True)
        return network(Batch(past, torch.ones_like(past), future_y=future, loc=loc, scale=scale))

    torch.testing.assert_close(forecast(values * 3 + 1000), forecast(values) * 3 + 1000)


@pytest.mark.parametrize("kind", [LSTM, GRU, RNN])
def test_reads_settings_that_name_the_cell(kind: type[LSTM | GRU | RNN]) -> None:
    assert kind.from_dict({**kind().to_dict(), "cell": kind.cell}) == kind()
    with pytest.raises(ConfigError, match="cell"):
        kind.from_dict({**kind().to_dict(), "cell": "other"})
