"""Distribution and effective rank of the weights of a network."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from neuro_divergent.core.storage.strict_json import finite_or_none

_BINS = 40
_LARGEST_SIDE = 2048
_MOST_WORK = 2e10
"""Multiplications for the ranks of one network, a few seconds; later matrices have no rank."""


def describe_weights(module: nn.Module) -> list[dict[str, Any]]:
    """Describe each parameter of a network.

    Returns:
        For each, ``layer`` (its name), ``shape``, ``mean``, ``std``, ``norm``, ``low``, ``high``, ``zero_share``,
        ``effective_rank``, ``rank_share`` (of the rank the matrix could have), ``edges`` and ``counts`` of a histogram,
        and ``trained``, whether it requires gradients. Numbers that are not finite are left out. Ranks are ``None`` for
        vectors, for matrices with more than 2,048 rows and columns, and beyond a limit of computation in networks of
        many millions of parameters.
    """
    work, found = 0.0, []
    for name, parameter in module.named_parameters():
        row, effort = _describe(parameter.detach(), _MOST_WORK - work)
        work += effort
        found.append({"layer": name, **row, "trained": parameter.requires_grad})
    return found


def effective_rank(matrix: Tensor) -> float | None:
    """Return the exponential of the entropy of the singular values, normalised to sum to 1.

    Roy & Vetterli, "The effective rank: a measure of effective dimensionality", EUSIPCO 2007. It is 1 where all rows
    are multiples of one, and the number of rows or columns, whichever is less, where all singular values are equal.
    ``None`` for a matrix of zeros or of numbers that are not finite.
    """
    try:
        values = torch.linalg.svdvals(matrix)
    except RuntimeError:  # numbers that are not finite have no singular values
        return None
    total = float(values.sum())
    if not 0 < total < math.inf:
        return None
    return float(torch.special.entr(values / total).sum().exp())


def _describe(weight: Tensor, work: float) -> tuple[dict[str, Any], float]:
    """Return the statistics of a parameter and the multiplications that its rank took, at most ``work``."""
    values = weight if weight.dtype == torch.float64 else weight.float()
    row: dict[str, Any] = {"shape": list(weight.shape), **_distribution(values.flatten())}
    row |= {"effective_rank": None, "rank_share": None}
    if weight.ndim < 2 or not weight.numel():
        return row, 0.0
    matrix = values.flatten(1)
    less, more = sorted(matrix.shape)
    effort = float(less) ** 2 * more
    if less > _LARGEST_SIDE or effort > work:
        return row, 0.0
    rank = effective_rank(matrix)
    return row | {"effective_rank": rank, "rank_share": None if rank is None else rank / less}, effort


def _distribution(values: Tensor) -> dict[str, Any]:
    low, high = _ends(values)
    if not math.isfinite(low) or not math.isfinite(high):
        values = values[values.isfinite()]
        low, high = _ends(values)
    if not values.numel():
        empty = dict.fromkeys(("mean", "std", "norm", "low", "high", "zero_share"))
        return {**empty, "edges": [], "counts": []}
    mean = values.mean()
    numbers = {
        "mean": float(mean),
        "std": float((values - mean).norm()) / math.sqrt(values.numel()),
        "norm": float(values.norm()),
        "low": low,
        "high": high,
        "zero_share": 1 - int(values.count_nonzero()) / values.numel(),
    }
    # The histogram of equal values needs a positive width.
    begin, end = (low, high) if high > low else (low - 0.5, high + 0.5)
    places = ((values - begin) * (_BINS / (end - begin))).long().clamp_(0, _BINS - 1)
    return {
        **finite_or_none(numbers),
        "edges": [begin + place * (end - begin) / _BINS for place in range(_BINS + 1)],
        "counts": places.bincount(minlength=_BINS).tolist(),
    }


def _ends(values: Tensor) -> tuple[float, float]:
    if not values.numel():
        return math.inf, -math.inf
    low, high = values.aminmax()
    return float(low), float(high)
