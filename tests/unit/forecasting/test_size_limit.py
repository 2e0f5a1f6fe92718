"""The limit on the size of tensors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.forecasting.size_limit import SizeLimit, SizeLimitError

LARGE = {
    "empty": lambda: torch.empty(200, 200),
    "size by name": lambda: torch.zeros(size=(200, 200)),
    "range": lambda: torch.arange(0, 20_000, 1),
    "range of floats": lambda: torch.arange(0.0, 20_000.0),
    "eye": lambda: torch.eye(200),
    "diagonal": lambda: torch.ones(200).diag(),
    "broadcast": lambda: torch.ones(200, 1) * torch.ones(1, 200),
    "product": lambda: torch.ones(200, 1) @ torch.ones(1, 200),
    "interpolation": lambda: functional.interpolate(torch.ones(1, 1, 2), size=20_000),
    "repeat": lambda: torch.ones(200).repeat(200),
    "joined": lambda: torch.cat([torch.ones(9_000), torch.ones(9_000)]),
    "layer": lambda: nn.Linear(200, 200).weight,
}


@pytest.mark.parametrize("name", LARGE)
def test_a_tensor_above_the_limit_is_refused_before_it_is_made(name: str) -> None:
    make: Callable[[], Tensor] = LARGE[name]
    assert make().numel() > 10_000
    with SizeLimit(10_000), pytest.raises(SizeLimitError):
        make()


def test_tensors_below_the_limit_are_made_as_usual() -> None:
    with SizeLimit(10_000):
        made = nn.Linear(50, 50)
        joined = torch.cat([torch.ones(4_000), torch.full((4_000,), float("inf"))])
    assert made.weight.shape == (50, 50)
    assert joined.shape == (8_000,)
