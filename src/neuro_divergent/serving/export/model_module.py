"""The module of each kind of model, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.errors import ExportError, InputError
from neuro_divergent.evaluation.conformal.bounds import POINT, quantiles_of
from neuro_divergent.evaluation.conformal.conformal import Conformal
from neuro_divergent.evaluation.conformal.request import RequestedLevels
from neuro_divergent.forecasting.ensemble.ensemble import Ensemble
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.hierarchy.hint import HINT
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.forecasting.statistical.statistical import Statistical
from neuro_divergent.forecasting.uncertainty.requested import RequestedQuantiles, interval_quantiles
from neuro_divergent.losses.base import Loss
from neuro_divergent.search.auto.forecaster import AutoForecaster
from neuro_divergent.serving.export.conformal_module import ConformalModule
from neuro_divergent.serving.export.ensemble_module import EnsembleModule
from neuro_divergent.serving.export.hierarchy_module import HierarchyModule
from neuro_divergent.serving.export.network_module import NetworkModule
from neuro_divergent.serving.export.window_module import WindowModule

Quantiles = tuple[float, ...]
USUAL_LEVELS = (80.0, 90.0, 95.0)
_DIGITS = 9  # quantiles that agree so far are the same


def module_for(model: ForecastModel, quantiles: Quantiles = ()) -> WindowModule:
    """Return a model as a module of raw windows.

    Raises:
        ExportError: If there is no such module, with the reason.
        InputError: If the model does not forecast these quantiles.
    """
    if isinstance(model, Forecaster):
        return NetworkModule(model.fitted, quantiles)
    if isinstance(model, Ensemble):
        return EnsembleModule(model.fitted, quantiles)
    if isinstance(model, Conformal):
        return _calibrated(model, quantiles)
    if isinstance(model, HINT):
        return _hierarchical(model, quantiles)
    if isinstance(model, AutoForecaster):
        return _automatic(model, quantiles)
    if isinstance(model, Statistical):
        raise ExportError(
            f"{model.architecture.name} is estimated again from the history of each series, so it has no weights that "
            "a graph could hold. Export a model that was trained, or forecast with nd predict."
        )
    raise ExportError(f"{type(model).__name__} cannot be exported. Export the model inside it.")


def refuse_architecture(model: ForecastModel) -> None:
    """Refuse a model with a network that declares why it cannot be a graph.

    Raises:
        ExportError: With the reason.
    """
    if isinstance(model, Ensemble):
        for member in model.members:
            refuse_architecture(member)
    elif isinstance(model, (Conformal, HINT)):
        refuse_architecture(model.forecaster)
    elif isinstance(model, Forecaster) and (reason := model.architecture.traits.not_exported):
        raise ExportError(
            f"{model.architecture.name} cannot be exported: {reason}. nd serve and nd predict use it with torch."
        )


def requested_quantiles(
    model: ForecastModel, levels: Sequence[float] | None, quantiles: Sequence[float] | None
) -> Quantiles:
    """Return the quantiles to export, ascending: those requested, or else what the model forecasts by itself.

    That is the quantiles of a loss that has fixed ones, none of a loss whose quantiles cannot be exported, else the
    ends of the intervals of 80, 90 and 95 percent, as far as they can be claimed.

    Raises:
        InputError: If a level or quantile is out of range.
    """
    if levels is None and quantiles is None:
        return _ascending(_usual(model))
    return _ascending(RequestedQuantiles(levels or (), quantiles or ()).all)


def _ascending(quantiles: Sequence[float]) -> Quantiles:
    return tuple(sorted({round(quantile, _DIGITS) for quantile in quantiles}))


def _usual(model: ForecastModel) -> Sequence[float]:
    if isinstance(model, (Forecaster, Ensemble)) and _lacks_quantiles(model):
        return ()
    if isinstance(model, Forecaster):
        intervals = model.fitted.predictor.intervals
        return _of_losses([model.task.loss]) or _claimed(lambda level: intervals and intervals.half_widths(level / 100))
    if isinstance(model, Ensemble):
        combination = model.fitted.combination
        if combination.is_measured:
            fitted = model.fitted
            return _claimed(lambda level: fitted.intervals and fitted.quantile_offsets(interval_quantiles(level)))
        return _of_losses(combination.losses) or _usual(model.members[0])
    if isinstance(model, Conformal):
        return _claimed(lambda level: model.widths([level], [None]))
    if isinstance(model, HINT):
        return _claimed(lambda level: model.linear_map(interval_quantiles(level)))
    return _claimed(lambda level: True)


def _lacks_quantiles(model: Forecaster | Ensemble) -> bool:
    """Whether a loss declares why its quantiles cannot be part of a graph."""
    losses = [model.task.loss] if isinstance(model, Forecaster) else model.fitted.combination.losses
    return any(loss.traits.quantiles_not_exported for loss in losses)


def _of_losses(losses: Sequence[Loss]) -> Sequence[float]:
    """Return the quantiles that all members of an ensemble, or one network, forecast by themselves."""
    fixed = {level for loss in losses if not loss.traits.any_level for level in loss.quantile_levels}
    if fixed or not all(loss.traits.any_level for loss in losses):
        return sorted(fixed)
    return _claimed(lambda level: True)


def _claimed(attempt: Callable[[float], Any]) -> Sequence[float]:
    """Return the ends of the usual intervals for which an attempt gives something."""
    found: list[float] = []
    for level in USUAL_LEVELS:
        try:
            if attempt(level) is not None:
                found += interval_quantiles(level)
        except InputError:  # too few errors
            break
    return found


def _calibrated(model: Conformal, quantiles: Quantiles) -> WindowModule:
    settings = model.settings
    if settings.method == "adaptive":
        raise ExportError(
            "intervals with method='adaptive' follow the values that are observed after each forecast, and those of a "
            "file are fixed. Calibrate with method='split' or 'cqr', or export the forecaster inside."
        )
    inside = module_for(model.forecaster, quantiles_of(model.pairs))
    levels = RequestedLevels((), quantiles).all
    ids: list[Any] = [None]  # any that no scores belong to
    if settings.per == "series":
        known = model.fitted.context.ids.to_list()
        ids = known if inside.joint else [*known, None]
    return ConformalModule(
        inside,
        pairs=model.pairs,
        quantiles=quantiles,
        levels=levels,
        widths=model.widths(levels, ids),
        spread_rows=inside.input_size if settings.scaled else 0,
        whole=settings.whole,
    )


def _hierarchical(model: HINT, quantiles: Quantiles) -> WindowModule:
    context, nodes = model.forecaster.fitted.context, list(model.hierarchy.nodes)
    if context.schema.covariates:
        raise ExportError(
            f"a graph of a HINT takes all nodes side by side, and covariates of each "
            f"({', '.join(context.schema.covariates)}) have no place there. Train without them, or export the "
            "forecaster inside."
        )
    if not context.num_series:
        raise ExportError("this HINT was saved without context, so the order of its nodes is not known. Keep it.")
    try:
        matrix, offsets = model.linear_map(quantiles)
    except InputError as error:
        raise ExportError(f"this HINT cannot be exported: {error}") from None
    place = {name: number for number, name in enumerate(nodes)}
    order = np.array([place[name] for name in context.ids.cast(pl.String).to_list()])
    return HierarchyModule(
        NetworkModule(model.forecaster.fitted), matrix=matrix[np.ix_(order, order)], offsets=offsets[:, order]
    )


def _automatic(model: AutoForecaster, quantiles: Quantiles) -> WindowModule:
    """Return the winner of a search, if it is one network."""
    fitted = model.fitted
    counting = [planned for planned in fitted.plan.members if planned.weight > 0 or planned.group_weights]
    if len(counting) > 1 or counting[0].kind != "network":
        named = ", ".join(f"{planned.name} ({planned.kind})" for planned in counting)
        raise ExportError(
            f"this automatic forecaster combines {named}; only one that is a single network can be exported. Search "
            "again with models=[...] of one network, or train that network as a Forecaster."
        )
    network = fitted.members[fitted.plan.members.index(counting[0])].network
    assert network is not None
    levels = RequestedLevels((), quantiles).all
    inside = NetworkModule(network.fitted)
    horizon = network.task.horizon
    widths = np.stack([fitted.intervals.width(level) for level in levels]) if levels else np.zeros((0, horizon))
    return ConformalModule(
        inside,
        pairs=POINT,
        quantiles=quantiles,
        levels=levels,
        widths=widths[None, :, None],
        spread_rows=fitted.plan.history,
    )
