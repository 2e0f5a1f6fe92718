"""How the transformers translate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import TaskSpec
from tests.parity.pair import Pair, Sides, Weights, in_order, stored

ENDS = ("weight", "bias")
SIZES = {
    "hidden_size": "hidden_size",
    "num_heads": "n_head",
    "num_layers": "encoder_layers",
    "decoder_num_layers": "decoder_layers",
    "feedforward_size": "conv_hidden_size",
    "start_share": "decoder_input_size_multiplier",
}


def embedding(weights: Weights, root: str) -> Weights:
    """Return the weights of an embedding under our names."""
    found = {"values.projection.weight": weights[f"{root}.value_embedding.tokenConv.weight"]}
    if f"{root}.temporal_embedding.embed.weight" in weights:
        found["covariates.weight"] = weights[f"{root}.temporal_embedding.embed.weight"]
    return found


def projections(weights: Weights, root: str, spectral: bool, cross: bool) -> Weights:
    """Join the query, key and value projections; a block that transforms the queries has no other two."""
    found = {f"output.{end}": weights[f"{root}.out_projection.{end}"] for end in ("weight", "bias")}
    for end in ("weight", "bias"):
        if spectral and not cross:
            found[f"input.{end}"] = weights[f"{root}.query_projection.{end}"]
            continue
        # Theirs takes the values of the attention between frequencies from the keys.
        order = ("query", "key", "key") if spectral else ("query", "key", "value")
        found[f"query_key_value.{end}"] = torch.cat([weights[f"{root}.{part}_projection.{end}"] for part in order])
    if spectral:
        mixing = weights[f"{root}.inner_correlation.weights1"].permute(3, 0, 1, 2)  # head, in, out, mode
        width = mixing.shape[1] * mixing.shape[2]
        name = "scoring.weights.weight" if cross else "mixing.weights.weight"
        found[name] = torch.view_as_real(mixing / width**2 if cross else mixing)
    return found


def inside(found: Weights, root: str) -> Weights:
    return {f"{root}.{key}": value for key, value in found.items()}


def feedforward(weights: Weights, root: str) -> Weights:
    pairs = {"conv1": "feedforward.0", "conv2": "feedforward.3"}
    return {
        f"{ours}.{end}": weights[f"{root}.{part}.{end}"].squeeze(-1)
        for part, ours in pairs.items()
        for end in ("weight", "bias")
        if f"{root}.{part}.{end}" in weights
    }


def norms(weights: Weights, root: str, names: tuple[str, ...]) -> Weights:
    return {
        f"{name}.{end}": weights[f"{root}.norm{place}.{end}"]
        for place, name in enumerate(names, start=1)
        for end in ("weight", "bias")
        if f"{root}.norm{place}.{end}" in weights
    }


def encoder_decoder_weights(sides: Sides) -> Weights:
    """Return all of their weights under our names."""
    layers, decoder_layers = sides.config.num_layers, sides.config.decoder_num_layers
    if hasattr(sides.config, "score"):  # which is no setting there
        for layer in sides.theirs.decoder.layers:  # type: ignore[union-attr]
            layer.cross_attention.inner_correlation.activation = sides.config.score  # type: ignore[union-attr]
    # The encoder layers of FEDformer share one block between frequencies, which appears under each of them.
    weights = sides.theirs.state_dict()
    spectral = any(key.endswith("weights1") for key in weights)
    found = inside(embedding(weights, "enc_embedding"), "encoder_embedding")
    found |= inside(embedding(weights, "dec_embedding"), "decoder_embedding")
    for layer in range(layers):
        root = f"encoder.attn_layers.{layer}"
        own = inside(projections(weights, f"{root}.attention", spectral, False), "attention")
        own |= feedforward(weights, root) | norms(weights, root, ("attention_norm", "feedforward_norm"))
        found |= inside(own, f"encoder.layers.{layer}")
    for layer in range(decoder_layers):
        root = f"decoder.layers.{layer}"
        own = inside(projections(weights, f"{root}.self_attention", spectral, False), "self_attention")
        own |= inside(projections(weights, f"{root}.cross_attention", spectral, True), "cross_attention")
        own |= feedforward(weights, root) | norms(weights, root, ("self_norm", "cross_norm", "feedforward_norm"))
        if f"{root}.projection.weight" in weights:
            own["trend_projection.weight"] = weights[f"{root}.projection.weight"]
        found |= inside(own, root)
    for part in ("encoder", "decoder"):
        if f"{part}.norm.layernorm.weight" in weights:
            found[f"{part}.norm.norm.weight"] = weights[f"{part}.norm.layernorm.weight"]
        else:
            found |= {f"{part}.norm.{end}": weights[f"{part}.norm.{end}"] for end in ("weight", "bias")}
    return found | {f"projection.{end}": weights[f"decoder.projection.{end}"] for end in ("weight", "bias")}


def joined_projections(weights: Weights, sides: Sides) -> Iterable[Tensor]:
    """Join the query, key and value projections of iTransformer and drop the width of its convolutions."""
    ordered: list[Tensor] = [weights[f"enc_embedding.value_embedding.{end}"] for end in ("weight", "bias")]
    for layer in range(sides.config.num_layers):
        root = f"encoder.attn_layers.{layer}."
        for end in ("weight", "bias"):
            parts = [weights[f"{root}attention.{part}_projection.{end}"] for part in ("query", "key", "value")]
            ordered.append(torch.cat(parts))
        for part in ("attention.out_projection", "norm1", "conv1", "conv2", "norm2"):
            ordered += [weights[f"{root}{part}.weight"], weights[f"{root}{part}.bias"]]
    ordered += [weights[f"{part}.{end}"] for part in ("encoder.norm", "projector") for end in ("weight", "bias")]
    return [value.squeeze(-1) if value.dim() == 3 else value for value in ordered]


def patchtst_weights(sides: Sides) -> Weights:
    """Join the query, key and value projections, and let the head read patch after patch instead of unit after unit."""
    weights, root = stored(sides.theirs), "model.backbone."
    found = {"encoder.position": weights[f"{root}W_pos"]}
    found |= {f"encoder.embedding.{end}": weights[f"{root}W_P.{end}"] for end in ENDS}
    parts = {"output": "self_attn.to_out.0", "feedforward.0": "ff.0", "feedforward.3": "ff.3"}
    norms = {"attention_norm": "norm_attn.1", "feedforward_norm": "norm_ffn.1"}
    for layer in range(sides.config.num_layers):
        own, their = f"encoder.layers.{layer}", f"{root}encoder.layers.{layer}"
        for end in ENDS:
            joined = [weights[f"{their}.self_attn.W_{part}.{end}"] for part in "QKV"]
            found[f"{own}.query_key_value.{end}"] = torch.cat(joined)
        found |= {
            f"{own}.{mine}.{end}": weights[f"{their}.{part}.{end}"] for mine, part in parts.items() for end in ENDS
        }
        for end in (*ENDS, "running_mean", "running_var"):
            found |= {f"{own}.{mine}.{end}": weights[f"{their}.{part}.{end}"] for mine, part in norms.items()}
    head, patches = weights["model.head.linear.weight"], len(weights[f"{root}W_pos"])
    found["head.weight"] = head.view(len(head), -1, patches).transpose(1, 2).reshape(len(head), -1)
    return found | {"head.bias": weights["model.head.linear.bias"]}


def reordered(kinds: tuple[str, ...], axes: tuple[int, ...]) -> Callable[[nn.Module], nn.Module]:
    """Let their attention hand on ``(batch, step, head, width)``, as what follows reads it; it forgets to."""

    def reorder(_: nn.Module, __: object, output: tuple[Tensor, object]) -> tuple[Tensor, object]:
        return output[0].permute(axes).contiguous(), output[1]

    def prepare(network: nn.Module) -> nn.Module:
        for part in network.modules():
            if type(part).__name__ in kinds:
                part.register_forward_hook(reorder)
        return network

    return prepare


def spelled(config: Any) -> dict[str, object]:
    """Return the activation in their spelling."""
    return {"activation": config.activation.lower()}


def keeps_all_queries(config: Any, spec: TaskSpec) -> bool:
    """Whether attention is full, and nothing is distilled."""
    steps = (spec.input_size, spec.input_size + spec.horizon)
    return not config.distil and all(config.factor * math.ceil(math.log(count)) >= count for count in steps)


def is_even(config: Any, spec: TaskSpec) -> bool:
    """Whether encoder and decoder have even lengths: theirs forgets the length of odd ones in Fourier transforms."""
    start = math.floor(config.start_share * spec.input_size)
    return spec.input_size % 2 == 0 and (start + spec.horizon) % 2 == 0


def patchtst_settings(config: Any) -> dict[str, object]:
    return spelled(config) | {"revin_subtract_last": config.level == "last"}


def fedformer_unread(config: Any, spec: TaskSpec) -> int:
    """Projections and biases of norms that are not read, less the blocks that their encoder layers share."""
    size = config.hidden_size
    unread = 2 * (size**2 + size) * (config.num_layers + config.decoder_num_layers) + 2 * size
    block = spec.input_size // 2 * 2 * size**2 // config.num_heads
    return int(unread - (config.num_layers - 1) * block)


PAIRS = {
    "vanilla_transformer": Pair(
        "VanillaTransformer",
        encoder_decoder_weights,
        SIZES,
        spelled,
        ("activation", "causal"),
        fits=lambda config, _: not config.causal,
    ),
    "informer": Pair(
        "Informer",
        encoder_decoder_weights,
        SIZES | {"factor": "factor", "distil": "distil"},
        spelled,
        ("activation", "norm"),
        fits=keeps_all_queries,
        prepare=reordered(("ProbAttention",), (0, 2, 1, 3)),
    ),
    "autoformer": Pair(
        "Autoformer",
        encoder_decoder_weights,
        SIZES | {"factor": "factor", "kernel_size": "MovingAvg_window"},
        spelled,
        ("activation",),
        fits=is_even,
        unread=lambda config, _: 2 * config.hidden_size,  # biases of norms, which are taken out again
    ),
    "fedformer": Pair(
        "FEDformer",
        encoder_decoder_weights,
        SIZES | {"modes": "modes", "kernel_size": "MovingAvg_window"},
        spelled,
        ("activation", "score"),
        fits=lambda config, spec: is_even(config, spec) and config.modes >= spec.input_size + spec.horizon,
        unread=fedformer_unread,
        prepare=reordered(("FourierBlock", "FourierCrossAttention"), (0, 3, 1, 2)),
    ),
    "patchtst": Pair(
        "PatchTST",
        patchtst_weights,
        {
            "hidden_size": "hidden_size",
            "num_heads": "n_heads",
            "num_layers": "encoder_layers",
            "feedforward_size": "linear_hidden_size",
            "patch_length": "patch_len",
            "stride": "stride",
            "residual_attention": "res_attention",
            "use_norm": "revin",
        },
        patchtst_settings,
        ("activation", "level"),
    ),
    "itransformer": Pair(
        "iTransformer",
        in_order(joined_projections),
        {
            "hidden_size": "hidden_size",
            "num_heads": "n_heads",
            "num_layers": "e_layers",
            "feedforward_size": "d_ff",
            "use_norm": "use_norm",
        },
        joint=True,
        fits=lambda _, spec: not spec.future,
    ),
}
