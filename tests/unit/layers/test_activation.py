from __future__ import annotations

from typing import get_args

import pytest
import torch
from torch import nn

from neuro_divergent.layers.activation import Activation, make_activation


@pytest.mark.parametrize("name", get_args(Activation))
def test_activation_is_torchs_and_differentiable_after_a_linear_layer(name: Activation) -> None:
    torch.manual_seed(0)
    linear, values = nn.Linear(3, 4).double(), torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    made, reference = make_activation(name).double(), getattr(nn, name)().double()
    torch.testing.assert_close(made(linear(values)), reference(linear(values)))
    assert torch.autograd.gradcheck(lambda rows: made(linear(rows)), values)
