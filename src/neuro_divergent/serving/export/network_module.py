"""One trained network from raw windows to forecasts, with the parameters of its series inside."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import ExportError
from neuro_divergent.data.scaling.pipeline import MIN_OBSERVED, ScalingPipeline
from neuro_divergent.forecasting.fitted import FittedModel
from neuro_divergent.forecasting.forecast_module import ForecastModule
from neuro_divergent.forecasting.predictor import Values
from neuro_divergent.serving.export.inputs import GraphInputs
from neuro_divergent.serving.export.window_module import WindowModule


class NetworkModule(WindowModule):
    """A ``ForecastModule`` with what ``predict`` looks up for each series: scaler parameters and usual scales.

    Both are tables that the input ``series`` indexes; for joint models they are constants. The usual scale of a series
    that was not in training (``series`` is -1) is that of its history, as in ``Spreads.of_others``.

    Args:
        fitted: The fitted network.
        quantiles: Quantiles to forecast.

    Raises:
        ExportError: If the parameters of a series scaler are not known, or the history is too short.
        InputError: If the model does not forecast these quantiles.
    """

    params_table: Tensor | None  # series params
    spread_table: Tensor | None  # series

    def __init__(self, fitted: FittedModel, quantiles: tuple[float, ...] = ()) -> None:
        super().__init__()
        network = fitted.predictor.network
        if fitted.device.type != "cpu":
            network = copy.deepcopy(network).cpu()
        task = fitted.task
        if task.scaler.has_scale and task.history < MIN_OBSERVED:
            raise ExportError(
                f"a history of {task.history} steps tells no scale if values may be missing, and a graph must allow "
                f"for that. Train with input_size of at least {MIN_OBSERVED}, or with scaler='identity'."
            )
        self.module = ForecastModule(
            network,
            task.loss,
            ScalingPipeline(task.scaler, task.series_scaler),
            covariates=fitted.covariates,
            quantiles=quantiles,
            intervals=fitted.predictor.intervals,
        )
        self.input_size, self.joint, self.channels = task.history, bool(task.joint), fitted.spec.channels
        self.usual = None if fitted.spreads is None else (fitted.spreads.relative, fitted.spreads.absolute)
        params = series_params(fitted)
        self._add_table("params_table", params if params is not None and params.shape[1] else None)
        self._add_table("spread_table", None if fitted.spreads is None else fitted.spreads.series)
        self.requires_known = fitted.scaler_params is not None
        self.takes_series = not self.joint and (self.spread_table is not None or self.requires_known)
        self.integer_valued = task.loss.traits.integer_valued

    def forward(self, inputs: GraphInputs) -> Values:
        params = self.params_of(inputs)
        point, quantiles = self.module(*inputs[:5], params, self._spread_of(inputs, params))
        return point, quantiles

    def around(self, inputs: GraphInputs, point: Tensor, offsets: Tensor) -> Tensor:
        """Return points ``(batch, horizon, channel)`` moved by offsets on the scale of this network.

        Args:
            inputs: The windows.
            point: In the units of the data.
            offsets: ``(1, horizon, 1, quantile)``.
        """
        params, scaling = self.params_of(inputs), self.module.scaling
        spread = self._spread_of(inputs, params)
        scaled = scaling.transform(inputs.past_y, inputs.past_mask, params, self.input_size, spread)
        if not scaling.window.applied:
            offsets = offsets * scaled.scale.unsqueeze(-1)
        moved = scaling.rescale(point, scaled.loc, scaled.scale, params).unsqueeze(-1) + offsets
        return scaling.inverse(moved, scaled.loc, scaled.scale, params)

    def params_of(self, inputs: GraphInputs) -> Tensor | None:
        """Return the parameters of the series scaler, ``(batch, 1, channel, params)``; ``None`` without one."""
        if self.module.scaling.series is None:
            return None
        if self.params_table is None:  # it has none
            return inputs.past_y.new_zeros(1, 1, 1, 0)
        if self.joint:
            return self.params_table[None, None]
        assert inputs.series is not None
        return self.params_table[inputs.series.clamp_min(0)][:, None, None]

    def _spread_of(self, inputs: GraphInputs, params: Tensor | None) -> Tensor | None:
        """Return the usual scale of windows, ``(batch, 1, channel)``; ``None`` where windows are not scaled."""
        if self.usual is None:
            return None
        table = self.spread_table
        if table is None:
            return self._measured(inputs, params, *self.usual)
        if self.joint:
            return table[None, None]
        assert inputs.series is not None
        series = inputs.series[:, None, None]
        known = table[series.clamp_min(0)]
        return known if self.requires_known else known.where(series >= 0, self._measured(inputs, params, *self.usual))

    def _measured(self, inputs: GraphInputs, params: Tensor | None, relative: float, absolute: float) -> Tensor:
        """Return the scale of each history, or what is usual at its level where it tells none."""
        scale, level = self.module.scaling.history_scale(inputs.past_y, inputs.past_mask, params)
        usual = torch.where(level > 0, relative * level, absolute)
        return torch.where(scale > 0, scale, usual)

    def _add_table(self, name: str, values: Array | None) -> None:
        if values is None:
            setattr(self, name, None)
        else:
            tensor = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
            self.register_buffer(name, tensor, persistent=False)


def series_params(fitted: FittedModel) -> Array | None:
    """Return the parameters of the series scaler, ``(series, params)``; ``None`` where it has none.

    Raises:
        ExportError: If they are not known, in a model that was saved without context.
    """
    scaler = fitted.task.series_scaler
    if scaler is None or fitted.scaler_params is not None:
        return fitted.scaler_params
    if scaler.fit(np.ones(1)).size:
        raise ExportError(
            f"this model was saved without context, so it does not hold the parameters of its series scaler "
            f"({scaler.name}): predict fits them to all rows of the data it is given, and a graph reads one window. "
            "Export the model with context, or train it without series_scaler."
        )
    return None
