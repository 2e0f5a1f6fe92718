"""The description of a fitted model, which is stored with its graph."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

from neuro_divergent import __version__
from neuro_divergent.core.spec import Feature
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import READING, Schema
from neuro_divergent.evaluation.conformal.conformal import Conformal
from neuro_divergent.forecasting.ensemble.ensemble import Ensemble
from neuro_divergent.forecasting.fitted import FittedModel
from neuro_divergent.forecasting.forecaster import Forecaster
from neuro_divergent.forecasting.hierarchy.hint import HINT
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.search.auto.forecaster import AutoForecaster
from neuro_divergent.serving.description import Description, ExportedFeature
from neuro_divergent.serving.export.window_module import WindowModule

_SHORTER_THAN_A_DAY = ("ns", "us", "ms", "s", "m", "h")

_READ_AS_STORED = ("encoding", "date_format")  # which a description has fields of their own for

TimeType = Literal["date", "datetime", "integer"]


def describe(model: ForecastModel, module: WindowModule, quantiles: tuple[float, ...], digest: str) -> Description:
    """Return what a caller of a graph needs to know.

    The type of the times of a model that was saved without context is not known: it is taken from the frequency, with
    dates for steps of a day or longer.

    Args:
        model: The fitted model.
        module: What is exported of it.
        quantiles: Quantiles of the output.
        digest: SHA-256 of the manifest of the saved model.
    """
    networks = networks_of(model)
    context = max(networks, key=lambda network: network.task.history).context
    schema, named = context.schema, module.takes_series or module.joint
    kind, unit, zone = time_type(context)
    calendar = len(schema.calendar)
    return Description(
        package=__version__,
        kind=type(model).__name__,
        architecture=model.architecture.name,
        digest=digest,
        horizon=model.task.horizon,
        input_size=module.input_size,
        channels=module.channels,
        joint=module.joint,
        target=schema.target,
        time=schema.time,
        id=schema.id,
        time_type=kind,
        time_unit=unit,
        time_zone=zone,
        frequency=str(context.frequency),
        quantiles=quantiles,
        past=_features(context, context.past),
        future=_features(context, context.future[: len(context.future) - calendar]),
        static=_features(context, context.static),
        calendar=schema.calendar,
        missing=schema.missing,
        gaps=schema.gaps,
        short=schema.short,
        unknown_category=schema.unknown_category,
        encoding=schema.encoding,
        date_format=schema.date_format,
        reading=_reading(schema),
        takes_series=module.takes_series,
        requires_known_series=module.requires_known or (module.joint and context.num_series > 0),
        series=tuple(context.ids.to_list()) if named else (),
        target_range=_target_range(networks),
        integer_valued=module.integer_valued,
    )


def _reading(schema: Schema) -> dict[str, Any]:
    """Return the settings by which the tables of training were read, where they are not the usual ones."""
    usual = Schema()
    names = [name for name in (*READING, "duplicates") if name not in _READ_AS_STORED]
    return {name: value for name in names if (value := getattr(schema, name)) != getattr(usual, name)}


def networks_of(model: ForecastModel) -> tuple[FittedModel, ...]:
    """Return the fitted networks that a model consists of."""
    if isinstance(model, Forecaster):
        return (model.fitted,)
    if isinstance(model, Ensemble):
        return model.fitted.members
    if isinstance(model, (Conformal, HINT)):
        return networks_of(model.forecaster)
    assert isinstance(model, AutoForecaster), "others have no module"
    return tuple(member.network.fitted for member in model.fitted.members if member.network is not None)


def time_type(context: Panel) -> tuple[TimeType, Literal["ms", "us", "ns"] | None, str | None]:
    """Return type, resolution and zone of the times of a panel; by its frequency if it has no series."""
    dtype = context.starts.dtype if context.num_series else _usual_type(context.frequency)
    if isinstance(dtype, pl.Datetime):
        return "datetime", dtype.time_unit, dtype.time_zone
    return ("date" if dtype == pl.Date else "integer"), None, None


def _usual_type(frequency: Frequency) -> Any:
    if frequency.unit == "":
        return pl.Int64()
    return pl.Datetime("us") if frequency.unit in _SHORTER_THAN_A_DAY else pl.Date()


def _features(context: Panel, features: tuple[Feature, ...]) -> tuple[ExportedFeature, ...]:
    return tuple(
        ExportedFeature(
            name=feature.name,
            categories=None if feature.cardinality is None else tuple(context.categories[feature.name]),
        )
        for feature in features
    )


def _target_range(networks: tuple[FittedModel, ...]) -> tuple[float, float] | None:
    ranges = [None if network.trained_on is None else network.trained_on.target_range for network in networks]
    known = [found for found in ranges if found is not None]
    if len(known) < len(ranges):
        return None
    return min(lowest for lowest, _ in known), max(highest for _, highest in known)
