"""Combines the forecasts of the members of an ensemble, as ``Combination`` does, on tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from neuro_divergent.core.errors import ExportError
from neuro_divergent.forecasting.ensemble.combination import Combination, Quantiles
from neuro_divergent.forecasting.predictor import Values

_DIGITS = 9  # levels that agree so far are the same
_MARGIN = 1e-6  # of weights; graphs may compare in 32 bits


class CombinationModule(nn.Module):
    """The mean or median of points and of quantiles, level by level.

    Args:
        combination: What the ensemble does.
        wanted: Quantiles to forecast.

    Raises:
        ExportError: If distributions are pooled.
    """

    weights: Tensor  # members, float64

    def __init__(self, combination: Combination, wanted: Quantiles) -> None:
        super().__init__()
        count = len(combination.losses)
        if combination.method == "pool" and wanted and count > 1:
            raise ExportError(
                "an ensemble with combine='pool' finds quantiles of the mixture by a search in the distribution of "
                "each member, which is not part of a graph. Combine with 'quantile_average' or 'mean', or export "
                "without levels and quantiles."
            )
        self.combination, self.wanted = combination, wanted
        self.levels = () if combination.is_measured or count == 1 else combination.levels(wanted)
        weights = np.full(count, 1 / count) if combination.weights is None else combination.weights
        self.register_buffer("weights", torch.from_numpy(weights / weights.sum()), persistent=False)

    def forward(self, forecasts: Sequence[Values]) -> Values:
        """Return point and quantiles of the whole; quantiles are ``None`` where they are to be measured, or not wanted.

        Args:
            forecasts: Point and quantiles of each member, for ``Combination.member_quantiles``.
        """
        if len(forecasts) == 1:
            return forecasts[0]
        combination, everyone = self.combination, range(len(forecasts))
        points = torch.stack([point for point, _ in forecasts])
        if not self.levels:
            return self._average(points, everyone), None
        table = self._table(forecasts)
        if combination.by_quantile or combination.method == "quantile_average":
            point = table[..., int(np.argmin(np.abs(np.array(self.levels) - 0.5)))]
        else:
            point = self._average(points, everyone)
        if not self.wanted:
            return point, None
        quantiles = table[..., [self.levels.index(round(quantile, _DIGITS)) for quantile in self.wanted]]
        counts = all(loss.traits.integer_valued for loss in combination.losses)
        return point, quantiles.round() if counts else quantiles

    def _table(self, forecasts: Sequence[Values]) -> Tensor:
        """Return each level, combined from the members that know it, along the last axis."""
        columns = []
        places = [iter(range(len(self.levels))) for _ in forecasts]
        for level in self.levels:
            knowing = self.combination.knowing(level)
            parts = []
            for number in knowing:
                quantiles = forecasts[number][1]
                assert quantiles is not None
                parts.append(quantiles[..., next(places[number])])
            columns.append(self._average(torch.stack(parts), knowing))
        return torch.stack(columns, -1).sort(-1).values

    def _average(self, values: Tensor, members: Sequence[int]) -> Tensor:
        """Return the mean or median of values of some members ``(members, ...)``."""
        weights = self.weights[list(members)]
        weights = weights / weights.sum()
        if self.combination.method == "median":
            return _median(values, None if self.combination.weights is None else weights)
        shape = (-1, *(1,) * (values.ndim - 1))
        return (values * weights.to(values.dtype).reshape(shape)).sum(0)


def _median(values: Tensor, weights: Tensor | None) -> Tensor:
    """Return the value with half of the weight below and half above; the middle of two where there are two."""
    count = values.shape[0]
    if weights is None:
        ordered = values.sort(0).values
        return (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    ordered, order = values.sort(0)
    below = weights[order].cumsum(0)
    ends = []
    for margin in (-_MARGIN, _MARGIN):
        place = (below < 0.5 + margin).to(torch.int64).sum(0, keepdim=True).clamp_max(count - 1)
        ends.append(ordered.gather(0, place)[0])
    return (ends[0] + ends[1]) / 2
