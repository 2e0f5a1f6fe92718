"""Activations: torch's, by any spelling, in every architecture."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.layers.activation import ACTIVATIONS, Activation, activation_name, make_activation
from neuro_divergent.models.base import Architecture
from neuro_divergent.models.mlp import MLP
from neuro_divergent.reporting.config_document import choices

NOT_ELEMENTWISE = {"GLU", "MultiheadAttention", "Softmax", "Softmax2d", "LogSoftmax", "Softmin"}
WITHOUT_DEFAULT = {"Threshold"}
WITH_ACTIVATION = [
    name for name in Architecture.registry.names() if "activation" in Architecture.registry.get(name).model_fields
]


def test_all_elementwise_activations_of_torch_are_available() -> None:
    torchs = set(nn.modules.activation.__all__) | {"Identity"}
    assert set(ACTIVATIONS) == torchs - NOT_ELEMENTWISE - WITHOUT_DEFAULT


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_is_torchs_and_differentiable_after_a_linear_layer(name: Activation) -> None:
    torch.manual_seed(0)
    linear, values = nn.Linear(3, 4).double(), torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    made, reference = make_activation(name).double(), getattr(nn, name)().double()
    torch.manual_seed(1)
    expected = reference(linear(values))
    torch.manual_seed(1)
    torch.testing.assert_close(made(linear(values)), expected)

    def run(rows: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(1)
        output: torch.Tensor = made(linear(rows))
        return output

    assert torch.autograd.gradcheck(run, values)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("relu", "ReLU"),
        ("GELU", "GELU"),
        ("leaky_relu", "LeakyReLU"),
        ("log-sigmoid", "LogSigmoid"),
        ("Swish", "SiLU"),
        ("linear", "Identity"),
    ],
)
def test_any_spelling_is_read_and_torchs_is_kept(given: str, name: str) -> None:
    config = MLP(activation=given)
    assert config.activation == name
    assert isinstance(make_activation(given), getattr(nn, name))
    assert config.to_dict()["activation"] == name
    assert MLP.from_toml(config.to_toml()) == config


def test_an_unknown_name_gets_the_closest_one() -> None:
    with pytest.raises(ConfigError, match=r"mlp: activation: there is no activation 'rleu'\. Did you mean 'ReLU'\?"):
        MLP(activation="rleu")
    with pytest.raises(ConfigError, match=r"'softmax'.* Known: ReLU, "):
        MLP(activation="softmax")
    with pytest.raises(ConfigError, match="activation: 3 must be"):
        MLP(activation=3)
    with pytest.raises(ValueError, match=r"Did you mean 'SiLU'\?"):
        activation_name("swihs")


def test_the_commented_run_lists_them() -> None:
    assert choices(MLP.model_fields["activation"].annotation) == list(ACTIVATIONS)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("architecture", WITH_ACTIVATION)
def test_every_architecture_that_has_one_accepts_every_one(architecture: str, name: str) -> None:
    torch.manual_seed(0)
    kind = Architecture.registry.get(architecture)
    sizes = [key for key, field in kind.model_fields.items() if type(field.default) is int and field.default > 32]
    spec = TaskSpec(horizon=3, input_size=6)
    deep = {"decoder_num_layers": 2} if "decoder_num_layers" in kind.model_fields else {}  # a hidden layer to have it
    network = kind(**dict.fromkeys(sizes, 16), **deep, activation=name.lower()).build(spec)
    assert any(isinstance(part, getattr(nn, name)) for part in network.modules())
    values = torch.randn(5, 6, 1)
    network(Batch(values, torch.ones_like(values))).square().sum().backward()
    gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
    assert gradients
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert any(gradient.any() for gradient in gradients)
