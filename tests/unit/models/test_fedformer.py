from __future__ import annotations

import pytest
import torch

from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.layers.attention import Attention
from neuro_divergent.layers.spectral import FourierAttention, FourierMixing, FrequencyBlock
from neuro_divergent.layers.wavelet import WaveletAttention, WaveletMixing
from neuro_divergent.models.fedformer import FEDformer


@pytest.mark.parametrize(
    ("version", "mixing", "scoring"),
    [("fourier", FourierMixing, FourierAttention), ("wavelet", WaveletMixing, WaveletAttention)],
)
def test_fedformer_version_selects_fourier_or_wavelet_blocks(version: str, mixing: type, scoring: type) -> None:
    config = FEDformer(version=version, hidden_size=16)
    for place in ("encoder", "decoder"):
        block = config.attention(place, 12, 12)  # type: ignore[arg-type]
        assert isinstance(block, FrequencyBlock)
        assert isinstance(block.mixing, mixing)
    cross = config.attention("cross", 10, 12)
    assert isinstance(cross, Attention)
    assert isinstance(cross.scoring, scoring)


def test_wavelets_share_the_hidden_size() -> None:
    with pytest.raises(ConfigError, match=r"20 must be a multiple of polynomials \(8\)"):
        FEDformer(version="wavelet", hidden_size=20, num_heads=4)
    assert FEDformer(hidden_size=20, num_heads=4).hidden_size == 20


@pytest.mark.parametrize("modes", [2, 5])
def test_uses_few_frequencies(modes: int) -> None:
    network = FEDformer(hidden_size=16, modes=modes).build(TaskSpec(6, 24))
    assert network.get_parameter("encoder.layers.0.attention.mixing.weights.weight").shape[0] == modes
    assert network.get_parameter("decoder.layers.0.cross_attention.scoring.weights.weight").shape[0] == modes


@pytest.mark.precision("bf16")
@pytest.mark.parametrize("version", ["fourier", "wavelet"])
def test_trains_in_half_precision(version: str) -> None:
    torch.manual_seed(0)
    network = FEDformer(version=version, hidden_size=16).build(TaskSpec(6, 24))
    history = torch.randn(4, 24, 1)
    with torch.autocast("cpu", torch.bfloat16):
        forecast = network(Batch(history, torch.ones_like(history)))
    forecast.float().square().mean().backward()
    assert all(value.grad is not None and value.grad.isfinite().all() for value in network.parameters())
