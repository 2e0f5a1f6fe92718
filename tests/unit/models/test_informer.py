from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.models.informer import Informer
from neuro_divergent.models.vanilla_transformer import VanillaTransformer


def test_is_a_transformer_when_all_queries_are_kept_and_nothing_is_distilled() -> None:
    torch.manual_seed(0)
    spec = TaskSpec(6, 15, outputs=2)
    informer = Informer(hidden_size=16, factor=50, distil=False).build(spec).eval()
    transformer = VanillaTransformer(hidden_size=16).build(spec).eval()
    transformer.load_state_dict(informer.state_dict())
    history = torch.randn(4, 15, 1)
    batch = Batch(history, torch.ones_like(history))
    torch.testing.assert_close(informer(batch), transformer(batch))


@pytest.mark.parametrize("steps", [1, 2, 9, 10])
@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_distilling_halves_the_tokens(steps: int, norm: str) -> None:
    torch.manual_seed(0)
    network = Informer(hidden_size=16, norm=norm).build(TaskSpec(4, steps)).eval()
    distilling, tokens = network.encoder.layers[1], torch.randn(3, steps, 16)
    ring = functional.pad(tokens.transpose(1, 2), (1, 1), mode="circular")
    convolved = functional.conv1d(ring, distilling.convolution.weight, distilling.convolution.bias)
    active = functional.elu(distilling.norm(convolved.transpose(1, 2)))
    pooled = [active[:, max(0, 2 * place - 1) : 2 * place + 2].amax(1) for place in range((steps + 1) // 2)]
    torch.testing.assert_close(distilling(tokens), torch.stack(pooled, 1))


@pytest.mark.parametrize(("layers", "distil", "between"), [(1, True, 0), (3, True, 2), (3, False, 0)])
def test_distils_after_each_layer_but_the_last(layers: int, distil: bool, between: int) -> None:
    network = Informer(hidden_size=16, num_layers=layers, distil=distil).build(TaskSpec(4, 12))
    assert len(network.encoder.layers) == layers + between
