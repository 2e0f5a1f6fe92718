"""Working on the frequencies of a series instead of its steps.

Letters: B batch, M head, L time, E width of a head, X frequency of a query, Y frequency of a key, D hidden.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Literal

import torch
from torch import Tensor, nn

from neuro_divergent.core.exporting import is_exporting
from neuro_divergent.layers.complex_pair import ComplexPair

Coefficients = Tensor | ComplexPair  # pairs while a graph is exported, since ONNX has no complex types
Selection = Literal["random", "low"]
Score = Literal["tanh", "softmax"]


def select_modes(steps: int, modes: int, selection: Selection = "low") -> Tensor:
    """Return which frequencies of a series are used, rising: at most ``modes`` of the ``steps // 2`` lowest.

    A random selection is always the same for the same sizes, so that a network is rebuilt from its settings.
    """
    available = max(1, steps // 2)
    if selection == "low":
        return torch.arange(min(modes, available))
    order = torch.randperm(available, generator=torch.Generator().manual_seed(0))
    return order[:modes].sort().values


def spectrum(series: Tensor, dim: int) -> Tensor:
    """Return the Fourier transform of real numbers, in single precision if they have less."""
    coefficients: Tensor = torch.fft.rfft(series if series.dtype.itemsize >= 4 else series.float(), dim=dim)
    return coefficients


def correlate(query_BMQE: Tensor, key_BMQE: Tensor) -> Tensor:
    """Return the circular correlation for each delay, ``(batch, delay)``, averaged over heads and their width."""
    steps = query_BMQE.shape[2]
    if is_exporting():
        pairs = ComplexPair.spectrum(query_BMQE).times(ComplexPair.spectrum(key_BMQE).conj()).mean((1, 3))
        return ComplexPair(*(part[..., None] for part in pairs)).to_series(steps)[..., 0]
    agreement = spectrum(query_BMQE, 2) * spectrum(key_BMQE, 2).conj()
    correlation: Tensor = torch.fft.irfft(agreement.mean((1, 3)), n=steps, dim=1)
    return correlation


def add_shifted(series_BMLE: Tensor, weights_BL: Tensor) -> Tensor:
    """Return the sum of a series shifted back by each number of steps, with the weight of that number."""
    steps = series_BMLE.shape[2]
    if is_exporting():
        kernel = ComplexPair.spectrum(weights_BL[..., None]).conj()
        by_head = ComplexPair(*(part[:, None] for part in kernel))
        return ComplexPair.spectrum(series_BMLE).times(by_head).to_series(steps)
    shifts = spectrum(weights_BL, 1).conj()[:, None, :, None]
    shifted: Tensor = torch.fft.irfft(spectrum(series_BMLE, 2) * shifts, n=steps, dim=2)
    return shifted


class ModeWeights(nn.Module):
    """Mixes the features of each head with separate weights for each frequency.

    A complex weight is stored as two real ones, so that optimizers, precisions and files need no complex types.
    """

    def __init__(self, num_heads: int, width: int, modes: int) -> None:
        super().__init__()
        scale = 1 / (num_heads * width) ** 2
        self.weight = nn.Parameter(scale * torch.rand(modes, num_heads, width, width, 2))

    def forward(self, coefficients_BMXE: Coefficients) -> Coefficients:
        """Return coefficients of the same shape, for the first frequencies if there are fewer than weights."""
        if isinstance(coefficients_BMXE, ComplexPair):
            return self._mix_pairs(coefficients_BMXE)
        weight = torch.view_as_complex(self.weight)[: coefficients_BMXE.shape[2]]
        return torch.einsum("bmxi,xmio->bmxo", coefficients_BMXE, weight)

    def _mix_pairs(self, coefficients_BMXE: ComplexPair) -> ComplexPair:
        weight_MXIO = ComplexPair(*self.weight[: coefficients_BMXE.real.shape[2]].transpose(0, 1).unbind(-1))
        given_MXBI = ComplexPair(*(part.permute(1, 2, 0, 3) for part in coefficients_BMXE))
        return ComplexPair(*(part.permute(2, 0, 1, 3) for part in given_MXBI.matmul(weight_MXIO)))


class FourierMixing(nn.Module):
    """Mixes the features of a token at some frequencies, rising; a circular convolution, if all are used.

    Zhou et al., "FEDformer", ICML 2022 (frequency enhanced block). Frequencies that are not used are left out.
    """

    def __init__(self, num_heads: int, width: int, modes: Tensor) -> None:
        super().__init__()
        self.weights = ModeWeights(num_heads, width, len(modes))
        self._modes = modes.tolist()

    def forward(self, series_BMLE: Tensor) -> Tensor:
        """Return series of the same shape; a short one has fewer frequencies, of which it uses what there are."""
        steps = series_BMLE.shape[2]
        modes = self._modes[: bisect_left(self._modes, steps // 2 + 1)]
        return _from_modes(self.weights(_at_modes(series_BMLE, modes)), modes, steps).type_as(series_BMLE)


class FourierAttention(nn.Module):
    """Attention between some frequencies, rising, of queries and keys (FEDformer's frequency enhanced attention).

    A product becomes a weight by its ``tanh``, or by the ``softmax`` of its size.
    """

    def __init__(self, num_heads: int, width: int, query_modes: Tensor, key_modes: Tensor, score: Score) -> None:
        super().__init__()
        self.weights = ModeWeights(num_heads, width, len(query_modes))
        self._query_modes, self._key_modes = query_modes.tolist(), key_modes.tolist()
        self._score: Score = score

    def forward(self, query_BMQE: Tensor, key_BMKE: Tensor, value_BMKE: Tensor) -> Tensor:
        query = _at_modes(query_BMQE, self._query_modes)
        key, value = (_at_modes(part, self._key_modes) for part in (key_BMKE, value_BMKE))
        mixed = self.weights(_attend(query, key, value, self._score))
        return _from_modes(mixed, self._query_modes, query_BMQE.shape[2]).type_as(query_BMQE)


class FrequencyBlock(nn.Module):
    """Replaces attention with the same arguments, but transforms only the queries.

    ``mixing`` is applied to the projected tokens ``(batch, head, time, width)``.
    """

    def __init__(self, hidden_size: int, num_heads: int, mixing: nn.Module) -> None:
        super().__init__()
        self.input = nn.Linear(hidden_size, hidden_size)
        self.mixing = mixing
        self.output = nn.Linear(hidden_size, hidden_size)
        self.num_heads = num_heads

    def forward(self, queries_BLD: Tensor, keys: Tensor | None = None, values: Tensor | None = None) -> Tensor:
        batch, steps, width = queries_BLD.shape
        heads = self.input(queries_BLD).view(batch, steps, self.num_heads, width // self.num_heads).transpose(1, 2)
        result: Tensor = self.output(self.mixing(heads).transpose(1, 2).flatten(2))
        return result


def attend_low_modes(query_BMLE: Tensor, key_BMLE: Tensor, value_BMLE: Tensor, modes: int, score: Score) -> Tensor:
    """Return the attention between the lowest frequencies, ``(batch, head, time, width)``, without weights."""
    steps = query_BMLE.shape[2]
    used = list(range(min(modes, steps // 2 + 1)))
    query, key, value = (_at_modes(part, used) for part in (query_BMLE, key_BMLE, value_BMLE))
    return _from_modes(_attend(query, key, value, score), used, steps).type_as(query_BMLE)


def _attend(query_BMXE: Coefficients, key_BMYE: Coefficients, value_BMYE: Coefficients, score: Score) -> Coefficients:
    """Return coefficients ``(batch, head, query frequency, width)``."""
    if isinstance(query_BMXE, ComplexPair):
        assert isinstance(key_BMYE, ComplexPair)
        assert isinstance(value_BMYE, ComplexPair)
        pairs_BMXY = query_BMXE.matmul(key_BMYE.transpose(2, 3))
        if score == "tanh":
            return pairs_BMXY.tanh().matmul(value_BMYE)
        weights_BMXY = torch.softmax(pairs_BMXY.abs(), 3)
        return ComplexPair(weights_BMXY @ value_BMYE.real, weights_BMXY @ value_BMYE.imag)
    assert isinstance(key_BMYE, Tensor)
    assert isinstance(value_BMYE, Tensor)
    products_BMXY = query_BMXE @ key_BMYE.transpose(2, 3)
    if score == "tanh":
        return products_BMXY.tanh() @ value_BMYE
    return torch.softmax(products_BMXY.abs(), 3).to(value_BMYE.dtype) @ value_BMYE


def _at_modes(series_BMLE: Tensor, modes: list[int]) -> Coefficients:
    if is_exporting():
        return ComplexPair.spectrum(series_BMLE, modes)
    coefficients = spectrum(series_BMLE, 2)
    return coefficients[:, :, : len(modes)] if _are_lowest(modes) else coefficients[:, :, modes]


def _from_modes(coefficients_BMXE: Coefficients, modes: list[int], steps: int) -> Tensor:
    """Return series of so many steps whose other frequencies are zero."""
    if isinstance(coefficients_BMXE, ComplexPair):
        return coefficients_BMXE.to_series(steps, modes)
    if not _are_lowest(modes):  # the inverse transform fills up behind the lowest by itself
        batch, heads, _, width = coefficients_BMXE.shape
        spread = coefficients_BMXE.new_zeros(batch, heads, steps // 2 + 1, width)
        spread[:, :, modes] = coefficients_BMXE
        coefficients_BMXE = spread
    series: Tensor = torch.fft.irfft(coefficients_BMXE, n=steps, dim=2)
    return series


def _are_lowest(modes: list[int]) -> bool:
    return modes[-1] == len(modes) - 1
