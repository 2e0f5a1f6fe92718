"""A trained forecaster as one torch module: values in the units of the data in, forecasts in those units out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.scaling.covariates import CovariateScaling
from neuro_divergent.data.scaling.pipeline import ScalingPipeline, standardise
from neuro_divergent.forecasting.uncertainty.intervals import Intervals
from neuro_divergent.forecasting.uncertainty.paths import (
    draw_paths,
    draws_paths,
    forecast_from,
    inner_network,
    latin_hypercube,
    quantiles_of,
)
from neuro_divergent.losses.base import Loss

if TYPE_CHECKING:
    from neuro_divergent.forecasting.fitted import FittedModel

_CPU = torch.device("cpu")


class ForecastModule(nn.Module):
    """Scaling, network, loss and inverse scaling in one graph, for a fixed set of quantiles.

    ``predict`` runs this module. Sampled paths of ``simulate``, which depend on a random generator, are not part of it.

    Args:
        network: The trained network, in evaluation mode.
        loss: Defines what the outputs of the network mean.
        scaling: Scalers of the target.
        covariates: Scaling of the covariates.
        quantiles: Quantiles to forecast besides the point.
        intervals: Residuals on the validation part, which a loss without quantiles takes its quantiles from.
        device: Where the constants of the module are placed.

    Raises:
        InputError: If the loss forecasts other quantiles, or if there are no residuals to take them from.

    Examples:
        >>> import neuro_divergent as nd
        >>> import torch
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, input_size=24, training=nd.TrainingConfig(max_steps=20))
        >>> _ = forecaster.fit(nd.datasets.air_passengers())
        >>> module = nd.forecasting.ForecastModule.of(forecaster.fitted, quantiles=[0.1, 0.9])
        >>> history = torch.tensor(nd.datasets.air_passengers()["y"].tail(24).to_numpy(), dtype=torch.float32)
        >>> point, quantiles = module(history.reshape(1, 24, 1))
        >>> tuple(point.shape), tuple(quantiles.shape)
        ((1, 12, 1), (1, 12, 1, 2))
    """

    def __init__(
        self,
        network: nn.Module,
        loss: Loss,
        scaling: ScalingPipeline,
        *,
        covariates: CovariateScaling | None = None,
        quantiles: tuple[float, ...] = (),
        intervals: Intervals | None = None,
        device: torch.device = _CPU,
    ) -> None:
        super().__init__()
        self.network = network
        self.loss = loss
        self.scaling = scaling
        self.quantiles = quantiles
        self.training = network.training
        self._native = _native_quantiles(loss, quantiles)
        tensors = (covariates or CovariateScaling()).tensors(device)
        self._add_constant("past_params", tensors.past)
        self._add_constant("future_params", tensors.future)
        self._add_constant("static_params", tensors.static)
        probabilities = offsets = None
        if self._native and draws_paths(network, loss):
            spec = inner_network(network).spec
            assert not isinstance(spec, (Tensor, nn.Module))
            probabilities = latin_hypercube(self._native, spec.horizon, spec.channels).to(device)
        elif quantiles and not self._native:
            measured = require_intervals(intervals)
            stacked = torch.stack([measured.quantile_offset(quantile) for quantile in quantiles], dim=-1)
            offsets = stacked[None, :, None, :].to(device)
        self._add_constant("path_probabilities", probabilities)
        self._add_constant("residual_offsets", offsets)

    past_params: Tensor | None
    future_params: Tensor | None
    static_params: Tensor | None
    path_probabilities: Tensor | None  # paths 1 H C
    residual_offsets: Tensor | None  # 1 H 1 Q

    @classmethod
    def of(cls, fitted: FittedModel, quantiles: Sequence[float] = ()) -> ForecastModule:
        """Return the module that forecasts with a fitted model, such as ``Forecaster.fitted``."""
        return fitted.predictor.module(fitted.batcher(fitted.context), tuple(quantiles))

    def forward(
        self,
        past_y: Tensor,
        past_mask: Tensor | None = None,
        past_x: Tensor | None = None,
        future_x: Tensor | None = None,
        static_x: Tensor | None = None,
        scaler_params: Tensor | None = None,
        spread: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Forecast windows in the units of the data.

        Args:
            past_y: History, ``(batch, input_size, channel)``.
            past_mask: The same shape, 1 where a value was observed; ``None`` when every value was.
            past_x: Covariates known only in the past, ``(batch, input_size, feature)``.
            future_x: Covariates known ahead, ``(batch, input_size + horizon, feature)``.
            static_x: Covariates that do not change, ``(batch, feature)``.
            scaler_params: Parameters of the series scaler, ``(batch, 1, channel, params)``; needed if there is one.
            spread: Usual scale of windows of each series, ``(batch, 1, channel)``; for histories that tell none.

        Returns:
            Point forecast ``(batch, horizon, channel)`` and quantiles ``(batch, horizon, channel, quantile)``, or
            ``None`` when no quantiles are requested.
        """
        scaled = self.scaling.transform(past_y, past_mask, scaler_params, past_y.shape[1], spread)
        batch = Batch(
            past_y=scaled.values,
            past_mask=past_mask,
            past_x=None if past_x is None else standardise(past_x, self.past_params),
            future_x=None if future_x is None else standardise(future_x, self.future_params),
            static_x=None if static_x is None else standardise(static_x, self.static_params),
            loc=scaled.loc,
            scale=scaled.scale,
            unit_loc=scaled.unit_loc,
            unit_scale=scaled.unit_scale,
        )
        return self.forecast(batch, scaler_params)

    def forecast(self, batch: Batch, scaler_params: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Forecast a batch that is on the scale of the network already; the result is in the units of the data.

        Quantiles of a network that forecasts each step from the one before are those of paths, and its point is then
        their mean or median: given the point of the step before, a step is more certain than it is.
        """

        def restore(values: Tensor) -> Tensor:
            return self.scaling.inverse(values, batch.loc, batch.scale, scaler_params)

        if self.path_probabilities is not None:
            point, quantiles = self._from_paths(batch, self.path_probabilities)
            return restore(point), self._rounded(restore(quantiles))
        point, native = self.loss.forecast(forecast_from(self.network, batch), self._native, batch)
        if native is not None:
            return restore(point), self._rounded(restore(native))
        if self.residual_offsets is None:
            return restore(point), None
        offsets = self.residual_offsets
        if not self.scaling.window.applied and batch.scale is not None:
            offsets = offsets * batch.scale.unsqueeze(-1)
        return restore(point), restore(point.unsqueeze(-1) + offsets)

    def _add_constant(self, name: str, value: Tensor | None) -> None:
        """Store a tensor that is not saved with the weights; torch.export fails for buffers that are ``None``."""
        if value is None:
            setattr(self, name, None)
        else:
            self.register_buffer(name, value, persistent=False)

    def _from_paths(self, batch: Batch, probabilities: Tensor) -> tuple[Tensor, Tensor]:
        paths = draw_paths(self.network, self.loss, batch, probabilities)
        # Quantile losses have no setting for what the point is: it is their median.
        by_mean = getattr(self.loss, "point", "median") == "mean"
        point = paths.mean(0) if by_mean else quantiles_of(paths, (0.5,), whole=False).squeeze(-1)
        return point, quantiles_of(paths, self._native, whole=self.loss.traits.integer_valued)

    def _rounded(self, quantiles: Tensor) -> Tensor:
        """Remove the rounding errors that scaling and its inverse leave in counts."""
        return quantiles.round() if self.loss.traits.integer_valued else quantiles


def require_intervals(intervals: Intervals | None) -> Intervals:
    """Return the residuals of a model, or raise if there are none."""
    if intervals is None:
        raise InputError(
            "intervals were not measured, because no series was long enough to hold out a validation part. Train "
            "with a QuantileLoss, or set validation to a smaller fraction."
        )
    return intervals


def _native_quantiles(loss: Loss, quantiles: tuple[float, ...]) -> tuple[float, ...]:
    """Return the quantiles that the loss forecasts by itself: all of those requested, or none."""
    if loss.traits.any_level:
        return quantiles
    own = loss.quantile_levels
    if not quantiles or not own:
        return ()
    known = [next((level for level in own if abs(level - wanted) < 1e-9), None) for wanted in quantiles]
    missing = [wanted for wanted, level in zip(quantiles, known, strict=True) if level is None]
    if missing:
        raise InputError(
            f"quantile {missing[0]:g} was not trained: the loss has {', '.join(f'{level:g}' for level in own)}. "
            f"Ask for those, or train with QuantileLoss([..., {missing[0]:g}])."
        )
    return tuple(level for level in known if level is not None)
