"""Recurrent and convolutional networks: the same sizes and weights give the same forecasts as NeuralForecast 3.3.0."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.models.base import Architecture
from neuro_divergent.models.bitcn import BiTCN
from neuro_divergent.models.deepar import DeepAR
from neuro_divergent.models.dilated_rnn import DilatedRNN
from neuro_divergent.models.recurrent import GRU, LSTM, RNN
from neuro_divergent.models.tcn import TCN
from neuro_divergent.models.timesnet import TimesNet

reference = pytest.importorskip(
    "neuralforecast.models", reason="neuralforecast is not installed: pip install neuro-divergent[bench]"
)
losses = pytest.importorskip("neuralforecast.losses.pytorch")

Weights = dict[str, Tensor]
PAST, FUTURE, STATIC = (Feature("h1"), Feature("h2")), (Feature("f1"),), tuple(Feature(f"s{index}") for index in "123")
KERNELS = list(product(range(2), (0, 2), ("weight", "bias"), range(6)))
ROLES = {"past": "hist", "future": "futr", "static": "stat"}


def theirs(kind: str, spec: TaskSpec, **settings: object) -> nn.Module:
    """Return a NeuralForecast model for the task."""
    if spec.outputs > 1:
        loss = losses.MQLoss(quantiles=[(index + 1) / (spec.outputs + 1) for index in range(spec.outputs)])
        settings |= {"loss": loss, "valid_loss": loss}
    for role, name in ROLES.items():
        if features := getattr(spec, role):
            settings[f"{name}_exog_list"] = [feature.name for feature in features]
    model: nn.Module = getattr(reference, kind)(h=spec.horizon, input_size=spec.input_size, **settings)
    return model.eval()


def parts(*order: str) -> Callable[[Weights], Iterable[Tensor]]:
    """Return what orders weights by the parts that they belong to; convolutions over one step become matrices."""

    def ordered(weights: Weights) -> Iterable[Tensor]:
        for part in order:
            for key, value in weights.items():
                if key.startswith(part):
                    yield value.squeeze(2) if "conv2" in key and value.dim() == 3 else value

    return ordered


CASES: dict[str, tuple[Architecture, str, dict[str, object], Callable[[Weights], Iterable[Tensor]]]] = {
    "lstm": (LSTM(), "LSTM", {}, parts("hist_encoder", "upsample", "mlp")),
    "gru": (GRU(), "GRU", {}, parts("hist_encoder", "upsample", "mlp")),
    "rnn": (RNN(), "RNN", {}, parts("hist_encoder", "upsample", "mlp")),
    "tcn": (TCN(), "TCN", {}, parts("hist_encoder", "context", "mlp")),
    "wide tcn": (
        TCN(kernel_size=3, dilations=(1, 3, 9), activation="Tanh", decoder_num_layers=3),
        "TCN",
        {"kernel_size": 3, "dilations": [1, 3, 9], "encoder_activation": "Tanh", "decoder_layers": 3},
        parts("hist_encoder", "context", "mlp"),
    ),
    "bitcn": (BiTCN(), "BiTCN", {}, parts("lin_hist", "net_bwd", "lin_futr", "net_fwd", "temporal", "output")),
    "dilated_rnn": (DilatedRNN(), "DilatedRNN", {}, parts("rnn_stack", "context", "mlp")),
    "dilated gru": (
        DilatedRNN(cell="gru", dilations=((3,), (1, 5))),
        "DilatedRNN",
        {"cell_type": "GRU", "dilations": [[3], [1, 5]]},
        parts("rnn_stack", "context", "mlp"),
    ),
    "timesnet": (
        TimesNet(periods="batch"),
        "TimesNet",
        {},
        parts(
            *("enc_embedding.value", "enc_embedding.temporal", "predict"),
            # Theirs are kernel by kernel, ours all weights of a block and then all biases.
            *([f"model.{layer}.conv.{block}.kernels.{kernel}.{end}" for layer, block, end, kernel in KERNELS]),
            *("layer_norm", "projection"),
        ),
    ),
}
ALL = [name for name in CASES if name != "timesnet"]
TASKS = [
    *((name, TaskSpec(24, 96)) for name in CASES),
    *((name, TaskSpec(7, 13, outputs=3)) for name in CASES),
    *((name, TaskSpec(9, 5)) for name in ALL),
    *((name, TaskSpec(8, 21, past=PAST, future=FUTURE, static=STATIC)) for name in ALL),
    ("timesnet", TaskSpec(8, 21, future=FUTURE)),
]


def example(spec: TaskSpec) -> tuple[Batch, dict[str, Tensor | None]]:
    """Return the same windows for us and for them."""
    values = torch.randn(5, spec.input_size, 1)
    past = torch.randn(5, spec.input_size, len(spec.past)) if spec.past else None
    future = torch.randn(5, spec.input_size + spec.horizon, len(spec.future)) if spec.future else None
    static = torch.randn(5, len(spec.static)) if spec.static else None
    mask = torch.ones_like(values)
    windows = {"insample_y": values, "insample_mask": mask}
    return Batch(values, mask, past, future, static), windows | {
        "hist_exog": past,
        "futr_exog": future,
        "stat_exog": static,
    }


def copy_weights(network: nn.Module, weights: Iterable[Tensor]) -> None:
    with torch.no_grad():
        for mine, copied in zip(network.parameters(), weights, strict=True):
            assert mine.shape == copied.shape
            mine.copy_(copied)


@pytest.mark.parametrize(
    ("name", "spec"), TASKS, ids=[f"{name}-{s.horizon}-{s.input_size}-{s.outputs}-{len(s.future)}" for name, s in TASKS]
)
@torch.no_grad()
def test_same_size_and_same_forecast_with_the_same_weights(name: str, spec: TaskSpec) -> None:
    torch.manual_seed(0)
    config, kind, settings, order = CASES[name]
    their_network, network = theirs(kind, spec, **settings), config.build(spec).eval()
    weights = {key: value for key, value in their_network.named_parameters() if value.requires_grad}
    assert sum(value.numel() for value in network.parameters()) == sum(value.numel() for value in weights.values())
    copy_weights(network, order(weights))
    batch, windows = example(spec)
    if name == "timesnet" and batch.future_x is not None:
        batch.future_x[:, spec.input_size :] = 0  # theirs does not read them
    torch.testing.assert_close(network(batch)[:, :, 0], their_network(windows), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_same_timesnet_for_each_window_by_itself() -> None:
    """The average over a batch of one is the window, so theirs agrees with periods per window there."""
    torch.manual_seed(0)
    spec = TaskSpec(12, 36)
    their_network, network = theirs("TimesNet", spec), TimesNet().build(spec).eval()
    weights = {key: value for key, value in their_network.named_parameters() if value.requires_grad}
    copy_weights(network, CASES["timesnet"][3](weights))
    batch, windows = example(spec)
    apart = ({key: None if item is None else item[row, None] for key, item in windows.items()} for row in range(5))
    alone = [their_network(window) for window in apart]
    torch.testing.assert_close(network(batch)[:, :, 0], torch.cat(alone), atol=1e-5, rtol=1e-5)
    assert not torch.allclose(their_network(windows), torch.cat(alone), atol=1e-3)


@pytest.mark.parametrize("layers", [0, 2])
@torch.no_grad()
def test_same_deepar_one_step_ahead(layers: int) -> None:
    """Beyond that theirs leaves the loop to their trainer; ours reads covariates known ahead a step earlier."""
    torch.manual_seed(0)
    spec = TaskSpec(1, 21, outputs=3, past=PAST, future=FUTURE, static=STATIC)
    their_network = theirs("DeepAR", spec, decoder_hidden_layers=layers, decoder_hidden_size=32)
    network = DeepAR(decoder_num_layers=layers + 1, decoder_hidden_size=32).build(spec).eval()
    weights = {key: value for key, value in their_network.named_parameters() if value.requires_grad}
    copy_weights(network, parts("hist_encoder", "decoder")(weights))
    # Theirs reads value, past, future, static; ours value, past, static, future.
    ours_first = torch.tensor([0, 1, 2, 4, 5, 6, 3])
    network.encoder.weight_ih_l0.copy_(their_network.hist_encoder.weight_ih_l0[:, ours_first])
    batch, windows = example(spec)
    assert batch.future_x is not None
    theirs_now = their_network(windows | {"futr_exog": batch.future_x[:, 1:]})
    torch.testing.assert_close(network(batch)[:, :, 0], theirs_now, atol=1e-5, rtol=1e-5)
