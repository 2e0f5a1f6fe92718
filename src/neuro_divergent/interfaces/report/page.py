"""A training run as one HTML page that needs nothing but itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from neuro_divergent import __version__
from neuro_divergent.interfaces.outcome import Outcome
from neuro_divergent.interfaces.plots.chart import chart_series, show_time
from neuro_divergent.interfaces.plots.svg import Curve, Plot, plot_curves, plot_forecast
from neuro_divergent.interfaces.plots.ticks import show_number
from neuro_divergent.interfaces.report.templates import template
from neuro_divergent.interfaces.words import count, judge, show_share

_CHARTS = 6
_MOST_ROWS = 400
_COLUMNS = {
    "mae": "MAE",
    "rmse": "RMSE",
    "mape": "MAPE %",
    "smape": "sMAPE %",
    "wape": "WAPE %",
    "mase": "MASE",
    "bias": "bias",
    "skill": "skill",
}


def render(outcome: Outcome, *, name: str, command: str) -> str:
    """Return the page.

    Args:
        outcome: What to show.
        name: What the run is called.
        command: What to type to get the same run again.
    """
    evaluation = outcome.evaluation
    verdict = None if evaluation is None else judge(evaluation)
    return template("page.html").render(
        name=name,
        version=__version__,
        command=command,
        model=outcome.forecaster.architecture.name,
        verdict=verdict,
        evaluation=evaluation,
        facts=_facts(outcome),
        notes=outcome.notes,
        scores=_scores(outcome),
        columns=list(_COLUMNS.values()),
        coverage=[] if evaluation is None else evaluation.coverage.to_dicts(),
        charts=_charts(outcome),
        curves=_curves(outcome.forecaster.history),
        config=outcome.config.to_toml(),
        environment=_flat(outcome.forecaster.environment),
    )


def _facts(outcome: Outcome) -> list[tuple[str, str]]:
    """Return what the run was, in pairs of a word and its meaning."""
    panel, task = outcome.panel, outcome.forecaster.fitted.task
    split, history = outcome.forecaster.split, outcome.forecaster.history
    assert split is not None
    begin = panel.starts.min()
    end = panel.frequency.time_at(panel.starts, panel.lengths - 1).max()
    features = ", ".join(
        f"{role}: {', '.join(feature.name for feature in columns)}"
        for role, columns in (("past", panel.past), ("future", panel.future), ("static", panel.static))
        if columns
    )
    stopped = int(history["step"][-1]) if history.height else 0
    return [
        ("Data", f"{outcome.config.data.path}: {count(len(panel), 'row')} in {panel.num_series:,} series"),
        ("Time", f"{show_time(begin)} to {show_time(end)}, one row every {panel.frequency}"),
        ("Covariates", features or "none"),
        ("Task", f"{count(task.horizon, 'step')} ahead from {count(task.history, 'step')} of history"),
        (
            "Windows",
            f"{len(split.train):,} for training, {len(split.validation):,} for validation, "
            f"{len(split.test):,} for test",
        ),
        (
            "Model",
            f"{outcome.forecaster.architecture.name} with {count(outcome.forecaster.num_parameters, 'parameter')}",
        ),
        ("Training", f"{count(stopped, 'step')} in {outcome.seconds:.1f} seconds"),
    ]


def _scores(outcome: Outcome) -> list[dict[str, Any]]:
    """Return a row per forecast: its name, its texts, and whether it is the model and the best."""
    if outcome.evaluation is None:
        return []
    table = outcome.evaluation.table
    best = {column: table[column].abs().fill_nan(None).min() for column in _COLUMNS if column != "skill"}
    best["skill"] = table["skill"].fill_nan(None).max()
    rows = []
    for row in table.to_dicts():
        cells = [
            {
                "text": show_share(row[column]) if column == "skill" else show_number(row[column]),
                "is_best": best[column] is not None
                and (row[column] if column == "skill" else abs(row[column])) == best[column],
            }
            for column in _COLUMNS
        ]
        rows.append({"name": row["name"], "is_model": row["name"] == outcome.evaluation.model, "cells": cells})
    return rows


def _charts(outcome: Outcome) -> list[dict[str, Any]]:
    """Return a chart for each series, or for the best, the worst and some in between when there are many."""
    panel, task = outcome.panel, outcome.forecaster.fitted.task
    evaluation = outcome.evaluation
    held_out = 0
    errors: dict[Any, float] = {}
    if evaluation is not None:
        held_out = evaluation.windows * task.horizon // max(evaluation.per_series.height, 1)
        identifier = evaluation.per_series.columns[0]
        errors = dict(zip(evaluation.per_series[identifier], evaluation.per_series["mae"], strict=True))
    history = min(_MOST_ROWS, max(3 * task.horizon, held_out + 2 * task.horizon))
    charts = []
    for series in _chosen(outcome):
        chart = chart_series(
            panel,
            series,
            history=history,
            forecasts=outcome.forecasts,
            backtest=None if evaluation is None else evaluation.forecasts,
        )
        error = errors.get(panel.ids[series])
        charts.append({"plot": plot_forecast(chart), "error": None if error is None else show_number(error)})
    return charts


def _chosen(outcome: Outcome) -> list[int]:
    panel, evaluation = outcome.panel, outcome.evaluation
    if panel.num_series <= _CHARTS:
        return list(range(panel.num_series))
    places = {name: place for place, name in enumerate(panel.ids.to_list())}
    order = list(range(panel.num_series))
    if evaluation is not None:
        ranked = evaluation.per_series.sort("mase", nulls_last=True)
        order = [places[name] for name in ranked[ranked.columns[0]].to_list()]
    return [order[place] for place in np.linspace(0, len(order) - 1, min(_CHARTS, len(order))).round().astype(int)]


def _curves(history: pl.DataFrame) -> list[Plot]:
    def curve(kind: str, label: str, column: str) -> Curve:
        values = history[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        return Curve(kind, label, history["step"].cast(pl.Float64).to_numpy(), values)

    losses = [curve("train", "training", "train_loss")]
    if "validation_loss" in history.columns:
        losses.append(curve("validation", "validation", "validation_loss"))
    plots = [
        plot_curves("Loss by step, on the scale the network sees", losses),
        plot_curves(
            "Learning rate by step", [curve("rate", "learning rate", "learning_rate")], may_be_logarithmic=False
        ),
    ]
    return [plot for plot in plots if plot.shapes]


def _flat(values: dict[str, Any]) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for key, value in values.items():
        rows.extend(_flat(value) if isinstance(value, dict) else [(key, str(value))])
    return rows
