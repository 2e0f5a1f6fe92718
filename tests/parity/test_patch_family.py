"""PatchTST, TFT, TimeXer and StemGNN beside those of NeuralForecast 3.3.0.

PatchTST gives the same forecasts with the same weights. The others have the same number of parameters, up to those that
their docstrings leave out.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from neuro_divergent.core.spec import Feature, TaskSpec
from neuro_divergent.models.patchtst import PatchTST
from neuro_divergent.models.stemgnn import StemGNN
from neuro_divergent.models.tft import TFT
from neuro_divergent.models.timexer import TimeXer
from tests.parity.test_neuralforecast import (
    COVARIATES,
    FUTURE,
    PAST,
    STATIC,
    Weights,
    batches,
    reference,
    theirs,
    trainable,
)


def patchtst_weights(weights: Weights, patches: int, layers: int = 3) -> list[Tensor]:
    """Join the query, key and value projections, and let the head read patch after patch instead of unit after unit."""
    root = "model.backbone."
    ordered = [weights[f"{root}{key}"] for key in ("W_pos", "W_P.weight", "W_P.bias")]
    for layer in range(layers):
        inside = f"{root}encoder.layers.{layer}."
        ends = ("weight", "bias")
        ordered += [torch.cat([weights[f"{inside}self_attn.W_{part}.{end}"] for part in "QKV"]) for end in ends]
        for part in ("self_attn.to_out.0", "norm_attn.1", "ff.0", "ff.3", "norm_ffn.1"):
            ordered += [weights[f"{inside}{part}.weight"], weights[f"{inside}{part}.bias"]]
    head = weights["model.head.linear.weight"]
    by_patch = head.view(len(head), -1, patches).transpose(1, 2).reshape(len(head), -1)
    return [*ordered, by_patch, weights["model.head.linear.bias"]]


@pytest.mark.parametrize(
    ("spec", "settings", "their_settings"),
    [
        (TaskSpec(24, 96), {"level": "last"}, {}),
        (TaskSpec(24, 96), {}, {"revin_subtract_last": False}),
        (TaskSpec(7, 13, outputs=3), {"use_norm": False}, {"revin": False}),
        (
            TaskSpec(12, 50),
            {"level": "last", "residual_attention": False, "patch_length": 12, "stride": 5, "activation": "relu"},
            {"res_attention": False, "patch_len": 12, "stride": 5, "activation": "relu"},
        ),
        (TaskSpec(5, 3), {"level": "last", "hidden_size": 32, "num_heads": 4}, {"hidden_size": 32, "n_heads": 4}),
    ],
    ids=["last", "mean", "without normalisation", "plain attention", "short history"],
)
def test_same_patchtst(spec: TaskSpec, settings: dict[str, object], their_settings: dict[str, object]) -> None:
    torch.manual_seed(0)
    their_network = theirs("PatchTST", spec, **their_settings)
    weights = trainable(their_network)
    network = PatchTST(**settings).build(spec).eval()
    assert sum(value.numel() for value in network.parameters()) == sum(value.numel() for value in weights.values())
    ordered = patchtst_weights(weights, network.encoder.size)
    with torch.no_grad():
        for mine, copied in zip(network.parameters(), ordered, strict=True):
            mine.copy_(copied)
        batch, windows = batches(spec, missing=False)
        ours, expected = network(batch)[:, :, 0], their_network(windows)
        torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)


def size(parameters: object) -> int:
    return sum(value.numel() for value in parameters)  # type: ignore[attr-defined]


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("layers", [1, 2])
def test_same_size_of_tft_with_covariates(cell: str, layers: int) -> None:
    spec = TaskSpec(8, 21, past=PAST, future=(*FUTURE, Feature("f2")), static=STATIC)
    their_settings = {**COVARIATES, "futr_exog_list": ["f1", "f2"], "hidden_size": 32}
    their_network = reference.TFT(h=8, input_size=21, rnn_type=cell, n_rnn_layers=layers, **their_settings)
    network = TFT(hidden_size=32, cell=cell, num_layers=layers).build(spec)
    context_of_static_selection = 32 * 32
    assert size(network.parameters()) == size(trainable(their_network).values()) - context_of_static_selection


def test_same_size_of_tft_without_covariates() -> None:
    their_network = theirs("TFT", TaskSpec(8, 21), hidden_size=32)
    network = TFT(hidden_size=32).build(TaskSpec(8, 21))
    contexts = 3 * 32 * 32
    selection_among_one = (32 * 32 + 32) + (32 * 32 + 32) + 2 * (32 + 1) + (32 + 1)
    assert size(network.parameters()) == size(trainable(their_network).values()) - contexts - selection_among_one


@pytest.mark.parametrize("spec", [TaskSpec(24, 96, channels=7), TaskSpec(12, 32, channels=3, outputs=3)])
def test_same_size_of_timexer(spec: TaskSpec) -> None:
    their_network = theirs("TimeXer", spec, n_series=spec.channels)
    assert size(TimeXer().build(spec).parameters()) == size(trainable(their_network).values())


@pytest.mark.parametrize("spec", [TaskSpec(24, 36, channels=7), TaskSpec(12, 20, channels=3, outputs=3)])
def test_same_size_of_stemgnn(spec: TaskSpec) -> None:
    their_network = theirs("StemGNN", spec, n_series=spec.channels)
    shortcut_of_the_last_block = spec.input_size * (spec.input_size + 1)
    ours, expected = StemGNN().build(spec), size(trainable(their_network).values())
    assert size(ours.parameters()) == expected - shortcut_of_the_last_block
