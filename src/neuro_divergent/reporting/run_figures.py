"""The figures of a run, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl

from neuro_divergent.core.errors import InputError, did_you_mean
from neuro_divergent.reporting.figures import residuals
from neuro_divergent.reporting.figures.architecture import architecture_figure
from neuro_divergent.reporting.figures.calibration import calibration_figure, pit_figure
from neuro_divergent.reporting.figures.figure import Figure
from neuro_divergent.reporting.figures.history import gradient_figure, loss_figure, rate_figure, speed_figure
from neuro_divergent.reporting.figures.layers import gradient_flow_figure, update_ratio_figure, weight_figure
from neuro_divergent.reporting.figures.processes import processes_figure
from neuro_divergent.reporting.figures.ranking import ranking_figure
from neuro_divergent.reporting.figures.scores import scores_figure
from neuro_divergent.reporting.report.plain import part
from neuro_divergent.runs.tables import RunTables
from neuro_divergent.runs.values import number

_DAMAGES = (TypeError, ValueError, KeyError, AttributeError, IndexError, ArithmeticError, pl.exceptions.PolarsError)


def figure_of(tables: RunTables, name: str) -> Figure:
    """Return one figure of a run.

    Raises:
        InputError: If there is no figure of this name, or the run does not have what it shows.
    """
    if name not in FIGURES:
        raise InputError(f"figure {name!r} is not known.{did_you_mean(name, FIGURES)} Known: {', '.join(FIGURES)}.")
    try:
        return FIGURES[name][1](tables)
    except InputError:
        raise
    except _DAMAGES as error:  # a file that can be read and holds something else
        raise InputError(f"{name}: its data in the run are damaged ({type(error).__name__}).") from error


def figures_of(tables: RunTables) -> Iterator[tuple[str, str, Figure]]:
    """Give name, group and figure of each for which the run has data."""
    for name, (group, _) in FIGURES.items():
        try:
            figure = figure_of(tables, name)
        except InputError:
            continue
        yield name, group, figure


def available(tables: RunTables) -> list[tuple[str, str, str]]:
    """Return name, group and title of all figures for which the run has data."""
    return [(name, group, figure.title) for name, group, figure in figures_of(tables)]


def _gradient(tables: RunTables) -> Figure:
    clip = part(tables.config, "training", "clip")
    limit = number(clip.get("limit")) if clip.get("name") == "norm" else None
    return gradient_figure(tables.history, clip=limit if limit and limit > 0 else None)


def _calibration(tables: RunTables) -> Figure:
    """Show the calibration that was measured or, without it, the coverage among the scores."""
    if tables.calibration is not None and tables.calibration.get("levels"):
        return calibration_figure(tables.calibration)
    scores = tables.scores or {}
    return calibration_figure({"levels": scores.get("coverage"), "part": scores.get("part")})


FIGURES: dict[str, tuple[str, Callable[[RunTables], Figure]]] = {
    "loss": ("training", lambda tables: loss_figure(tables.history)),
    "rate": ("training", lambda tables: rate_figure(tables.history)),
    "gradient": ("training", _gradient),
    "speed": ("training", lambda tables: speed_figure(tables.history)),
    "processes": ("processes", lambda tables: processes_figure(tables.processes)),
    "scores": ("evaluation", lambda tables: scores_figure(tables.scores or {})),
    "error-by-step": ("evaluation", lambda tables: residuals.error_by_step_figure(tables.backtest, name=tables.model)),
    "ranking": ("evaluation", lambda tables: ranking_figure(tables.backtest, id=tables.id)),
    "residuals": ("evaluation", lambda tables: residuals.residuals_over_time_figure(tables.backtest, time=tables.time)),
    "residual-histogram": ("evaluation", lambda tables: residuals.residual_histogram_figure(tables.backtest)),
    "residual-autocorrelation": (
        "evaluation",
        lambda tables: residuals.residual_autocorrelation_figure(tables.backtest, id=tables.id, time=tables.time),
    ),
    "calibration": ("evaluation", _calibration),
    "pit": ("evaluation", lambda tables: pit_figure(tables.calibration or {})),
    "gradient-flow": ("diagnostics", lambda tables: gradient_flow_figure(tables.layers)),
    "update-ratio": ("diagnostics", lambda tables: update_ratio_figure(tables.layers)),
    "weights": ("diagnostics", lambda tables: weight_figure(tables.network or {})),
    "architecture": ("model", lambda tables: architecture_figure(tables.network or {})),
}
