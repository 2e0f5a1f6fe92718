"""How models show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from neuro_divergent.core import html
from neuro_divergent.core.formatting import format_count, format_number, format_percent
from neuro_divergent.data.panel_display import describe_panel
from neuro_divergent.data.windows import Windows, across
from neuro_divergent.forecasting.statistical.naive import NaiveForecasts
from neuro_divergent.forecasting.task import describe_task
from neuro_divergent.forecasting.validation import validation_windows

if TYPE_CHECKING:
    from neuro_divergent.forecasting.ensemble.ensemble import Ensemble
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.forecasting.hierarchy.hint import HINT
    from neuro_divergent.forecasting.protocol import ForecastModel
    from neuro_divergent.forecasting.statistical.statistical import Statistical

Pair = tuple[str, object]
_NOT_FITTED = "not fitted: call fit(data)"
_MOST_VALUES = 2**20  # forecast values for which the naive error is worth computing each time something is shown


def forecaster_html(forecaster: Forecaster) -> html.Html:
    """Return a forecaster as HTML: its settings, and once fitted its data, losses and validation error."""
    is_fitted = forecaster.is_fitted
    curve = html.Html("")
    pairs: list[Pair] = [
        ("architecture", forecaster.architecture),
        ("task", _task(forecaster)),
        ("training", forecaster.training),
    ]
    if is_fitted:
        pairs += [*_data(forecaster), ("trained", _trained(forecaster)), ("validation", _validation(forecaster))]
        curve = _losses(forecaster.history)
    return html.card(_name(forecaster), _state(forecaster), html.facts(pairs), curve)


def ensemble_html(ensemble: Ensemble) -> html.Html:
    """Return an ensemble as HTML: how it combines, and its members."""
    weights = ensemble.weights if ensemble.is_fitted else None
    columns = ["member", "architecture", "seed", "validation MAE", "weight"]
    rows = [
        (
            number,
            repr(member.architecture),
            str(member.training.seed),
            _validation_error(member) if member.is_fitted else None,
            None if weights is None else float(weights[number - 1]),
        )
        for number, member in enumerate(ensemble.members, 1)
    ]
    pairs: list[Pair] = [("combined by", ensemble.combine), ("task", describe_task(ensemble.task))]
    pairs += list(_data(ensemble)) if ensemble.is_fitted else []
    return html.card(_name(ensemble), _state(ensemble), html.facts(pairs), html.table(columns, rows))


def hint_html(hint: HINT) -> html.Html:
    """Return a HINT as HTML: its hierarchy, and the forecaster inside."""
    pairs = [("method", hint.method), ("hierarchy", format_count(len(hint.hierarchy.nodes), "node"))]
    return html.card(
        _name(hint), _state(hint), html.facts(pairs), html.details("forecaster", forecaster_html(hint.forecaster))
    )


def statistical_html(model: Statistical) -> html.Html:
    """Return a statistical model as HTML."""
    task = model.task
    pairs: list[Pair] = [
        ("method", model.method),
        ("horizon", task.horizon),
        ("season", "from the data" if task.season_length is None else format_count(task.season_length, "row")),
        *(_data(model) if model.is_fitted else ()),
    ]
    return html.card(_name(model), _state(model), html.facts(pairs))


def _name(model: object) -> str:
    return type(model).__name__


def _state(model: ForecastModel) -> str:
    if not model.is_fitted:
        return _NOT_FITTED
    count = model.fitted.context.num_series
    return f"fitted on {count:,} series" if count else "fitted, saved without context"


def _data(model: Forecaster | Ensemble | Statistical) -> Iterator[Pair]:
    """Yield what is known of the data; a model that was loaded has only the ends of the series."""
    if model.panel is not None:
        yield "data", describe_panel(model.panel)
    elif model.fitted.context.num_series:
        yield "ends of series", describe_panel(model.fitted.context)


def _task(forecaster: Forecaster) -> str:
    """Return the task with the history that was chosen, but not what follows from the architecture and the data."""
    return repr(forecaster.task.replace(season_length=forecaster._task.season_length, joint=forecaster._task.joint))


def _trained(forecaster: Forecaster) -> str:
    trained_on = forecaster.fitted.trained_on
    size = format_count(forecaster.num_parameters, "parameter")
    if trained_on is None:
        return size
    steps = f"{format_count(trained_on.steps, 'step')} on {format_count(trained_on.windows, 'window')}"
    return f"{size}, {steps}{', the validation part included' if trained_on.all_rows else ''}"


def _validation(forecaster: Forecaster) -> str | None:
    """Return the error on the validation part compared with that of the seasonal naive forecast."""
    error = _validation_error(forecaster)
    if error is None:
        return None
    naive = None if forecaster.split is None else seasonal_naive_error(forecaster.split.validation)
    if not naive:
        return f"MAE {format_number(error)}"
    change = f"{format_percent(abs(1 - error / naive))} {'less' if error <= naive else 'more'}"
    return f"MAE {format_number(error)}, {change} than the seasonal naive forecast ({format_number(naive)})"


def _validation_error(forecaster: Forecaster) -> float | None:
    """Return the mean absolute error on the validation part, of the weights that were chosen."""
    history, trained_on = forecaster.history, forecaster.fitted.trained_on
    if "validation_mae" not in history.columns:
        return None
    known = history.drop_nulls(["validation_mae", "validation_loss"])
    chosen = known.filter(pl.col("step") == trained_on.steps) if trained_on is not None else known.clear()
    found = chosen if chosen.height else known.sort("validation_loss")
    return float(found["validation_mae"][0]) if found.height else None


def seasonal_naive_error(part: Windows) -> float | None:
    """Return the mean absolute error of the seasonal naive forecast on the windows that validation uses.

    ``None`` if there is no window, nothing was observed, or there are too many values to do it on the side.
    """
    windows = validation_windows(part)
    panel = windows.panel
    size = len(windows) * windows.horizon * (panel.num_series if windows.joint else 1)
    if not 0 < size <= _MOST_VALUES:
        return None
    series, rows = windows.locate(np.arange(len(windows)))
    if windows.joint:
        series, rows = across(panel, rows)
    rows = rows + windows.input_size
    naive = NaiveForecasts(panel, series, rows, windows.horizon, panel.frequency.season_length).seasonal_naive()
    actual, observed = panel.values_from(rows, windows.horizon)
    errors = np.abs(actual - naive)[observed & np.isfinite(naive)]
    return float(errors.mean()) if errors.size else None


def _losses(history: pl.DataFrame) -> html.Html:
    """Return the losses of training as small lines."""
    parts = []
    for name in ("train_loss", "validation_loss"):
        known = history[name].drop_nulls().to_list() if name in history.columns else []
        if drawn := html.sparkline(known, name):
            parts.append((name, html.Html(f"{drawn} {html.text(known[0])} to {html.text(known[-1])}")))
    return html.facts(parts)
