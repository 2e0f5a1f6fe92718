"""Forecasts of an ensemble after the end of each series, as a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array
from neuro_divergent.core.errors import InputError
from neuro_divergent.data.io.source import Backend, to_native
from neuro_divergent.forecasting.ensemble.combination import MemberForecast, Quantiles
from neuro_divergent.forecasting.ensemble.fitted import FittedEnsemble
from neuro_divergent.forecasting.prediction_context import PredictionContext, forecast_columns, read_history
from neuro_divergent.forecasting.uncertainty.requested import RequestedQuantiles


@dataclass(frozen=True, eq=False)
class EnsemblePrediction:
    """Everything about a forecast of all members that does not depend on the requested levels.

    Attributes:
        fitted: The fitted ensemble.
        members: The prepared forecast of each member.
        backend: Kind of table to return.
    """

    fitted: FittedEnsemble
    members: tuple[PredictionContext, ...]
    backend: Backend

    @classmethod
    def of(cls, fitted: FittedEnsemble, data: Any = None, *, future: Any = None, horizon: int | None = None) -> Self:
        """Prepare a forecast after the end of each series, from new data if there is any."""
        members, backend = fitted.members, fitted.backend
        if data is not None:
            panel, backend = read_history(data, fitted.context, fitted.task)
            members = tuple(member.with_context(panel) for member in members)
        made = (PredictionContext.of(member, future=future, horizon=horizon) for member in members)
        return cls(fitted, tuple(dataclasses.replace(member, backend="polars") for member in made), backend)

    def table(self, levels: Sequence[float] = (), quantiles: Sequence[float] = ()) -> Any:
        """Run the networks and lay the result out as a table."""
        requested = RequestedQuantiles(levels, quantiles)
        wanted = requested.all
        first, trained, combination = self.members[0], self.fitted.task.horizon, self.fitted.combination
        of_members = combination.member_quantiles(wanted)
        if first.steps > trained and (wanted or any(of_members)):
            cure = "leave out levels and quantiles" if wanted else "train members that each forecast a point"
            raise InputError(
                f"quantiles reach {trained} steps, the horizon of training; {first.steps} were requested. Train with "
                f"horizon={first.steps}, or {cure}."
            )
        forecasts = [_member_forecast(member, own) for member, own in zip(self.members, of_members, strict=True)]
        point, bounds = combination.combine(wanted, forecasts)
        if wanted and bounds is None:
            bounds = self._around(point, wanted)
        return to_native(forecast_columns(first.index, point, requested, bounds), self.backend)

    def _around(self, point: Array, wanted: Quantiles) -> Array:
        lead, parts, begin = self.members[self.fitted.lead_place], [], 0
        for batch in lead.batches:
            end = begin + batch.past_y.shape[0] * batch.past_y.shape[2]
            parts.append(self.fitted.around(lead.batcher, batch, point[begin:end], wanted))
            begin = end
        return np.concatenate(parts)


def _member_forecast(context: PredictionContext, quantiles: Quantiles) -> MemberForecast:
    """Return what a member forecasts after the end of each series, ``(series, steps)``."""
    table = context.table((), quantiles)
    values = table.select(pl.exclude(*context.index)).to_numpy().reshape(-1, context.steps, 1 + len(quantiles))
    return values[..., 0], values[..., 1:] if quantiles else None
