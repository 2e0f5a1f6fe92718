"""Transformers with encoder and decoder beside those of NeuralForecast 3.3.0.

With the same weights they give the same forecasts wherever NeuralForecast's does what it means to; the settings of the
cases keep out of the way of what the docstrings tell. iTransformer is among the cases of ``test_neuralforecast.py``.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import Feature, TaskSpec
from neuro_divergent.models.autoformer import Autoformer
from neuro_divergent.models.encoder_decoder import EncoderDecoder
from neuro_divergent.models.fedformer import FEDformer
from neuro_divergent.models.informer import Informer
from neuro_divergent.models.vanilla_transformer import VanillaTransformer
from tests.parity.test_neuralforecast import Weights, batches, theirs, trainable

FUTURE = (Feature("f1"), Feature("f2"))
PLAIN, UNEVEN, KNOWN = TaskSpec(24, 96), TaskSpec(7, 13, outputs=3), TaskSpec(8, 20, future=FUTURE)
EVEN = TaskSpec(8, 12, outputs=3)
KINDS = {
    VanillaTransformer: "VanillaTransformer",
    Informer: "Informer",
    Autoformer: "Autoformer",
    FEDformer: "FEDformer",
}


def their_network(config: EncoderDecoder, spec: TaskSpec, **settings: object) -> nn.Module:
    if spec.future:
        settings["futr_exog_list"] = [feature.name for feature in spec.future]
    return theirs(KINDS[type(config)], spec, **settings)


def in_order(network: nn.Module, kinds: tuple[str, ...], axes: tuple[int, ...]) -> nn.Module:
    """Let their attention hand on ``(batch, step, head, width)``, as what follows reads it; it forgets to."""

    def reorder(_: nn.Module, __: object, output: tuple[Tensor, object]) -> tuple[Tensor, object]:
        return output[0].permute(axes).contiguous(), output[1]

    for part in network.modules():
        if type(part).__name__ in kinds:
            part.register_forward_hook(reorder)
    return network


def count(values: list[Tensor]) -> int:
    return sum(value.numel() * (1 + value.is_complex()) for value in values)


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


def renamed(network: nn.Module, layers: int, decoder_layers: int) -> Weights:
    """Return all of their weights under our names."""
    # Their encoder layers share one block between frequencies, which appears under each of them.
    weights = {key: value.detach() for key, value in network.state_dict(keep_vars=True).items()}
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


def assert_same(config: EncoderDecoder, spec: TaskSpec, their: nn.Module) -> None:
    network = config.build(spec).eval()
    with torch.no_grad():
        for value in their.parameters():  # the untrained blocks between frequencies are too small to be seen
            if value.is_complex():
                value.mul_(config.hidden_size)
    network.load_state_dict(renamed(their, config.num_layers, config.decoder_num_layers))
    with torch.no_grad():
        batch, windows = batches(spec, missing=False)
        torch.testing.assert_close(network(batch)[:, :, 0], their(windows), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("spec", [PLAIN, UNEVEN, KNOWN], ids=["plain", "uneven", "known"])
@pytest.mark.parametrize("layers", [1, 2])
def test_same_vanilla_transformer(spec: TaskSpec, layers: int) -> None:
    torch.manual_seed(0)
    config = VanillaTransformer(causal=False, num_layers=3 - layers, decoder_num_layers=layers)
    their = their_network(config, spec, encoder_layers=3 - layers, decoder_layers=layers)
    assert count(list(config.build(spec).parameters())) == count(list(trainable(their).values()))
    assert_same(config, spec, their)


@pytest.mark.parametrize("spec", [PLAIN, UNEVEN, KNOWN], ids=["plain", "uneven", "known"])
def test_same_informer_when_all_queries_are_kept(spec: TaskSpec) -> None:
    torch.manual_seed(0)
    config = Informer(factor=100, distil=False)
    their = their_network(config, spec, factor=100, distil=False)
    assert_same(config, spec, in_order(their, ("ProbAttention",), (0, 2, 1, 3)))


@pytest.mark.parametrize("distil", [True, False])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_informer_of_the_same_size(distil: bool, layers: int) -> None:
    config = Informer(distil=distil, num_layers=layers)
    their = their_network(config, KNOWN, distil=distil, encoder_layers=layers)
    assert count(list(config.build(KNOWN).parameters())) == count(list(trainable(their).values()))


@pytest.mark.parametrize("spec", [PLAIN, EVEN, KNOWN], ids=["plain", "even", "known"])
@pytest.mark.parametrize("layers", [1, 2])
def test_same_autoformer(spec: TaskSpec, layers: int) -> None:
    torch.manual_seed(0)
    config = Autoformer(num_layers=layers, decoder_num_layers=layers, kernel_size=5)
    settings = {"encoder_layers": layers, "decoder_layers": layers, "MovingAvg_window": 5}
    their = their_network(config, spec, **settings)
    biases_of_norms = 2 * config.hidden_size
    assert count(list(config.build(spec).parameters())) == count(list(trainable(their).values())) - biases_of_norms
    assert_same(config, spec, their)


@pytest.mark.parametrize("score", ["tanh", "softmax"])
@pytest.mark.parametrize("spec", [PLAIN, EVEN, KNOWN], ids=["plain", "even", "known"])
@pytest.mark.parametrize("layers", [1, 2])
def test_same_fedformer_with_all_frequencies(spec: TaskSpec, layers: int, score: str) -> None:
    torch.manual_seed(0)
    config = FEDformer(num_layers=layers, decoder_num_layers=1, modes=200, score=score)
    their = their_network(config, spec, encoder_layers=layers, decoder_layers=1, modes=200)
    for layer in their.decoder.layers:  # type: ignore[union-attr]
        layer.cross_attention.inner_correlation.activation = score  # type: ignore[union-attr]
    size, network = config.hidden_size, config.build(spec)
    unused = 2 * (size**2 + size) * (layers + 1) + 2 * size
    own = (layers - 1) * network.get_parameter("encoder.layers.0.attention.mixing.weights.weight").numel()
    assert count(list(network.parameters())) == count(list(trainable(their).values())) - unused + own
    assert_same(config, spec, in_order(their, ("FourierBlock", "FourierCrossAttention"), (0, 3, 1, 2)))
