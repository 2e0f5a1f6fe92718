"""How the linear models and the perceptrons translate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from neuro_divergent.core.spec import TaskSpec
from tests.parity.pair import Pair, Sides, Weights, by_name, in_order
from tests.parity.theirs import ROLES

Change = Callable[[Tensor, TaskSpec], Tensor]
SIZES = {"hidden_size": "hidden_size", "num_layers": "num_layers"}


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


def as_they_are(weights: Weights, _: Sides) -> Iterable[Tensor]:
    return weights.values()


def seasonal_first(weights: Weights, _: Sides) -> Iterable[Tensor]:
    return [weights[f"linear_{part}.{end}"] for part in ("season", "trend") for end in ("weight", "bias")]


def outputs_apart(weights: Weights, sides: Sides) -> Iterable[Tensor]:
    """Reorder N-BEATS coefficients of the horizon: theirs keep the outputs of a function together, ours do not."""
    blocks = list(dict.fromkeys(key.split(".")[1] for key in weights))
    last = {block: max(int(key.split(".")[3]) for key in weights if key.split(".")[1] == block) for block in blocks}
    settings = stacks_of(sides.config)
    kinds = [
        kind for kind, count in zip(settings["stack_types"], settings["n_blocks"], strict=True) for _ in range(count)
    ]
    for key, value in weights.items():
        _, block, _, layer, _ = key.split(".")
        own = sides.ours.stack.blocks[blocks.index(block)]  # type: ignore[union-attr, index]
        explained = getattr(own, "block", own).expansion.sizes[0]
        if int(layer) != last[block]:
            yield value
            continue
        if kinds[int(block)] == "exogenous":
            value = torch.cat(value.chunk(2)[::-1])  # theirs has those of the horizon first
        ahead = value[explained:].view(-1, sides.spec.outputs, *value.shape[1:]).transpose(0, 1)
        yield torch.cat([value[:explained], ahead.flatten(0, 1)])


def stacks_of(config: Any) -> dict[str, Any]:
    """Return the settings of N-BEATS and N-HiTS."""
    kinds = getattr(config, "stacks", None) or ("generic",) * len(config.pooling)
    count = config.num_blocks
    return {
        "stack_types": ["identity" if kind == "generic" else kind for kind in kinds],
        "n_blocks": [count] * len(kinds) if isinstance(count, int) else list(count),
        "mlp_units": [[config.hidden_size] * 2] * config.num_layers,
        "activation": config.activation,
    }


def nhits_settings(config: Any) -> dict[str, object]:
    return stacks_of(config) | {
        "n_pool_kernel_size": list(config.pooling),
        "n_freq_downsample": list(config.downsample),
        "pooling_mode": {"max": "MaxPool1d", "average": "AvgPool1d"}[config.pooling_mode],
    }


STACKS = ("num_blocks", "hidden_size", "num_layers", "activation")
NBEATS_NAMES = {"share_weights": "shared_weights", "harmonics": "n_harmonics"}


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
XLINEAR = {
    r"^projection": "embedding",
    "glob_token": "token",
    r"_gating\.weight\.0": "_gate.perceptron.0",
    r"_gating\.weight\.3": "_gate.perceptron.2",
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
AFFINE: dict[str, Change] = {"revin": of_channels}
MIXER_SETTINGS = {"num_blocks": "n_block", "hidden_size": "ff_dim", "use_norm": "revin"}


def past_mixing(config: Any, _: TaskSpec) -> int:
    """Return how many weights of the blocks are not read: a norm, and the last perceptron if they mix channels."""
    hidden, inner = config.hidden_size, config.feedforward_size
    of_block = 2 * hidden + (2 * hidden * inner + hidden + inner if config.mix_channels else 0)
    return int(config.num_layers * of_block)


def time_mixer_weights(sides: Sides) -> Weights:
    """Theirs count the steps from coarse to fine."""
    scales = sides.config.num_scales
    upwards = {
        rf"mixing_multi_scale_trend\.up_sampling_layers\.{index}\.": f"finer.{scales - 1 - index}."
        for index in range(scales)
    }
    mixes = sides.config.mix_channels
    first = {r".*out_cross_layer.*": "", "cross_layer": "perceptron"} if mixes else {"out_cross_layer": "perceptron"}
    return by_name(first | TIME_MIXER | upwards)(sides)


def time_mixer_settings(config: Any) -> dict[str, object]:
    return {
        "down_sampling_method": {"average": "avg", "max": "max"}[config.downsampling],
        "channel_independence": int(not config.mix_channels),
    }


def xlinear_weights(sides: Sides) -> Weights:
    """Ours numbers the projections of the covariates that there are."""
    roles = [f"{ROLES[role]}_projection" for role in ROLES if getattr(sides.spec, role)]
    names = XLINEAR | {role: f"projections.{place}" for place, role in enumerate(roles)}
    changes: dict[str, Change] = {"token": single}
    return by_name(names, changes | ({r"projections\.0.weight": steps_first} if sides.spec.past else {}))(sides)


def softs_settings(config: Any) -> dict[str, object]:
    return {"pe_keep_prob": config.position_rate} if config.sharp else {}


def of_one_output(_: Any, spec: TaskSpec) -> bool:
    return spec.outputs == 1


PAIRS = {
    "nlinear": Pair("NLinear", in_order(as_they_are)),
    "dlinear": Pair("DLinear", in_order(seasonal_first), {"kernel_size": "moving_avg_window"}),
    "mlp": Pair("MLP", in_order(as_they_are), SIZES),
    "mlpmultivariate": Pair(
        "MLPMultivariate",
        lambda sides: by_name(
            {rf"mlp\.{layer}\.": f"layers.{2 * layer}." for layer in range(sides.config.num_layers)}
            | {"^out": f"layers.{2 * sides.config.num_layers}"},
            {rf"layers\.{2 * sides.config.num_layers}": outputs_last, r"layers\.0\.weight": steps_first_after_history},
        )(sides),
        SIZES,
        joint=True,
    ),
    "nhits": Pair(
        "NHITS",
        in_order(as_they_are),
        {"interpolation": "interpolation_mode"},
        nhits_settings,
        (*STACKS, "pooling", "downsample", "pooling_mode"),
        masks=True,
        fits=lambda config, spec: spec.outputs == 1 or config.interpolation != "cubic",  # theirs refuses
    ),
    "nbeats": Pair(
        "NBEATS",
        in_order(outputs_apart),
        NBEATS_NAMES | {"degree": "n_basis"},
        stacks_of,
        (*STACKS, "stacks"),
        masks=True,
    ),
    "nbeatsx": Pair(
        "NBEATSx",
        in_order(outputs_apart),
        NBEATS_NAMES | {"degree": "n_polynomials"},
        stacks_of,
        (*STACKS, "stacks"),
        # Without covariates it is NBEATS; theirs has no layout of several outputs of covariates.
        fits=lambda config, spec: (
            bool(spec.past or spec.future or spec.static) and (spec.outputs == 1 or "exogenous" not in config.stacks)
        ),
    ),
    "tide": Pair(
        "TiDE",
        by_name(TIDE),
        {
            "hidden_size": "hidden_size",
            "num_encoder_layers": "num_encoder_layers",
            "num_decoder_layers": "num_decoder_layers",
            "projection_size": "temporal_width",
            "decoder_output_size": "decoder_output_dim",
            "temporal_hidden_size": "temporal_decoder_dim",
        },
        lambda _: {"layernorm": False},
        ("norm",),
        fits=lambda config, _: config.norm == "none",
    ),
    "tsmixer": Pair(
        "TSMixer",
        by_name(TSMIXER, AFFINE | {r"blocks\.\d\.0\.norm.*\D$": time_first}),
        MIXER_SETTINGS,
        joint=True,
    ),
    "tsmixerx": Pair("TSMixerx", by_name(TSMIXERX, AFFINE), MIXER_SETTINGS, joint=True),
    "deepnpts": Pair(
        "DeepNPTS",
        by_name({"deepnptsnetwork": "layers"}),
        {"hidden_size": "hidden_size", "num_layers": "n_layers"},
        lambda config: {"batch_norm": config.norm == "batch"},
        ("norm",),
        fits=lambda config, spec: spec.outputs == 1 and config.norm != "layer",  # theirs has point losses only
    ),
    "softs": Pair(
        lambda config: "SOFTSSharp" if config.sharp else "SOFTS",
        by_name(SOFTS_NAMES, {r"feedforward\..*weight": narrow}),
        {
            "hidden_size": "hidden_size",
            "core_size": "d_core",
            "num_layers": "e_layers",
            "feedforward_size": "d_ff",
            "use_norm": "use_norm",
        },
        softs_settings,
        ("sharp", "position_rate"),
        joint=True,
    ),
    "timemixer": Pair(
        "TimeMixer",
        time_mixer_weights,
        {
            "hidden_size": "d_model",
            "feedforward_size": "d_ff",
            "num_layers": "e_layers",
            "num_scales": "down_sampling_layers",
            "scale_factor": "down_sampling_window",
            "kernel_size": "moving_avg",
        },
        time_mixer_settings,
        ("downsampling", "mix_channels"),
        joint=True,
        fits=of_one_output,  # theirs makes several in another way
        unread=past_mixing,
    ),
    "xlinear": Pair(
        "XLinear",
        xlinear_weights,
        {
            "hidden_size": "hidden_size",
            "temporal_size": "temporal_ff",
            "channel_size": "channel_ff",
            "use_norm": "use_norm",
        },
        joint=True,
    ),
    "kan": Pair(
        "KAN",
        by_name({"base_weight": "base", "spline_weight": "coefficients", "spline_scaler": "scale"}),
        {
            "hidden_size": "hidden_size",
            "num_layers": "n_hidden_layers",
            "grid_size": "grid_size",
            "spline_order": "spline_order",
        },
        lambda config: {"grid_range": list(config.grid_range)},
        ("grid_range",),
    ),
    "rmok": Pair(
        "RMoK",
        by_name(RMOK, AFFINE | {r"experts\.0\.bias": of_channels}),
        {
            "taylor_order": "taylor_order",
            "jacobi_degree": "jacobi_degree",
            "wavelet": "wavelet_function",
            "affine": "revin_affine",
        },
        joint=True,
        unread=lambda _, spec: spec.input_size * spec.horizon * spec.outputs,
    ),
}
