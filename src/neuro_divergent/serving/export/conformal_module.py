"""Calibrated intervals around the forecasts of another module, with fixed widths."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from neuro_divergent.core.arrays import Floats
from neuro_divergent.data.scaling.base import SMALLEST
from neuro_divergent.evaluation.conformal.bounds import POINT, Pair, nearest_pair, quantiles_of
from neuro_divergent.forecasting.predictor import Values
from neuro_divergent.serving.export.inputs import GraphInputs
from neuro_divergent.serving.export.window_module import WindowModule

_ROUNDING = 1e-6  # as in ``bounds.widen``


class ConformalModule(WindowModule):
    """Moves bounds outwards by widths that calibration found, as ``Conformal.predict`` does.

    Bounds are computed in 64 bits, as there.

    Args:
        module: Forecasts the point, and the quantiles of ``pairs``.
        pairs: Quantiles of the uncalibrated bounds; those of the point for intervals around it.
        quantiles: Quantiles to forecast: bounds of central intervals, or 0.5, the point.
        levels: Levels of their intervals in percent, ascending.
        widths: ``(series, levels, sides, horizon)``: of each series of a joint model; else of all, or of each series of
            training and, last, of all others.
        spread_rows: Rows at the end of the history whose standard deviation is the unit of the widths; 0 for none.
        whole: Whether bounds are integers.
    """

    widths: Tensor  # series H levels sides

    def __init__(
        self,
        module: WindowModule,
        *,
        pairs: tuple[Pair, ...],
        quantiles: tuple[float, ...],
        levels: Sequence[float],
        widths: Floats,
        spread_rows: int,
        whole: bool = False,
    ) -> None:
        super().__init__()
        self.module, self.pairs, self.levels = module, pairs, tuple(levels)
        self.spread_rows, self.whole, self.integer_valued = spread_rows, whole, whole
        self.input_size, self.channels = max(module.input_size, spread_rows), module.channels
        self.joint, self.requires_known = module.joint, module.requires_known
        self.takes_series = module.takes_series or (not module.joint and len(widths) > 1)
        self.own = quantiles_of(pairs)
        self.places = [_place(quantile, self.levels) for quantile in quantiles]
        self.register_buffer("widths", torch.from_numpy(widths).permute(0, 3, 1, 2).contiguous(), persistent=False)

    def forward(self, inputs: GraphInputs) -> Values:
        point, own = self.module(inputs.last(self.module.input_size))
        if not self.places:
            return point, None
        bounds = self._bounds(point.double(), None if own is None else own.double(), inputs)
        chosen = [point.double() if place is None else bounds[place[0]][place[1]] for place in self.places]
        return point, torch.stack(chosen, -1).to(point.dtype)

    def _bounds(self, point: Tensor, own: Tensor | None, inputs: GraphInputs) -> list[tuple[Tensor, Tensor]]:
        """Return both bounds of each level; an interval contains all narrower ones."""
        widths, spread = self._widths_of(inputs), self._spread_of(inputs)
        result: list[tuple[Tensor, Tensor]] = []
        inner: tuple[Tensor, Tensor] | None = None
        for place, level in enumerate(self.levels):
            below, above = self._base(point, own, level)
            lower = below - spread * widths[..., place, 0]
            upper = above + spread * widths[..., place, -1]
            middle = (lower + upper) / 2
            lower, upper = torch.minimum(lower, middle), torch.maximum(upper, middle)
            if inner is not None:
                lower, upper = torch.minimum(lower, inner[0]), torch.maximum(upper, inner[1])
            inner = lower, upper
            result.append(_to_integers(lower, upper) if self.whole else inner)
        return result

    def _base(self, point: Tensor, own: Tensor | None, level: float) -> tuple[Tensor, Tensor]:
        if self.pairs == POINT:
            return point, point
        assert own is not None
        low, high = self.pairs[nearest_pair(self.pairs, level)]
        return own[..., self.own.index(low)], own[..., self.own.index(high)]

    def _widths_of(self, inputs: GraphInputs) -> Tensor:
        """Return the widths, ``(batch, horizon, channel, levels, sides)`` or what broadcasts to it."""
        if self.joint:
            return self.widths.transpose(0, 1)[None]  # one or all of the channels
        if self.widths.shape[0] == 1:
            return self.widths.unsqueeze(2)
        assert inputs.series is not None
        others = self.widths.shape[0] - 1
        place = torch.where(inputs.series < 0, others, inputs.series)
        return self.widths[place].unsqueeze(2)

    def _spread_of(self, inputs: GraphInputs) -> Tensor:
        """Return the standard deviation of the history, ``(batch, 1, channel)``; 1 for a constant one."""
        if not self.spread_rows:
            return inputs.past_y.new_ones(1, 1, 1, dtype=torch.float64)
        seen = inputs.past_mask[:, -self.spread_rows :].double()
        values = inputs.past_y[:, -self.spread_rows :].double() * seen
        count = seen.sum(1, keepdim=True).clamp_min(1)
        mean = values.sum(1, keepdim=True) / count
        spread = (((values - mean) * seen).square().sum(1, keepdim=True) / count).sqrt()
        return torch.where(spread > SMALLEST * mean.abs(), spread, 1.0)


def _place(quantile: float, levels: Sequence[float]) -> tuple[int, int] | None:
    """Return the place of the level and side whose bound is a quantile; ``None`` for the point."""
    level = round(abs(200 * quantile - 100), 9)
    return None if level == 0 else (levels.index(level), int(quantile > 0.5))


def _to_integers(lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    """Return the outermost integers of an interval; if it holds none, the one nearest to its middle."""
    first, last = (lower - _ROUNDING).ceil(), (upper + _ROUNDING).floor()
    middle = ((lower + upper) / 2).round()
    empty = first > last
    return torch.where(empty, middle, first), torch.where(empty, middle, last)
