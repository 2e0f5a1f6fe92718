"""Initial weights in the order in which published code draws them.

With few steps at a small rate, what a network learns depends on the weights that it starts from. Drawn in the published
order, the weights of a seed are those that the published code has with that seed.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neuro_divergent.core.seeding import seeded


def timesnet(network: nn.Module, seed: int) -> None:
    """Draw the weights of a TimesNet: its blocks, the embedding, the layer along time and the output."""
    own = dict(network.named_parameters())
    prefix = next(name for name in own if name.endswith("lengthen.weight")).removesuffix("lengthen.weight")
    blocks = len({name.split("blocks.")[1].split(".")[0] for name in own if "blocks." in name})
    with seeded(seed), torch.no_grad():
        drawn: dict[str, Tensor] = {}
        for block in range(blocks):
            for part in ("widen", "narrow"):
                place = f"blocks.{block}.{part}.weights."
                drawn |= _inception(place, [own[name] for name in own if name.startswith(prefix + place)])
        values, covariates = (own[f"{prefix}embedding.{name}.weight"] for name in ("values.projection", "covariates"))
        token = nn.Conv1d(values.shape[1], values.shape[0], 3, bias=False)
        nn.init.kaiming_normal_(token.weight, nonlinearity="leaky_relu")
        drawn["embedding.values.projection.weight"] = token.weight
        drawn["embedding.covariates.weight"] = nn.Linear(covariates.shape[1], covariates.shape[0], bias=False).weight
        for layer in ("lengthen", "output"):
            outputs, inputs = own[f"{prefix}{layer}.weight"].shape
            linear = nn.Linear(inputs, outputs)
            drawn |= {f"{layer}.weight": linear.weight, f"{layer}.bias": linear.bias}
        for name, value in drawn.items():
            own[prefix + name].copy_(value)


def _inception(place: str, weights: list[nn.Parameter]) -> dict[str, Tensor]:
    """Return the kernels of an inception block: all layers are made first, then their weights are drawn again."""
    layers = [nn.Conv2d(weight.shape[1], weight.shape[0], weight.shape[2]) for weight in weights]
    for layer in layers:
        nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return {f"{place}{number}": layer.weight for number, layer in enumerate(layers)}
