"""The same sizes and weights give the same forecasts as NeuralForecast 3.3.0.

Runs where ``neuralforecast`` is installed (the ``bench`` extra) and is skipped elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.models.dlinear import DLinear
from neuro_divergent.models.itransformer import ITransformer
from neuro_divergent.models.mlp import MLP
from neuro_divergent.models.nbeats import NBEATS
from neuro_divergent.models.nhits import NHITS
from neuro_divergent.models.nlinear import NLinear
from neuro_divergent.models.recurrent import GRU, LSTM, RNN

reference = pytest.importorskip(
    "neuralforecast.models", reason="neuralforecast is not installed: pip install neuro-divergent[bench]"
)
losses = pytest.importorskip("neuralforecast.losses.pytorch")

Weights = dict[str, Tensor]
COVARIATES = {"hist_exog_list": ["h1", "h2"], "futr_exog_list": ["f1"], "stat_exog_list": ["s1", "s2", "s3"]}


def theirs(kind: str, spec: TaskSpec, **settings: object) -> nn.Module:
    """Return a NeuralForecast model for the task."""
    if spec.outputs > 1:
        settings["loss"] = losses.MQLoss(quantiles=[(index + 1) / (spec.outputs + 1) for index in range(spec.outputs)])
    if spec.past:
        settings |= COVARIATES
    model: nn.Module = getattr(reference, kind)(h=spec.horizon, input_size=spec.input_size, **settings)
    return model.eval()


def trainable(network: nn.Module) -> Weights:
    return {key: value.detach() for key, value in network.named_parameters() if value.requires_grad}


def in_order(weights: Weights, _: TaskSpec) -> list[Tensor]:
    return list(weights.values())


def seasonal_first(weights: Weights, _: TaskSpec) -> list[Tensor]:
    return [weights[f"linear_{part}.{end}"] for part in ("season", "trend") for end in ("weight", "bias")]


def encoder_first(weights: Weights, _: TaskSpec) -> list[Tensor]:
    order = ("hist_encoder", "upsample_sequence", "mlp_decoder")
    return [value for part in order for key, value in weights.items() if key.startswith(part)]


def outputs_apart(weights: Weights, spec: TaskSpec) -> list[Tensor]:
    """Reorder N-BEATS coefficients of the horizon: theirs keep the outputs of a function together, ours do not."""
    depth = max(int(key.split(".")[3]) for key in weights)
    ordered = []
    for key, value in weights.items():
        index = int(key.split(".")[1])
        explained = (spec.input_size, 3, 2 * (spec.horizon - 1))[index]
        if int(key.split(".")[3]) == depth:
            ahead = value[explained:].view(-1, spec.outputs, *value.shape[1:]).transpose(0, 1)
            value = torch.cat([value[:explained], ahead.flatten(0, 1)])
        ordered.append(value)
    return ordered


def joined_projections(weights: Weights, _: TaskSpec) -> list[Tensor]:
    """Join the query, key and value projections of iTransformer and drop the width of its convolutions."""
    ordered: list[Tensor] = [weights[f"enc_embedding.value_embedding.{end}"] for end in ("weight", "bias")]
    for layer in range(2):
        root = f"encoder.attn_layers.{layer}."
        for end in ("weight", "bias"):
            parts = [weights[f"{root}attention.{part}_projection.{end}"] for part in ("query", "key", "value")]
            ordered.append(torch.cat(parts))
        for part in ("attention.out_projection", "norm1", "conv1", "conv2", "norm2"):
            ordered += [weights[f"{root}{part}.weight"], weights[f"{root}{part}.bias"]]
    ordered += [weights[f"{part}.{end}"] for part in ("encoder.norm", "projector") for end in ("weight", "bias")]
    return [value.squeeze(-1) if value.dim() == 3 else value for value in ordered]


def batches(spec: TaskSpec, missing: bool) -> tuple[Batch, dict[str, Tensor | None]]:
    """Return the same windows for us and for them."""
    values = torch.randn(5, spec.input_size, spec.channels)
    mask = (torch.rand_like(values) > 0.3).float() if missing else torch.ones_like(values)
    values = values * mask
    sizes = {
        "past_x": (5, spec.input_size, len(spec.past)),
        "future_x": (5, spec.input_size + spec.horizon, len(spec.future)),
        "static_x": (5, len(spec.static)),
    }
    covariates = {key: torch.randn(shape) if shape[-1] else None for key, shape in sizes.items()}
    names = {"past_x": "hist_exog", "future_x": "futr_exog", "static_x": "stat_exog"}
    windows = {"insample_y": values, "insample_mask": mask}
    return Batch(values, mask, **covariates), windows | {names[key]: value for key, value in covariates.items()}


CASES: dict[str, tuple[object, str, Callable[[Weights, TaskSpec], list[Tensor]]]] = {
    "nlinear": (NLinear(), "NLinear", in_order),
    "dlinear": (DLinear(), "DLinear", seasonal_first),
    "mlp": (MLP(), "MLP", in_order),
    "nhits": (NHITS(), "NHITS", in_order),
    "nbeats": (NBEATS(), "NBEATS", outputs_apart),
    "lstm": (LSTM(), "LSTM", encoder_first),
    "gru": (GRU(), "GRU", encoder_first),
    "rnn": (RNN(), "RNN", encoder_first),
    "itransformer": (ITransformer(), "iTransformer", joined_projections),
}
PAST, FUTURE, STATIC = (Feature("h1"), Feature("h2")), (Feature("f1"),), tuple(Feature(f"s{index}") for index in "123")
PLAIN = TaskSpec(24, 96)
TASKS = [
    *((name, PLAIN) for name in CASES if name != "itransformer"),
    ("itransformer", TaskSpec(24, 96, channels=7)),
    *((name, TaskSpec(7, 13)) for name in CASES if name != "itransformer"),
    *((name, TaskSpec(12, 30, outputs=3)) for name in CASES if name != "itransformer"),
    ("itransformer", TaskSpec(12, 30, channels=4, outputs=3)),
    *((name, TaskSpec(9, 5)) for name in ("lstm", "gru", "rnn")),
    *((name, TaskSpec(8, 21, past=PAST, future=FUTURE, static=STATIC)) for name in ("mlp", "nhits", "lstm", "gru")),
]


@pytest.mark.parametrize(
    ("name", "spec"), TASKS, ids=[f"{name}-{s.horizon}-{s.input_size}-{s.outputs}-{len(s.past)}" for name, s in TASKS]
)
def test_same_size_and_same_forecast_with_the_same_weights(name: str, spec: TaskSpec) -> None:
    config, kind, order = CASES[name]
    torch.manual_seed(0)
    settings = {"n_series": spec.channels} if name == "itransformer" else {}
    their_network = theirs(kind, spec, **settings)
    our_network = config.build(spec).eval()  # type: ignore[attr-defined]
    weights = trainable(their_network)
    assert sum(value.numel() for value in our_network.parameters()) == sum(value.numel() for value in weights.values())
    with torch.no_grad():
        for mine, copied in zip(our_network.parameters(), order(weights, spec), strict=True):
            mine.copy_(copied)
        for missing in (False, True) if name in {"nhits", "nbeats"} else (False,):
            batch, windows = batches(spec, missing)
            ours, expected = our_network(batch), their_network(windows)
            expected = expected.view(5, spec.horizon, spec.outputs, spec.channels).transpose(2, 3)
            torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("interpolation", ["linear", "nearest", "cubic"])
@pytest.mark.parametrize(("pooling", "their_pooling"), [("max", "MaxPool1d"), ("average", "AvgPool1d")])
def test_same_nhits_with_every_pooling_and_interpolation(interpolation: str, pooling: str, their_pooling: str) -> None:
    torch.manual_seed(0)
    spec = TaskSpec(11, 23)
    ours = NHITS(
        interpolation=interpolation, pooling_mode=pooling, pooling=(4, 2), downsample=(5, 2), num_blocks=(1, 2)
    )
    their_network = theirs(
        "NHITS",
        spec,
        stack_types=["identity"] * 2,
        n_blocks=[1, 2],
        n_pool_kernel_size=[4, 2],
        n_freq_downsample=[5, 2],
        interpolation_mode=interpolation,
        pooling_mode=their_pooling,
    )
    network = ours.build(spec).eval()
    with torch.no_grad():
        for mine, copied in zip(network.parameters(), trainable(their_network).values(), strict=True):
            mine.copy_(copied)
        batch, windows = batches(spec, missing=True)
        torch.testing.assert_close(network(batch)[:, :, 0], their_network(windows), atol=1e-5, rtol=1e-5)


def test_same_nbeats_with_shared_weights() -> None:
    torch.manual_seed(0)
    spec = TaskSpec(12, 30)
    their_network = theirs("NBEATS", spec, n_blocks=[2, 3, 1], shared_weights=True, n_harmonics=3)
    network = NBEATS(num_blocks=(2, 3, 1), share_weights=True, harmonics=3).build(spec).eval()
    with torch.no_grad():
        for mine, copied in zip(network.parameters(), trainable(their_network).values(), strict=True):
            mine.copy_(copied)
        batch, windows = batches(spec, missing=False)
        torch.testing.assert_close(network(batch)[:, :, 0], their_network(windows), atol=1e-5, rtol=1e-5)
