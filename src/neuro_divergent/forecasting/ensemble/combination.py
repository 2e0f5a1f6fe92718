"""Combines the forecasts of several models into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import torch

from neuro_divergent.core.arrays import Array, Floats
from neuro_divergent.core.errors import ConfigError, InputError, check_choice
from neuro_divergent.losses.base import Loss

Method = Literal["mean", "median", "quantile_average", "pool"]
METHODS: tuple[Method, ...] = get_args(Method)
Quantiles = tuple[float, ...]
MemberForecast = tuple[Array, Array | None]
"""A point forecast of any shape, and quantiles with one axis more, or none where none were requested."""

_TAIL = (1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3)
GRID: Quantiles = (
    *_TAIL,
    *(percent / 100 for percent in range(1, 100)),
    *(1 - tail for tail in reversed(_TAIL)),
)
"""Quantiles that stand for a whole distribution where distributions are pooled."""

_BISECTIONS = 40
_DIGITS = 9  # levels that agree so far are the same


@dataclass(frozen=True, eq=False)
class Combination:
    """Which quantiles each member forecasts, and how the forecasts are combined.

    Members may know different quantiles: a quantile is combined from those that know it, and all are then sorted, so
    that they do not cross. If all know fixed quantiles and not the same ones, as with one model per quantile, the point
    is the quantile nearest to the median.

    Attributes:
        losses: What the outputs of each member mean.
        method: ``mean`` and ``median`` of points, and of quantiles level by level; ``quantile_average`` is the mean of
            quantiles, with the median of the result as the point; ``pool`` has the quantiles of the mixture of the
            members' distributions, and the mean of points.
        weights: How much each member counts, adding up to 1; ``None`` where all count the same.

    Raises:
        ConfigError: If the members cannot be combined that way.
    """

    losses: tuple[Loss, ...]
    method: Method = "mean"
    weights: Array | None = None

    def __post_init__(self) -> None:
        """Refuse a method that the members do not allow."""
        check_choice("combine method", self.method, METHODS)
        if self.method == "pool":
            for place, loss in enumerate(self.losses, 1):
                if not loss.traits.any_level:
                    raise ConfigError(
                        f"combine: 'pool' mixes distributions, and member {place} ({loss.name}) forecasts none. Train "
                        "all with a distribution, or combine with 'mean' or 'median'."
                    )
        if self.method == "quantile_average" and not all(_knows(loss, 0.5) for loss in self.losses):
            raise ConfigError(
                "combine: 'quantile_average' takes the point from the quantiles, and not all members forecast the "
                "median. Train with QuantileLoss([..., 0.5, ...]) or a distribution, or combine with 'mean'."
            )

    @property
    def is_measured(self) -> bool:
        """Whether intervals are measured on errors of the whole, because a member forecasts points alone."""
        pointwise = any(not loss.traits.any_level and not loss.quantile_levels for loss in self.losses)
        return len(self.losses) > 1 and pointwise

    @cached_property
    def by_quantile(self) -> bool:
        """Whether members forecast fixed quantiles that differ, so that no member is a forecast by itself."""
        fixed = {loss.quantile_levels for loss in self.losses}
        return len(fixed) > 1 and all(loss.quantile_levels and not loss.traits.any_level for loss in self.losses)

    def member_quantiles(self, wanted: Quantiles) -> list[Quantiles]:
        """Return the quantiles that each member is to forecast.

        Raises:
            InputError: If no member knows a quantile that is wanted.
        """
        if len(self.losses) == 1:
            return [wanted]
        levels = () if self.is_measured else self.levels(wanted)
        return [tuple(level for level in levels if _knows(loss, level)) for loss in self.losses]

    def combine(self, wanted: Quantiles, forecasts: Sequence[MemberForecast]) -> MemberForecast:
        """Combine the members' forecasts of ``member_quantiles(wanted)``.

        Quantiles are ``None`` where none are wanted, and where they are to be measured.
        """
        if len(forecasts) == 1:
            return forecasts[0]
        points = np.stack([point for point, _ in forecasts])
        everyone = range(len(forecasts))
        if self.is_measured:
            return self._average(points, everyone), None
        levels = self.levels(wanted)
        if self.method == "pool":
            point = self._average(points, everyone)
            return point, self._pooled(forecasts, wanted) if wanted else None
        table = self._table(levels, forecasts) if levels else None
        if table is not None and (self.by_quantile or self.method == "quantile_average"):
            point = table[..., int(np.argmin(np.abs(np.array(levels) - 0.5)))]
        else:
            point = self._average(points, everyone)
        if table is None or not wanted:
            return point, None
        places = [levels.index(round(quantile, _DIGITS)) for quantile in wanted]
        return point, self._round_counts(table[..., places])

    def knowing(self, level: float) -> list[int]:
        """Return the places of the members that forecast a quantile."""
        return [place for place, loss in enumerate(self.losses) if _knows(loss, level)]

    def levels(self, wanted: Quantiles) -> Quantiles:
        """Return all quantiles that have to be known for those that are wanted, in ascending order.

        Raises:
            InputError: If no member knows one that is wanted.
        """
        unknown = [quantile for quantile in wanted if not self.knowing(quantile)]
        bound = [loss for loss in self.losses if not loss.traits.any_level]
        fixed = {round(level, _DIGITS) for loss in bound for level in loss.quantile_levels}
        if unknown:
            raise InputError(
                f"quantile {unknown[0]:g} was not trained: the members have "
                f"{', '.join(f'{level:g}' for level in sorted(fixed))}. Ask for those, or train for it."
            )
        if self.method == "pool":
            beyond = [quantile for quantile in wanted if not GRID[0] <= quantile <= GRID[-1]]
            if beyond:
                raise InputError(f"quantile {beyond[0]:g} of a pool lies too far out; ask from {GRID[0]} on.")
            return GRID if wanted else ()
        levels = {round(quantile, _DIGITS) for quantile in wanted}
        if self.method == "quantile_average":
            levels.add(0.5)
        if len({loss.quantile_levels for loss in self.losses if not loss.traits.any_level}) > 1:
            levels |= fixed  # sorting some of them would give others than sorting all
        return tuple(sorted(levels))

    def _table(self, levels: Quantiles, forecasts: Sequence[MemberForecast]) -> Array:
        """Return each level, combined from the members that know it, along the last axis."""
        columns = []
        places = [iter(range(len(levels))) for _ in forecasts]
        for level in levels:
            knowing = self.knowing(level)
            parts = []
            for number in knowing:
                quantiles = forecasts[number][1]
                assert quantiles is not None
                parts.append(quantiles[..., next(places[number])])
            columns.append(self._average(np.stack(parts), knowing))
        return np.sort(np.stack(columns, axis=-1), axis=-1)

    def _average(self, values: Array, members: Sequence[int]) -> Array:
        """Return the mean or median of values of some members ``(members, ...)``, in the type of the values."""
        weights = None if self.weights is None else self.weights[list(members)]
        combine = weighted_median if self.method == "median" else weighted_mean
        return combine(values, weights).astype(values.dtype)

    def _pooled(self, forecasts: Sequence[MemberForecast], wanted: Quantiles) -> Array:
        tables = np.stack([quantiles for _, quantiles in forecasts if quantiles is not None])
        return self._round_counts(pooled_quantiles(tables, GRID, wanted, self.weights).astype(tables.dtype))

    def _round_counts(self, quantiles: Array) -> Array:
        """Round quantiles of counts, whose averages need not be integers."""
        return np.rint(quantiles) if all(loss.traits.integer_valued for loss in self.losses) else quantiles


def weighted_mean(values: Array, weights: Array | None = None) -> Array:
    """Return the mean of ``(members, ...)`` over the members, in double precision.

    Sums of a few 32-bit numbers of similar size are exact there, so that the order of members does not matter.
    """
    exact = values.astype(np.float64)
    return exact.mean(0) if weights is None else np.tensordot(weights / weights.sum(), exact, axes=1)


def weighted_median(values: Array, weights: Array | None = None) -> Array:
    """Return the value with half of the weight below and half above; the middle of two where there are two."""
    exact = values.astype(np.float64)
    if weights is None:
        return np.median(exact, axis=0)
    order = np.argsort(exact, axis=0)
    ordered = np.take_along_axis(exact, order, axis=0)
    below = np.cumsum((weights / weights.sum())[order], axis=0)
    low, high = ((below < 0.5 + margin).sum(0, keepdims=True) for margin in (-1e-12, 1e-12))
    last = len(values) - 1
    ends = [np.take_along_axis(ordered, np.minimum(place, last), axis=0)[0] for place in (low, high)]
    middle: Array = (ends[0] + ends[1]) / 2
    return middle


def pooled_quantiles(tables: Array, levels: Quantiles, wanted: Quantiles, weights: Array | None = None) -> Array:
    """Return quantiles of a mixture of distributions.

    Each distribution is given by some of its quantiles, with straight lines between them. A quantile of the mixture
    lies between the least and the greatest of its parts', and is found by bisection.

    Args:
        tables: Quantiles of each part, ``(parts, ..., levels)``, ascending along the last axis.
        levels: Which quantiles these are.
        wanted: Quantiles to find, within those levels.
        weights: How much each part counts; unset, all the same.

    Returns:
        ``(..., wanted)``, in double precision.
    """
    parts = torch.from_numpy(np.ascontiguousarray(tables, dtype=np.float64))
    count, size = parts.shape[0], parts.shape[-1]
    knots = parts.reshape(count, -1, size)
    grid = torch.tensor(levels, dtype=torch.float64)
    targets = torch.tensor(wanted, dtype=torch.float64)
    counts = np.full(count, 1 / count) if weights is None else weights / weights.sum()
    # Where each part has the wanted quantiles: between them lie those of the mixture.
    right = torch.searchsorted(grid, targets).clamp(1, size - 1)
    portion = (targets - grid[right - 1]) / (grid[right] - grid[right - 1])
    own = knots[..., right - 1] + portion * (knots[..., right] - knots[..., right - 1])
    low, high = own.amin(0), own.amax(0)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        reached = torch.zeros_like(middle)
        for weight, part in zip(counts, knots, strict=True):
            reached += float(weight) * _cdf(part, grid, middle)
        is_below = reached < targets
        low, high = torch.where(is_below, middle, low), torch.where(is_below, high, middle)
    found: Array = high.reshape(*parts.shape[1:-1], len(wanted)).numpy()
    return found


def accuracy_weights(squared_errors: Array) -> Array:
    """Return weights in proportion to one over the mean squared error, adding up to 1.

    For errors that are independent and without bias these weights have the least expected squared error (Bates and
    Granger, 1969). They ignore the correlation of errors, which takes far more data to estimate than a
    validation part has: weights that try to are often worse than equal ones. Each series counts the same, whatever its
    size, because its errors are taken relative to those of the average member.

    Args:
        squared_errors: Mean squared error of each member on each series, ``(members, series)``.
    """
    usual = squared_errors.mean(0)
    relative = squared_errors[:, usual > 0] / usual[usual > 0]
    if not relative.size:
        return np.full(len(squared_errors), 1 / len(squared_errors))
    inverse = 1 / np.maximum(relative.mean(1), 1e-12)
    weights: Array = inverse / inverse.sum()
    return weights


def check_requested(weights: Any) -> Literal["validation"] | tuple[float, ...] | None:
    """Return requested weights, or refuse what is neither ``"validation"`` nor numbers."""
    if weights is None or (isinstance(weights, str) and weights == "validation"):
        return weights  # type: ignore[return-value]
    try:
        if isinstance(weights, str):
            raise TypeError
        return tuple(float(weight) for weight in weights)
    except (TypeError, ValueError):
        raise ConfigError(f"weights: {weights!r} must be 'validation' or a number for each member.") from None


def check_weights(weights: Any, count: int) -> Floats:
    """Return weights that add up to 1.

    Raises:
        ValueError: If they are not one number of at least 0 for each member, with a positive sum.
    """
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (count,) or not np.isfinite(values).all() or (values < 0).any() or values.sum() <= 0:
        raise ValueError(f"weights must be {count} numbers of at least 0, not all 0; got {weights!r}")
    return values if abs(values.sum() - 1) < 1e-12 else values / values.sum()


def _cdf(knots: torch.Tensor, levels: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Return the distribution function at values ``(rows, values)``, given quantiles ``(rows, levels)``."""
    right = torch.searchsorted(knots, values, right=True).clamp(1, knots.shape[1] - 1)
    begins, ends = knots.gather(1, right - 1), knots.gather(1, right)
    width = ends - begins
    portion = torch.where(width > 0, (values - begins) / width, (values >= ends).to(values.dtype)).clamp(0, 1)
    return levels[right - 1] + portion * (levels[right] - levels[right - 1])


def _knows(loss: Loss, quantile: float) -> bool:
    return loss.traits.any_level or any(abs(level - quantile) < 10.0**-_DIGITS for level in loss.quantile_levels)
