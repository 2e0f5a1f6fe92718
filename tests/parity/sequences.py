"""How the recurrent and the convolutional networks translate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from tests.parity.pair import Pair, Sides, Translation, Weights, in_order

DECODER = {
    "hidden_size": "encoder_hidden_size",
    "decoder_hidden_size": "decoder_hidden_size",
    "decoder_num_layers": "decoder_layers",
}
RECURRENT = DECODER | {"num_layers": "encoder_n_layers", "activation": "decoder_activation"}
ENDS = ("weight", "bias")


def parts(*order: str) -> Translation:
    """Return what orders weights by the parts that they belong to; convolutions over one step become matrices."""

    def ordered(weights: Weights, _: Sides) -> Iterable[Tensor]:
        for part in order:
            for key, value in weights.items():
                if key.startswith(part):
                    yield value.squeeze(2) if "conv2" in key and value.dim() == 3 else value

    return in_order(ordered)


def timesnet_weights(sides: Sides) -> Weights:
    """Theirs are kernel by kernel, ours all weights of a block and then all biases."""
    kernels = [
        f"model.{layer}.conv.{block}.kernels.{kernel}.{end}"
        for layer in range(sides.config.num_layers)
        for block in (0, 2)
        for end in ENDS
        for kernel in range(sides.config.num_kernels)
    ]
    embedding = ("enc_embedding.value", "enc_embedding.temporal", "predict")
    return parts(*embedding, *kernels, "layer_norm", "projection")(sides)


INSIDE = {
    "widen": "proj_up",
    "convolution": "conv1d.conv",
    "query": "q_proj",
    "key": "k_proj",
    "value": "v_proj",
    "write": "mlstm_cell.igate",
    "keep": "mlstm_cell.fgate",
    "narrow": "proj_down",
}


def xlstm_weights(sides: Sides) -> Weights:
    """Their norms multiply by 1 more than their weights."""
    weights = sides.theirs.state_dict()
    outside = {"encoder.0": "feature_projection", "to_horizon": "temporal_projection"}
    found = {f"{mine}.{end}": weights[f"{other}.{end}"] for mine, other in outside.items() for end in ENDS}
    blocks = len(sides.config.blocks)
    for block in range(blocks):
        root, own = f"hist_encoder.blocks.{block}.xlstm", f"encoder.{block + 1}"
        found |= {
            f"{own}.{mine}.{end}": weights[f"{root}.{other}.{end}"] for mine, other in INSIDE.items() for end in ENDS
        }
        found[f"{own}.skip"] = weights[f"{root}.learnable_skip"]
        found[f"{own}.norm.weight"] = 1 + weights[f"{root}_norm.weight"]
        found[f"{own}.heads_norm.gain"] = 1 + weights[f"{root}.mlstm_cell.outnorm.weight"]
    found[f"encoder.{blocks + 1}.weight"] = 1 + weights["hist_encoder.post_blocks_norm.weight"]
    layers = {"decoder.0": "mlp_decoder.layers.0", "decoder.2": "mlp_decoder.layers.3"}
    return found | {f"{mine}.{end}": weights[f"{other}.{end}"] for mine, other in layers.items() for end in ENDS}


def dilated_settings(config: Any) -> dict[str, object]:
    return {"cell_type": config.cell.upper(), "dilations": [list(group) for group in config.dilations]}


PAIRS = {
    **{
        name: Pair(name.upper(), parts("hist_encoder", "upsample", "mlp"), RECURRENT) for name in ("rnn", "lstm", "gru")
    },
    "tcn": Pair(
        "TCN",
        parts("hist_encoder", "context", "mlp"),
        DECODER | {"kernel_size": "kernel_size", "activation": "encoder_activation"},
        lambda config: {"dilations": list(config.dilations)},
        ("dilations",),
    ),
    "bitcn": Pair(
        "BiTCN",
        parts("lin_hist", "net_bwd", "lin_futr", "net_fwd", "temporal", "output"),
        {"hidden_size": "hidden_size"},
    ),
    "dilated_rnn": Pair(
        "DilatedRNN", parts("rnn_stack", "context", "mlp"), DECODER, dilated_settings, ("cell", "dilations")
    ),
    "timesnet": Pair(
        "TimesNet",
        timesnet_weights,
        {
            "hidden_size": "hidden_size",
            "conv_hidden_size": "conv_hidden_size",
            "top_k": "top_k",
            "num_kernels": "num_kernels",
            "num_layers": "encoder_layers",
        },
        one_by_one=True,  # its periods are those of the average over the batch, which is the window then
        fits=lambda _, spec: not spec.future,  # theirs does not read those of the horizon
    ),
    "xlstm": Pair(
        "xLSTM",
        xlstm_weights,
        DECODER,
        lambda config: {"encoder_n_blocks": len(config.blocks)},
        ("blocks",),
        # Theirs rounds the width inside up to 64.
        fits=lambda config, _: (
            set(config.blocks) == {"mlstm"} and config.decoder_num_layers == 2 and config.hidden_size % 32 == 0
        ),
    ),
}
