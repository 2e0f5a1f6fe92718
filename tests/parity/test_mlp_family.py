"""The same sizes and weights give the same forecasts as NeuralForecast 3.3.0: the family of perceptrons.

Runs where ``neuralforecast`` is installed (the ``bench`` extra) and is skipped elsewhere.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import Batch, Feature, TaskSpec
from neuro_divergent.models.base import Architecture
from neuro_divergent.models.deep_npts import DeepNPTS
from neuro_divergent.models.kan import KAN
from neuro_divergent.models.mlp_multivariate import MLPMultivariate
from neuro_divergent.models.nbeats import NBEATSx
from neuro_divergent.models.rmok import RMoK
from neuro_divergent.models.softs import SOFTS
from neuro_divergent.models.tide import TiDE
from neuro_divergent.models.time_mixer import TimeMixer
from neuro_divergent.models.tsmixer import TSMixer
from neuro_divergent.models.tsmixerx import TSMixerx
from neuro_divergent.models.xlinear import XLinear

reference = pytest.importorskip(
    "neuralforecast.models", reason="neuralforecast is not installed: pip install neuro-divergent[bench]"
)
losses = pytest.importorskip("neuralforecast.losses.pytorch")

Weights = dict[str, Tensor]
Change = Callable[[Tensor, TaskSpec], Tensor]
SIZE = 5
PAST, FUTURE, STATIC = (Feature("h1"), Feature("h2")), (Feature("f1"),), tuple(Feature(f"s{index}") for index in "123")
COVARIATES = {"past": PAST, "future": FUTURE, "static": STATIC}


@dataclass(frozen=True)
class Case:
    """An architecture here and there, and how the names of their weights translate.

    Attributes:
        ours: The architecture here.
        kind: Its name there.
        names: Patterns of their names and what they become here; an empty name leaves a weight out.
        settings: Settings there, where the defaults are not those here.
        joint: Whether windows there hold all series.
        changes: Patterns of our names, and how their weights are laid out differently.
        unread: Weights there that no forecast depends on.
    """

    ours: Architecture
    kind: str
    names: dict[str, str]
    settings: dict[str, object] = field(default_factory=dict)
    joint: bool = True
    changes: dict[str, Change] = field(default_factory=dict)
    unread: Callable[[TaskSpec], int] = lambda _: 0


def time_first(weight: Tensor, spec: TaskSpec) -> Tensor:
    return weight.view(spec.channels, spec.input_size).T.flatten()


def outputs_last(weight: Tensor, spec: TaskSpec) -> Tensor:
    return weight.view(spec.horizon, spec.outputs, spec.channels, -1).transpose(1, 2).reshape(weight.shape)


def steps_first(weight: Tensor, spec: TaskSpec) -> Tensor:
    return weight.reshape(len(weight), len(spec.past), -1).transpose(1, 2).flatten(1)


def steps_first_after_history(weight: Tensor, spec: TaskSpec) -> Tensor:
    begin = spec.input_size * spec.channels
    end = begin + spec.input_size * len(spec.past)
    if begin == end:
        return weight
    return torch.cat([weight[:, :begin], steps_first(weight[:, begin:end], spec), weight[:, end:]], 1)


def single(weight: Tensor, _: TaskSpec) -> Tensor:
    return weight.squeeze(0)


def narrow(weight: Tensor, _: TaskSpec) -> Tensor:
    return weight.squeeze(-1)


def of_channels(weight: Tensor, _: TaskSpec) -> Tensor:
    return weight.flatten()


MIXERS = {
    r"^norm\.affine_weight": "revin.gain",
    r"^norm\.affine_bias": "revin.shift",
    r"temporal_norm|feature_norm": "norm",
    r"temporal_lin": "linear",
    r"feature_lin_1": "perceptron.0",
    r"^out\.": "projection.",
}
TSMIXER = MIXERS | {
    r"mixing_layers\.(\d+)\.temporal_mixer": r"blocks.\1.0",
    r"mixing_layers\.(\d+)\.feature_mixer": r"blocks.\1.1",
    r"feature_lin_2": "perceptron.3",
}
TSMIXERX = {
    r"mixing_block\.(\d+)\.feature_mixer_stat": r"block_statics.\1",
    r"mixing_block\.(\d+)\.temporal_mixer": r"blocks.\1.0",
    r"mixing_block\.(\d+)\.feature_mixer": r"blocks.\1.1",
    r"first_mixing\.temporal_mixer": "first.0",
    r"first_mixing\.feature_mixer": "first.1",
    r"feature_mixer_hist": "mix_past",
    r"feature_mixer_futr": "mix_future",
    r"feature_mixer_stat": "mix_static",
    r"temporal_projection": "align",
    r"feature_lin_2": "perceptron.2",
    r"project_residual": "skip",
} | MIXERS
TIDE = {
    "hist_exog_projection": "project_past",
    "futr_exog_projection": "project_future",
    "dense_": "",
    "global_skip": "skip",
    "lin1": "entrance",
    "lin2": "exit",
}
SOFTS_NAMES = {
    r"enc_embedding\.value_embedding": "embedding",
    r"encoder\.attn_layers": "layers",
    "gen1": "describe",
    "gen2": "offer",
    "gen3": "fuse",
    "gen4": "output",
    "pe_scale": "position_scale",
    "conv1": "feedforward.0",
    "conv2": "feedforward.3",
    "norm1": "attention_norm",
    "norm2": "feedforward_norm",
}
TIME_MIXER = {
    r".*layer_norm.*": "",
    r"pdm_blocks": "blocks",
    r"mixing_multi_scale_season\.down_sampling_layers": "coarser",
    r"enc_embedding\.value_embedding\.tokenConv": "embedding.projection",
    r"normalize_layers\.(\d+)\.affine_weight": r"revins.\1.gain",
    r"normalize_layers\.(\d+)\.affine_bias": r"revins.\1.shift",
    "predict_layers": "to_horizon",
    "projection_layer": "projection",
    r"out_res_layers\.(\d+)": r"trends.\1.0",
    r"regression_layers\.(\d+)": r"trends.\1.1",
}
# Theirs count the steps from coarse to fine.
UPWARDS = {rf"mixing_multi_scale_trend\.up_sampling_layers\.{index}\.": f"finer.{1 - index}." for index in range(2)}
XLINEAR = {
    r"^projection": "embedding",
    "glob_token": "token",
    r"_gating\.weight\.0": "_gate.perceptron.0",
    r"_gating\.weight\.3": "_gate.perceptron.2",
    "hist_exog_projection": "projections.0",
    "futr_exog_projection": "projections.1",
    "stat_exog_projection": "projections.2",
}
RMOK = {
    r".*weight1": "",
    r"^rev\.affine_weight": "revin.gain",
    r"^rev\.affine_bias": "revin.shift",
    r"experts\.2\.bn": "experts.2.1",
    r"experts\.2\.scale": "experts.2.0.stretch",
    r"experts\.2\.translation": "experts.2.0.shift",
    r"experts\.2\.wavelet_weights": "experts.2.0.weight",
    "jacobi_coeffs|coeffs": "coefficients",
}
NBEATSX = {
    r"blocks\.(\d+)\.layers\.0\.": r"stack.blocks.\1.block.entrance.",
    r"blocks\.(\d+)\.layers\.1\.": r"stack.blocks.\1.block.first.",
    r"blocks\.(\d+)\.layers\.3\.": r"stack.blocks.\1.block.rest.1.",
    r"blocks\.(\d+)\.layers\.5\.": r"stack.blocks.\1.block.rest.3.",
    r"blocks\.(\d+)\.layers\.7\.": r"stack.blocks.\1.block.coefficients.",
}
AFFINE: dict[str, Change] = {"revin": of_channels}


def past_mixing(mixes: bool) -> Callable[[TaskSpec], int]:
    """Return how many weights of a block of width 32 are not read: a norm, and the last perceptron if it mixes."""
    return lambda _: 4 * (64 + (2 * 32 * 32 + 64 if mixes else 0))


CASES = {
    "tide": Case(TiDE(norm="none"), "TiDE", TIDE, {"layernorm": False}, joint=False),
    "deep tide": Case(
        TiDE(norm="none", num_encoder_layers=2, num_decoder_layers=3),
        "TiDE",
        TIDE,
        {"layernorm": False, "num_encoder_layers": 2, "num_decoder_layers": 3},
        joint=False,
    ),
    "tsmixer": Case(TSMixer(), "TSMixer", TSMIXER, changes=AFFINE | {r"blocks\.\d\.0\.norm.*\D$": time_first}),
    "tsmixerx": Case(TSMixerx(), "TSMixerx", TSMIXERX, changes=AFFINE),
    "mlp": Case(
        MLPMultivariate(),
        "MLPMultivariate",
        {r"mlp\.0": "layers.0", r"mlp\.1": "layers.2", "out": "layers.4"},
        changes={r"layers\.4": outputs_last, r"layers\.0\.weight": steps_first_after_history},
    ),
    "nbeatsx": Case(NBEATSx(), "NBEATSx", NBEATSX, joint=False),
    "exogenous nbeatsx": Case(
        NBEATSx(stacks=("exogenous",)),
        "NBEATSx",
        NBEATSX,
        {"stack_types": ["exogenous"], "n_blocks": [1]},
        joint=False,
        changes={"coefficients": lambda weight, _: torch.cat(weight.chunk(2)[::-1])},
    ),
    "deepnpts": Case(DeepNPTS(), "DeepNPTS", {"deepnptsnetwork": "layers"}, joint=False),
    "softs": Case(SOFTS(), "SOFTS", SOFTS_NAMES, changes={r"feedforward\..*weight": narrow}),
    "sharp softs": Case(SOFTS(sharp=True), "SOFTSSharp", SOFTS_NAMES, changes={r"feedforward\..*weight": narrow}),
    "timemixer": Case(
        TimeMixer(num_scales=2, kernel_size=5),
        "TimeMixer",
        {r".*out_cross_layer.*": "", "cross_layer": "perceptron"} | TIME_MIXER | UPWARDS,
        {"down_sampling_layers": 2, "moving_avg": 5},
        unread=past_mixing(True),
    ),
    "timemixer by channel": Case(
        TimeMixer(num_scales=2, kernel_size=5, mix_channels=False, downsampling="max"),
        "TimeMixer",
        {"out_cross_layer": "perceptron"} | TIME_MIXER | UPWARDS,
        {"down_sampling_layers": 2, "moving_avg": 5, "channel_independence": 1, "down_sampling_method": "max"},
        unread=past_mixing(False),
    ),
    "xlinear": Case(XLinear(), "XLinear", XLINEAR, changes={"token": single, r"projections\.0.weight": steps_first}),
    "kan": Case(
        KAN(hidden_size=64, num_layers=2),
        "KAN",
        {"base_weight": "base", "spline_weight": "coefficients", "spline_scaler": "scale"},
        {"hidden_size": 64, "n_hidden_layers": 2},
        joint=False,
    ),
    **{
        f"rmok with {wavelet}": Case(
            RMoK(wavelet=wavelet),  # type: ignore[arg-type]
            "RMoK",
            RMOK,
            {"wavelet_function": wavelet},
            changes=AFFINE | {r"experts\.0\.bias": of_channels},
            unread=lambda spec: spec.input_size * spec.horizon * spec.outputs,
        )
        for wavelet in ("mexican_hat", "morlet", "dog", "meyer", "shannon")
    },
}
JOINT = [name for name, case in CASES.items() if case.joint]
# DeepNPTS has point losses only there, N-BEATS lays out several outputs in another way (tested with N-BEATS), TimeMixer
# makes them in another way.
OUTPUTS = [name for name in CASES if not name.startswith(("deepnpts", "timemixer", "exogenous", "nbeatsx"))]
TASKS = [
    *((name, TaskSpec(24, 96)) for name in CASES if "nbeatsx" not in name),  # which is NBEATS without covariates
    *((name, TaskSpec(7, 20, channels=4)) for name in JOINT),
    *((name, TaskSpec(12, 30, channels=4 if name in JOINT else 1, outputs=3)) for name in OUTPUTS),
    *((name, TaskSpec(8, 21, **COVARIATES)) for name in ("tide", "deep tide", "tsmixerx", "mlp", "kan", "nbeatsx")),
    ("exogenous nbeatsx", TaskSpec(8, 21, **COVARIATES)),
    ("xlinear", TaskSpec(8, 21, channels=3, **COVARIATES)),
]
every_task = pytest.mark.parametrize(
    ("name", "spec"), TASKS, ids=[f"{n}-{s.horizon}-{s.channels}-{s.outputs}-{len(s.past)}" for n, s in TASKS]
)


def theirs(case: Case, spec: TaskSpec) -> nn.Module:
    """Return a NeuralForecast model for the task, with running numbers that change what they are applied to."""
    settings = dict(case.settings)
    if case.joint:
        settings["n_series"] = spec.channels
    if spec.outputs > 1:
        settings["loss"] = losses.MQLoss(quantiles=[(index + 1) / (spec.outputs + 1) for index in range(spec.outputs)])
    if spec.past:
        settings |= {"hist_exog_list": ["h1", "h2"], "futr_exog_list": ["f1"], "stat_exog_list": ["s1", "s2", "s3"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # XLinear advises on its sizes
        model: nn.Module = getattr(reference, case.kind)(h=spec.horizon, input_size=spec.input_size, **settings)
    for part in model.modules():
        if isinstance(part, nn.BatchNorm1d):
            nn.init.normal_(part.running_mean)
            nn.init.uniform_(part.running_var, 0.5, 2)
    for key, value in model.named_parameters():
        if "affine" in key or "norm" in key or ".bn." in key:
            nn.init.uniform_(value, 0.5, 1.5)
    return model.eval()


def translated(case: Case, network: nn.Module, spec: TaskSpec) -> Weights:
    """Return their weights and running numbers under our names and in our layout."""
    trained = {key for key, value in network.named_parameters() if value.requires_grad}
    weights: Weights = {}
    for key, value in network.state_dict().items():
        if key not in trained and not re.search("running_|num_batches", key):
            continue
        name = key
        for pattern, replacement in case.names.items():
            name = re.sub(pattern, replacement, name)
        if not name:
            continue
        for pattern, change in case.changes.items():
            if re.search(pattern, name) and value.ndim:
                value = change(value, spec)
        weights[name] = value
    return weights


def batches(case: Case, spec: TaskSpec) -> tuple[Batch, dict[str, Tensor | None]]:
    """Return the same windows for us and for them; they know one set of static covariates for all windows."""
    values = torch.randn(SIZE, spec.input_size, spec.channels)
    mask = torch.ones_like(values)
    windows: dict[str, Tensor | None] = {"insample_y": values, "insample_mask": mask}
    windows |= dict.fromkeys(("hist_exog", "futr_exog", "stat_exog"))
    if not spec.past:
        return Batch(values, mask), windows
    past = torch.randn(SIZE, spec.input_size, len(spec.past))
    future = torch.randn(SIZE, spec.input_size + spec.horizon, len(spec.future))
    static = torch.randn(1, len(spec.static)).expand(SIZE, -1)
    if case.joint:
        windows |= {
            "hist_exog": past.transpose(1, 2)[..., None].expand(-1, -1, -1, spec.channels),
            "futr_exog": future.transpose(1, 2)[..., None].expand(-1, -1, -1, spec.channels),
            "stat_exog": static[:1].expand(spec.channels, -1),
        }
    else:
        windows |= {"hist_exog": past, "futr_exog": future, "stat_exog": static}
    return Batch(values, mask, past, future, static), windows


def count(weights: nn.Module) -> int:
    return sum(value.numel() for value in weights.parameters() if value.requires_grad)


@every_task
def test_same_size_and_same_forecast_with_the_same_weights(name: str, spec: TaskSpec) -> None:
    case = CASES[name]
    torch.manual_seed(0)
    their_network = theirs(case, spec)
    our_network = case.ours.build(spec).eval()
    assert count(our_network) == count(their_network) - case.unread(spec)
    our_network.load_state_dict(translated(case, their_network, spec))
    batch, windows = batches(case, spec)
    with torch.no_grad():
        expected = their_network(windows).view(SIZE, spec.horizon, spec.outputs, spec.channels).transpose(2, 3)
        torch.testing.assert_close(our_network(batch), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("outputs", [1, 3])
def test_tide_has_no_norm_over_the_outputs_of_a_step(outputs: int) -> None:
    spec = TaskSpec(12, 30, outputs=outputs, **COVARIATES)
    their_network = theirs(Case(TiDE(), "TiDE", TIDE, joint=False), spec)
    assert count(TiDE().build(spec)) == count(their_network) - 2 * outputs
