"""Multiwavelets: series as sums of details, from fine to coarse.

Letters: B batch, M head, L time, K polynomial (the width of a head), S time rounded up to a power of two.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from neuro_divergent.layers.spectral import FourierMixing, Score, attend_low_modes, select_modes


def legendre_filters(polynomials: int) -> Tensor:
    """Return the orthogonal matrix that turns two neighbours into a detail and a coarser value.

    Alpert, "A Class of Bases in L2 for the Sparse Representation of Integral Operators", 1993: over an interval and its
    halves a function is described by its coefficients on K Legendre polynomials, and the wavelets span what is missing.
    Here they are orthogonalised from polynomials that change their sign in the middle, which makes them unique. The
    matrix is ``(2K, 2K)``: a row for each coefficient of the first and of the second half, K columns for the detail and
    K for the coarser value.
    """
    nodes, weights = np.polynomial.legendre.leggauss(polynomials)
    size = np.sqrt(2 * np.arange(polynomials) + 1)

    def basis(places: np.ndarray) -> np.ndarray:
        return np.polynomial.legendre.legvander(places, polynomials - 1) * size

    halves = [basis(nodes).T @ (weights[:, None] / 2 * basis((nodes + side) / 2)) for side in (-1, 1)]
    coarse = np.concatenate(halves) / np.sqrt(2)
    identity = np.eye(polynomials)
    turning = np.concatenate([identity, -identity])
    detail, upper = np.linalg.qr(turning - coarse @ (coarse.T @ turning))
    detail = detail * np.sign(np.diag(upper))
    return torch.from_numpy(np.concatenate([detail, coarse], 1)).to(torch.get_default_dtype())


class Multiwavelet(nn.Module):
    """One step of the multiwavelet transform, with K coefficients per value, and back."""

    filters: Tensor

    def __init__(self, polynomials: int) -> None:
        super().__init__()
        self.register_buffer("filters", legendre_filters(polynomials), persistent=False)

    def forward(self, values_BMSK: Tensor) -> tuple[Tensor, Tensor]:
        """Return the details and the coarser values, each of half the length."""
        batch, heads, steps, width = values_BMSK.shape
        pairs = values_BMSK.reshape(batch, heads, steps // 2, 2 * width)
        detail, coarse = (pairs @ self.filters).chunk(2, -1)
        return detail, coarse

    def merge(self, detail: Tensor, coarse: Tensor) -> Tensor:
        """Return the values that ``forward`` took apart."""
        batch, heads, steps, width = coarse.shape
        pairs = torch.cat([detail, coarse], -1) @ self.filters.T
        return pairs.view(batch, heads, 2 * steps, width)


class WaveletMixing(nn.Module):
    """Mixes details and coarse values of every level by at most ``modes`` frequencies (FEDformer's FEB-w).

    Zhou et al., "FEDformer", ICML 2022, after Gupta et al., "Multiwavelet-based Operator Learning for Differential
    Equations", NeurIPS 2021. The three mixings are shared by all levels.
    """

    def __init__(self, num_heads: int, polynomials: int, steps: int, modes: int) -> None:
        super().__init__()
        self.wavelet = Multiwavelet(polynomials)
        used = select_modes(2 * (_rounded(steps) // 4) + 2, modes)
        self.detail, self.coarse, self.carried = (FourierMixing(1, num_heads * polynomials, used) for _ in range(3))
        self.coarsest = nn.Linear(polynomials, polynomials)

    def forward(self, series_BMLK: Tensor) -> Tensor:
        steps = series_BMLK.shape[2]
        coarse, mixed = _lengthen(series_BMLK), []
        while coarse.shape[2] > 1:
            detail, coarse = self.wavelet(coarse)
            detail_in, coarse_in = _joined(detail), _joined(coarse)
            from_detail = _parted(self.carried(detail_in), detail)
            mixed.append((_parted(self.detail(detail_in) + self.coarse(coarse_in), detail), from_detail))
        coarse = self.coarsest(coarse)
        for detail, more in reversed(mixed):
            coarse = self.wavelet.merge(detail, coarse + more)
        return coarse[:, :, :steps]


class WaveletAttention(nn.Module):
    """Attention between at most ``modes`` frequencies of details and coarse values at every level (FEDformer's FEA-w).

    Keys and values are cut, or filled up with zeros, to as many as there are queries.
    """

    def __init__(self, polynomials: int, modes: int, score: Score) -> None:
        super().__init__()
        self.wavelet = Multiwavelet(polynomials)
        self._modes = modes
        self._score: Score = score

    def forward(self, query_BMQK: Tensor, key_BMLK: Tensor, value_BMLK: Tensor) -> Tensor:
        steps = query_BMQK.shape[2]
        missing = (0, 0, 0, steps - key_BMLK.shape[2])
        parts = [query_BMQK, functional.pad(key_BMLK, missing), functional.pad(value_BMLK, missing)]
        # The three go through the wavelets side by side.
        coarse, mixed = _lengthen(torch.stack(parts).flatten(0, 1)), []
        while coarse.shape[2] > 1:
            detail, coarse = self.wavelet(coarse)
            from_detail = self._attend(detail)
            mixed.append((from_detail + self._attend(coarse), from_detail))
        coarse = self._attend(coarse)
        for detail, more in reversed(mixed):
            coarse = self.wavelet.merge(detail, coarse + more)
        return coarse[:, :, :steps]

    def _attend(self, side_by_side: Tensor) -> Tensor:
        # Chunks would be traced with the size of one batch.
        query, key, value = side_by_side.view(3, -1, *side_by_side.shape[1:])
        return attend_low_modes(query, key, value, self._modes, self._score)


def _rounded(steps: int) -> int:
    """Return the next power of two."""
    return 1 << (steps - 1).bit_length()


def _lengthen(series_BMLK: Tensor) -> Tensor:
    """Go on with the first steps up to a power of two."""
    steps = series_BMLK.shape[2]
    more = _rounded(steps) - steps
    return torch.cat([series_BMLK, series_BMLK[:, :, :more]], 2) if more else series_BMLK


def _joined(values_BMSK: Tensor) -> Tensor:
    """Put all heads into one, ``(batch, 1, time, head * width)``."""
    return values_BMSK.transpose(1, 2).flatten(2)[:, None]


def _parted(values: Tensor, like_BMSK: Tensor) -> Tensor:
    """Undo ``_joined``."""
    batch, heads, steps, width = like_BMSK.shape
    return values.view(batch, steps, heads, width).transpose(1, 2)
