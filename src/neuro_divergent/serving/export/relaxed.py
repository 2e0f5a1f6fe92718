"""A model that accepts missing values and short histories, whatever the policies of its training were."""

from __future__ import annotations

import dataclasses
from copy import copy

from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.conformal.conformal import Conformal
from neuro_divergent.forecasting.ensemble.ensemble import Ensemble
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.hierarchy.hint import HINT
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.search.auto.forecaster import AutoForecaster


def relaxed(model: ForecastModel) -> ForecastModel:
    """Return a model with the same forecasts whose ``predict`` masks missing values; the model stays as it is.

    A graph is given values and a mask, so it has to agree with ``predict`` on masked values even where the policy of
    training is another one.
    """
    other = copy(model)
    if isinstance(other, Forecaster):
        fitted = other.fitted
        other._set_fitted(dataclasses.replace(fitted, context=_masking(fitted.context)))
    elif isinstance(other, Ensemble):
        ensemble = other.fitted
        members = [dataclasses.replace(member, context=_masking(member.context)) for member in ensemble.members]
        other._set_fitted(dataclasses.replace(ensemble, members=tuple(members)))
    elif isinstance(other, (Conformal, HINT)):
        other.forecaster = relaxed(other.forecaster)
    elif isinstance(other, AutoForecaster):
        auto = other.fitted
        assert other._parts is not None
        context = _masking(auto.context)
        other._parts = dataclasses.replace(other._parts, fitted=dataclasses.replace(auto, context=context))
    return other


def _masking(context: Panel) -> Panel:
    return dataclasses.replace(context, schema=context.schema.replace(missing="mask", gaps="mask", short="pad"))
