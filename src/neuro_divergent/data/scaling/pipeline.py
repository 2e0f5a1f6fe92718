"""Both scalers of a task as functions of tensors: to the scale of the network and back to the units of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from neuro_divergent.core.exporting import is_exporting
from neuro_divergent.data.scaling.base import ROUNDING, SMALLEST, SeriesScaler, WindowScaler, sum_over_time

if TYPE_CHECKING:
    from torch import Tensor

MIN_OBSERVED = 3
SMALLEST_PART = 0.1


class Scaled(NamedTuple):
    """Windows on the scale of the network, and what is needed to invert the scaling.

    ``loc`` and ``scale`` are the statistics of the window scaler. ``unit_loc`` and ``unit_scale`` lead to the units of
    the data where both scalers together are affine: a value there is ``unit_loc + unit_scale * value``. They are
    ``None`` where nothing was scaled or the series scaler is not affine.
    """

    values: Tensor  # B T C
    loc: Tensor  # B 1 C
    scale: Tensor  # B 1 C
    unit_loc: Tensor | None  # B 1 C
    unit_scale: Tensor | None  # B 1 C


@dataclass(frozen=True)
class ScalingPipeline:
    """Scales windows with a series scaler and then with a window scaler; pure functions of tensors.

    The parameters of the series scaler are an input, ``(batch, 1, channel, params)``, and ``None`` without one.

    Attributes:
        window: Scaler of each window.
        series: Scaler of each series, applied first, or ``None``.
    """

    window: WindowScaler
    series: SeriesScaler | None = None

    def transform(
        self,
        values: Tensor,
        mask: Tensor | None,
        scaler_params: Tensor | None,
        input_size: int,
        spread: Tensor | None = None,
    ) -> Scaled:
        """Scale windows ``(batch, time, channel)`` in the units of the data by what was observed in their history.

        The window scaler does not read the steps after ``input_size``, the target where it is known. ``spread``,
        ``(batch, 1, channel)``, is the usual scale of windows of the same series: see ``bounded_scale``.
        """
        values = self.apply_series(values, mask, scaler_params)
        past_mask = None if mask is None else mask[:, :input_size]
        loc, scale = self.window.statistics(values[:, :input_size], past_mask)
        if self.window.has_scale:
            scale = bounded_scale(scale, loc, spread, past_mask)
        if self.window.applied:
            values = (values - loc) / scale
        if mask is not None:
            # A product is much faster in runtimes of graphs, and a selection in torch.
            values = values * mask if is_exporting() else values.where(mask.bool(), 0.0)
        return Scaled(values, loc, scale, *self._units(loc, scale, scaler_params))

    def history_scale(self, values: Tensor, mask: Tensor | None, scaler_params: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return scale and level of histories ``(batch, time, channel)``, ``(batch, 1, channel)`` each.

        The scale is 0 where a history does not tell one. The level is the mean absolute value.
        """
        values = self.apply_series(values, mask, scaler_params)
        loc, scale = self.window.statistics(values, mask)
        seen = values.shape[1] if mask is None else mask.sum(1, keepdim=True).clamp_min(1)
        return scale.masked_fill(tells_no_scale(scale, loc, mask), 0.0), values.abs().sum(1, keepdim=True) / seen

    def apply_series(self, values: Tensor, mask: Tensor | None, scaler_params: Tensor | None) -> Tensor:
        """Apply the series scaler, if there is one, to values in the units of the data."""
        if self.series is None:
            return values
        assert scaler_params is not None, "the series scaler has parameters"
        values = self.series.transform(values, scaler_params)
        # Missing values are stored as 0, for which some transformations are infinite.
        return values if mask is None else values.where(mask.bool(), 0.0)

    def inverse(self, values: Tensor, loc: Tensor | None, scale: Tensor | None, scaler_params: Tensor | None) -> Tensor:
        """Bring ``(batch, horizon, channel, ...)`` from the scale of the network to the units of the data.

        ``loc`` and ``scale`` are ``(batch, 1, channel)``; ``None`` leaves the window scaler out, and ``None`` for the
        parameters the series scaler.
        """
        extra = (None,) * (values.ndim - 3)
        if self.window.applied and scale is not None and loc is not None:
            values = values * scale[(..., *extra)] + loc[(..., *extra)]
        if self.series is None or scaler_params is None:
            return values
        return self.series.inverse(values, scaler_params[(slice(None), slice(None), slice(None), *extra)])

    def rescale(self, values: Tensor, loc: Tensor | None, scale: Tensor | None, scaler_params: Tensor | None) -> Tensor:
        """Bring ``(batch, horizon, channel)`` in the units of the data to the scale of windows that are scaled."""
        if self.series is not None and scaler_params is not None:
            values = self.series.transform(values, scaler_params)
        if self.window.applied and scale is not None and loc is not None:
            values = (values - loc) / scale
        return values

    def _units(self, loc: Tensor, scale: Tensor, scaler_params: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        """Return shift and factor from the scale of the network to the units of the data, where both are affine."""
        if self.series is None or scaler_params is None:
            return (loc, scale) if self.window.applied else (None, None)
        if not self.series.affine:
            return None, None
        shift, spread = scaler_params.unbind(-1)
        return (shift + spread * loc, spread * scale) if self.window.applied else (shift, spread)


def bounded_scale(scale: Tensor, loc: Tensor, spread: Tensor | None, mask: Tensor | None) -> Tensor:
    """Return what windows are divided by.

    A history that tells no scale gets ``spread``, the usual scale of windows of its series. All others get at least
    ``SMALLEST_PART`` of it. Without a usual scale a constant history gets 1.
    """
    if spread is None:
        return scale.masked_fill(tells_no_scale(scale, loc, None), 1.0)
    return spread.where(tells_no_scale(scale, loc, mask), scale.maximum(SMALLEST_PART * spread))


def tells_no_scale(scale: Tensor, loc: Tensor, mask: Tensor | None) -> Tensor:
    """Return whether each history is constant up to rounding, or has fewer than ``MIN_OBSERVED`` observed values."""
    is_constant = scale <= SMALLEST + ROUNDING * loc.abs()
    return is_constant if mask is None else is_constant | (sum_over_time(mask) < MIN_OBSERVED)


def standardise(values: Tensor, params: Tensor | None) -> Tensor:
    """Subtract the first row of ``params`` from each column of covariates and divide by the second."""
    return values if params is None else (values - params[0]) / params[1]
