from __future__ import annotations

import pytest
import torch
from torch import Tensor

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.layers.recurrent import matrix_memory, scalar_memory
from neuro_divergent.models.xlstm import XLSTM


def step_by_step(queries: Tensor, keys: Tensor, values: Tensor, write: Tensor, keep: Tensor) -> Tensor:
    """Return what the memory of the paper gives when it is written and read one step after the other."""
    rows, heads, steps, width = queries.shape
    memory, total = queries.new_zeros(rows, heads, width, width), queries.new_zeros(rows, heads, width)
    largest = queries.new_full((rows, heads, 1), -torch.inf)
    found = []
    for step in range(steps):
        query, key, value = (item[:, :, step] for item in (queries, keys / width**0.5, values))
        kept = keep[:, :, step, None].sigmoid().log() + largest
        largest = torch.maximum(kept, write[:, :, step, None])
        old, new = (kept - largest).exp(), (write[:, :, step, None] - largest).exp()
        memory = old[..., None] * memory + new[..., None] * value[..., :, None] * key[..., None, :]
        total = old * total + new * key
        size = torch.maximum((total * query).sum(2, keepdim=True).abs(), (-largest).exp())
        found.append((memory @ query[..., None]).squeeze(3) / (size + 1e-6))
    return torch.stack(found, 2)


@pytest.mark.parametrize("steps", [1, 2, 17])
@pytest.mark.parametrize("strength", [1.0, 30.0])
def test_all_steps_at_once_are_the_same_as_one_after_the_other(steps: int, strength: float) -> None:
    torch.manual_seed(0)
    queries, keys, values = (torch.randn(2, 3, steps, 4, dtype=torch.float64) for _ in range(3))
    write, keep = (torch.randn(2, 3, steps, dtype=torch.float64) * strength for _ in range(2))
    found = matrix_memory(queries, keys, values, write, keep)
    torch.testing.assert_close(found, step_by_step(queries, keys, values, write, keep))


def test_gates_that_are_large_overflow_nothing() -> None:
    torch.manual_seed(0)
    queries = torch.randn(2, 3, 9, 4)
    gates = torch.randn(2, 3, 9) * 500
    for sign in (1, -1):
        assert matrix_memory(queries, queries, queries, sign * gates, gates).isfinite().all()
    raw = (torch.randn(9, 3, 2, 16) * 500).requires_grad_()
    states = scalar_memory(raw, torch.randn(3, 4, 16))
    states.sum().backward()
    assert states.isfinite().all()
    assert raw.grad is not None
    assert raw.grad.isfinite().all()


def test_scalar_memory_is_the_average_of_what_was_written() -> None:
    """Without a stabiliser, with gates small enough to need none: the formulas of the paper as they are written."""
    torch.manual_seed(0)
    gates, recurrent = torch.randn(6, 2, 3, 16, dtype=torch.float64), torch.randn(2, 4, 16, dtype=torch.float64)
    state = cell = count = torch.zeros(2, 3, 4, dtype=torch.float64)
    expected = []
    for told in gates:
        write, keep, content, output = (told + state @ recurrent).chunk(4, 2)
        cell = keep.sigmoid() * cell + write.exp() * content.tanh()
        count = keep.sigmoid() * count + write.exp()
        state = output.sigmoid() * cell / count
        expected.append(state)
    torch.testing.assert_close(scalar_memory(gates, recurrent), torch.stack(expected))


@pytest.mark.parametrize("kind", ["mlstm", "slstm"])
@torch.no_grad()
def test_a_block_does_not_see_the_future(kind: str) -> None:
    torch.manual_seed(0)
    encoder = XLSTM(blocks=(kind,), hidden_size=8).build(TaskSpec(3, 20)).encoder.double().eval()
    values = torch.randn(20, 2, 1).double()
    changed = values.clone()
    changed[11:] += 1
    before, after = encoder(values), encoder(changed)
    torch.testing.assert_close(after[:11], before[:11])
    assert not torch.isclose(after[11:], before[11:]).all(2).any()


def test_heads_of_a_scalar_memory_remember_apart() -> None:
    torch.manual_seed(0)
    gates, recurrent = torch.randn(6, 2, 3, 16), torch.randn(2, 4, 16)
    changed = gates.clone()
    changed[:, 0] += 1
    moved = scalar_memory(changed, recurrent) != scalar_memory(gates, recurrent)
    assert moved[:, 0].any()
    assert not moved[:, 1].any()


def test_has_as_many_weights_as_the_blocks_of_the_authors() -> None:
    """Counted from the layout of their package at width 128 with biases, as NeuralForecast uses it."""
    width, inner, heads = 128, 256, 4
    matrix = width + (width + 1) * 2 * inner + 3 * (4 * inner + inner) + 5 * inner
    matrix += 2 * (3 * inner + 1) * heads + 2 * inner + (inner + 1) * width
    scalar = width + 5 * width + 4 * width * width // heads + 4 * width * width // heads + 4 * width + width
    scalar += width + 3 * width * 192
    for kind, count in (("mlstm", matrix), ("slstm", scalar)):
        _, block, norm = XLSTM(blocks=(kind,)).build(TaskSpec(2, 4)).encoder
        assert sum(value.numel() for value in block.parameters()) == count
        assert sum(value.numel() for value in norm.parameters()) == width


@pytest.mark.parametrize(("hidden_size", "num_heads"), [(10, 4), (3, 1)])
def test_refuses_heads_that_do_not_divide_a_state(hidden_size: int, num_heads: int) -> None:
    with pytest.raises(ConfigError, match=f"hidden_size: {hidden_size} must be even and a multiple of num_heads"):
        XLSTM(hidden_size=hidden_size, num_heads=num_heads)
