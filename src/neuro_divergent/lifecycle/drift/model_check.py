"""Checks a model on new data: the feed first, then the errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from neuro_divergent.core.errors import InputError
from neuro_divergent.data.io.source import DEFAULT_ID
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.forecasting.protocol import ForecastModel
from neuro_divergent.lifecycle.drift.detection import ALPHA, MOST_BROKEN, detect_drift
from neuro_divergent.lifecycle.drift.drift_result import DriftResult
from neuro_divergent.lifecycle.drift.errors import Errors, forecast_errors
from neuro_divergent.lifecycle.drift.feed import LEAST_PAST, broken_series, check_feed
from neuro_divergent.lifecycle.drift.incident import Incident
from neuro_divergent.lifecycle.drift.input_drift import input_drift
from neuro_divergent.lifecycle.drift.model_errors import model_errors, with_history

_OLDER = 2 / 3  # of the new errors, which are the reference where there is no other


def check_model(
    model: ForecastModel,
    data: Any,
    *,
    reference: Any = None,
    alpha: float = ALPHA,
    since: Any = None,
    season_length: int | None = None,
    false_discoveries: float = 0.05,
) -> DriftResult:
    """Check the feed of new data and compare the errors of a model on them with those of a reference.

    Args:
        model: A fitted model.
        data: New rows with the columns that training had, with or without older rows before them.
        reference: Forecasts of held-out values, such as the ``backtest.parquet`` of a run, or ``Errors``. Unset, the
            older two thirds of the values that the model was not trained on.
        alpha: Probability of a false alarm.
        since: Last time that is not new; unset, the end of each series in the data of training.
        season_length: Rows in the longest season of the data; unset, it follows from the frequency.
        false_discoveries: Expected fraction of the named series that have not changed; 0 names none.

    Raises:
        InputError: If there are no new rows, or nothing to compare them with.
        DataError: If the data cannot be used.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> table = nd.datasets.Synthetic(num_series=4, length=180, frequency=1).frame()
        >>> model = nd.Statistical("seasonal_naive", horizon=7, season_length=7, test=40)
        >>> held_out = nd.evaluate(model.fit(table.filter(pl.col("ds") < 140))).forecasts
        >>> nd.lifecycle.check_model(model, table, reference=held_out, season_length=7).verdict
        'no drift'
        >>> changed = table.with_columns(pl.col("y") + 20 * (pl.col("ds") % 2))
        >>> nd.lifecycle.check_model(model, changed, reference=held_out, season_length=7).verdict
        'drift'
    """
    frame = with_history(model, data)
    schema = model.fitted.context.schema
    incidents = find_feed_incidents(model, frame, since=since, season_length=season_length)
    named = schema.id if schema.id is not None else DEFAULT_ID if DEFAULT_ID in frame.columns else None
    broken = broken_series(incidents)
    count = 1 if named is None else frame[named].n_unique()
    if broken and (named is None or len(broken) > MOST_BROKEN * count):
        return _incident(frame[schema.time], incidents, alpha)
    if broken and named is not None:
        frame = frame.filter(~pl.col(named).is_in(broken))
    new = model_errors(model, frame, since=since, season_length=season_length)
    old, new = _reference(reference, new, schema.time, named, season_length)
    return detect_drift(
        old,
        new,
        alpha=alpha,
        season_length=season_length,
        false_discoveries=false_discoveries,
        incidents=incidents,
    )


def check_inputs(
    model: ForecastModel, data: Any, *, alpha: float = ALPHA, since: Any = None, season_length: int | None = None
) -> dict[str, DriftResult]:
    """Compare the inputs of a model before and after the end of its training, without any forecast.

    Args:
        model: A fitted model.
        data: Old and new rows together, with the columns that training had.
        alpha: Probability of a false alarm of all columns together.
        since: Last time that is not new; unset, the end of the data of training.
        season_length: Rows in a season; unset, it follows from the frequency.

    Raises:
        InputError: If there are no rows before or after that time.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> table = nd.datasets.Synthetic(num_series=4, length=120, frequency=1).frame()
        >>> model = nd.Statistical("seasonal_naive", horizon=7, season_length=7).fit(table.filter(pl.col("ds") < 90))
        >>> found = nd.lifecycle.check_inputs(model, table, season_length=7)
        >>> {column: result.verdict for column, result in found.items()}
        {'y': 'no drift'}
    """
    context = model.fitted.context
    panel = build_panel(with_history(model, data), context.schema, fitted=context)
    times = panel.times()
    later = times.filter(times > _end(model, since)).sort()
    if not len(later):
        raise InputError("new data: no row is newer than the data of training.")
    return input_drift(panel, later[0], alpha=alpha, season_length=season_length)


def find_feed_incidents(
    model: ForecastModel, frame: pl.DataFrame, *, since: Any = None, season_length: int | None = None
) -> list[Incident]:
    """Compare new rows with those before them; nothing is found where too few rows are there to compare with."""
    schema, end = model.fitted.context.schema, _end(model, since)
    old, new = frame.filter(pl.col(schema.time) <= end), frame.filter(pl.col(schema.time) > end)
    if old.height < LEAST_PAST or not new.height:
        return []
    names: dict[str, Any] = {"id": schema.id, "time": schema.time, "target": schema.target}
    frequency = model.fitted.context.frequency
    return check_feed(old, new, frequency=frequency, season_length=season_length, **names)


def _end(model: ForecastModel, since: Any) -> Any:
    """Return the last time that is not new, of all series together."""
    if since is not None:
        return since
    context = model.fitted.context
    if not context.num_series:
        raise InputError("this model was saved without context: say with since when its data of training ended.")
    return context.frequency.time_at(context.starts, context.lengths - 1).max()


def _reference(
    reference: Any, new: Errors, time: str, named: str | None, season_length: int | None
) -> tuple[Errors, Errors]:
    """Return the errors of the reference and those to compare with them."""
    if isinstance(reference, Errors):
        return reference, new
    if reference is not None:
        return forecast_errors(reference, id=named, time=time, season_length=season_length), new
    older = round(_OLDER * new.num_times)
    if not 0 < older < new.num_times:
        raise InputError(
            "reference: there is none, and the new data are too few to serve as one. Pass a table of forecasts of "
            "held-out values (--reference), such as the backtest.parquet of a run."
        )
    middle = new.times[older]
    return new.before(middle), new.since(middle)


def _incident(times: pl.Series, incidents: Sequence[Incident], alpha: float) -> DriftResult:
    """Return the result of a feed that is too broken to forecast from."""
    distinct = times.unique().sort()
    begin = min((incident.since for incident in incidents), default=None)
    is_new = distinct >= begin
    return DriftResult(
        verdict="incident",
        alpha=alpha,
        incidents=tuple(incidents),
        left_out={"broken feed": len(broken_series(incidents))},
        reference_times=distinct.filter(~is_new),
        new_times=distinct.filter(is_new),
    )
