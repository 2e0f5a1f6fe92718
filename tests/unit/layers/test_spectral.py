from __future__ import annotations

import pytest
import torch
from torch import Tensor

from neuro_divergent.layers.spectral import (
    FourierAttention,
    FourierMixing,
    FrequencyBlock,
    attend_low_modes,
    select_modes,
)


def series(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("selection", ["low", "random"])
@pytest.mark.parametrize(("steps", "modes"), [(1, 4), (2, 1), (20, 4), (20, 100), (21, 10)])
def test_modes_are_few_rising_and_always_the_same(steps: int, modes: int, selection: str) -> None:
    chosen = select_modes(steps, modes, selection)  # type: ignore[arg-type]
    assert len(chosen) == max(1, min(modes, steps // 2))
    assert chosen.tolist() == sorted(set(chosen.tolist()))
    assert chosen[-1] <= max(0, steps // 2 - 1)
    torch.manual_seed(9)
    assert torch.equal(chosen, select_modes(steps, modes, selection))  # type: ignore[arg-type]
    if selection == "low":
        assert chosen.tolist() == list(range(len(chosen)))


@pytest.mark.parametrize("steps", [9, 12])
def test_mixing_with_ones_at_every_frequency_is_the_identity(steps: int) -> None:
    mixing = FourierMixing(2, 3, torch.arange(steps // 2 + 1)).double()
    with torch.no_grad():
        mixing.weights.weight.copy_(torch.stack([torch.eye(3), torch.zeros(3, 3)], -1))
    values = series(4, 2, steps, 3)
    torch.testing.assert_close(mixing(values), values)


@pytest.mark.parametrize("steps", [9, 12])
def test_mixing_at_every_frequency_is_a_circular_convolution(steps: int) -> None:
    mixing, values = FourierMixing(2, 3, torch.arange(steps // 2 + 1)).double(), series(4, 2, steps, 3)
    kernel = series(2, 3, 3, steps, seed=1)  # head, in, out, lag
    with torch.no_grad():
        mixing.weights.weight.copy_(torch.view_as_real(torch.fft.rfft(kernel).permute(3, 0, 1, 2)))
    expected = torch.zeros_like(values)
    for step in range(steps):
        for lag in range(steps):
            before = values[:, :, (step - lag) % steps]
            expected[:, :, step] += torch.einsum("bmi,mio->bmo", before, kernel[..., lag])
    torch.testing.assert_close(mixing(values), expected)


def test_mixing_leaves_out_other_frequencies_and_puts_back_those_it_used() -> None:
    steps = torch.arange(16.0, dtype=torch.float64)
    waves = [torch.cos(2 * torch.pi * frequency * steps / 16) for frequency in (2, 3, 5)]
    mixing = FourierMixing(1, 1, torch.tensor([0, 2, 5])).double()
    with torch.no_grad():
        mixing.weights.weight.copy_(torch.tensor([1.0, 0.0]))
    mixed = mixing(sum(waves)[None, None, :, None])[0, 0, :, 0]  # type: ignore[index]
    torch.testing.assert_close(mixed, waves[0] + waves[2])


@pytest.mark.parametrize("score", ["tanh", "softmax"])
def test_attention_between_frequencies(score: str) -> None:
    torch.manual_seed(0)
    query_modes, key_modes = torch.tensor([0, 2, 3]), torch.tensor([1, 4])
    attention = FourierAttention(2, 3, query_modes, key_modes, score).double()  # type: ignore[arg-type]
    query, key, value = 0.1 * series(4, 2, 10, 3), series(4, 2, 12, 3, seed=1), series(4, 2, 12, 3, seed=2)
    found = torch.fft.rfft(attention(query, key, value), dim=2)
    spectra = [torch.fft.rfft(part, dim=2) for part in (query, key, value)]
    weights = torch.view_as_complex(attention.weights.weight)
    expected = torch.zeros_like(found)
    for place, mode in enumerate(query_modes.tolist()):
        products = [(spectra[0][:, :, mode] * spectra[1][:, :, other]).sum(-1) for other in key_modes.tolist()]
        scores = torch.stack(products, -1)
        scores = scores.tanh() if score == "tanh" else torch.softmax(scores.abs(), -1).to(scores.dtype)
        attended = sum(
            scores[..., index, None] * spectra[2][:, :, other] for index, other in enumerate(key_modes.tolist())
        )
        expected[:, :, mode] = torch.einsum("bmi,mio->bmo", attended, weights[place])
    expected[:, :, 0] = expected[:, :, 0].real.to(expected.dtype)  # a real series has a real mean
    torch.testing.assert_close(found, expected, atol=1e-8, rtol=1e-6)


@pytest.mark.parametrize("modes", [2, 100])
def test_attention_between_the_lowest_frequencies(modes: int) -> None:
    query, key, value = (series(4, 2, 9, 3, seed=seed) for seed in range(3))
    attention = FourierAttention(2, 3, torch.arange(min(modes, 5)), torch.arange(min(modes, 5)), "softmax").double()
    with torch.no_grad():
        attention.weights.weight.copy_(torch.stack([torch.eye(3), torch.zeros(3, 3)], -1))
    torch.testing.assert_close(attend_low_modes(query, key, value, modes, "softmax"), attention(query, key, value))


def test_block_projects_mixes_and_projects() -> None:
    torch.manual_seed(0)
    block, tokens = FrequencyBlock(6, 2, torch.nn.Identity()), torch.randn(3, 5, 6)
    torch.testing.assert_close(block(tokens, None, None), block.output(block.input(tokens)))


@pytest.mark.precision("bf16")
def test_half_precision_is_transformed_in_single_precision() -> None:
    mixed = FourierMixing(2, 3, torch.arange(3))(series(4, 2, 9, 3).bfloat16())
    assert mixed.dtype is torch.bfloat16
