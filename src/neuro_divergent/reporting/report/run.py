"""A run as one self-contained HTML page, made from the files in its directory."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from neuro_divergent import __version__
from neuro_divergent.core.errors import InputError, NeuroDivergentError
from neuro_divergent.core.formatting import format_number, format_percent, format_timestamp
from neuro_divergent.core.storage.atomic import read_file, read_json
from neuro_divergent.diagnostics.finding import Diagnosis
from neuro_divergent.reporting.advice import Advice
from neuro_divergent.reporting.figures.figure import Figure
from neuro_divergent.reporting.figures.forecast import forecast_figure
from neuro_divergent.reporting.process_rows import COLUMNS as PROCESS_COLUMNS
from neuro_divergent.reporting.process_rows import process_rows
from neuro_divergent.reporting.report import facts, summary
from neuro_divergent.reporting.report.plain import names, rows, text
from neuro_divergent.reporting.report.scores import COLUMNS, Scores
from neuro_divergent.reporting.report.search import SearchSection
from neuro_divergent.reporting.report.series import (
    MOST,
    TYPICAL,
    Shown,
    choose_series,
    is_of_many,
    series_errors,
    typical_series,
)
from neuro_divergent.reporting.report.templates import template
from neuro_divergent.reporting.run_figures import figure_of
from neuro_divergent.reporting.svg.inline import render_inline_svg, stylesheet
from neuro_divergent.runs.directory import CONFIG, RUN
from neuro_divergent.runs.events import read_events
from neuro_divergent.runs.processes import describe_straggler, stragglers_of, summarize_processes
from neuro_divergent.runs.status import describe_run
from neuro_divergent.runs.tables import RunTables
from neuro_divergent.runs.values import count, number

_MOST_TEXT = 1024**2
_MOST_LAYERS = 40
_MOST_PROCESSES = 64


def render_run(
    run: Path, *, is_finished: bool = False, notes: Sequence[str] = (), search: SearchSection | None = None
) -> str:
    """Return the page of a run in whatever state; the same files always give the same page.

    The process that writes its last files still holds its lock, so it says that the run counts as finished. ``search``
    says how its settings were found, if they were searched.
    """
    values = _Page(run, is_finished=is_finished).values(notes)
    return template("run.html").render(values, search=None if search is None else search.to_template())


class _Page:
    """Collects the values of the template."""

    def __init__(self, path: Path, *, is_finished: bool) -> None:
        self.tables = RunTables(path)
        run = describe_run(path)
        self.run = dataclasses.replace(run, state="finished") if is_finished else run
        self.config = self.tables.config or {}
        self.events = read_events(path)
        self.scores = Scores.read(self.tables.scores)
        self.errors = series_errors(self.tables.backtest, self.tables.id)

    def values(self, notes: Sequence[str]) -> dict[str, Any]:
        """Return the values by their names in the template."""
        tables, config, scores = self.tables, self.config, self.scores
        state = summary.describe_state(self.run)
        diagnosis = self._diagnosis()
        parameters = self._parameters()
        place = shlex.quote(str(self.run.path / CONFIG))
        num_series = self._num_series()
        processes = summarize_processes(tables.processes)
        return {
            "title": self.run.name,
            "version": __version__,
            "style": Markup(stylesheet()),
            "model": tables.model,
            "state": state,
            "is_running": self.run.state == "running",
            "seen": format_timestamp(number(self.events[-1].get("time")) if self.events else None) if state else "",
            "verdict": None if scores is None else scores.judge(),
            "advice": Advice.read(tables.scores),
            "task": summary.describe_task(config, tables.data),
            "forecast_figures": self._series(typical_series(tables)),
            "paragraphs": summary.describe_quality(scores, self.errors, diagnosis),
            # The state of a run that is not finished says how it ended.
            "trained": summary.describe_training(tables.history, [] if state else self.events),
            "numbers": summary.key_numbers(scores, tables.history, parameters),
            "notes": list(dict.fromkeys([*names(tables.scores, "notes"), *notes])),
            "data_facts": facts.data_facts(tables.data, config),
            "has_data": tables.data is not None,
            "covariates": facts.covariate_rows(tables.data),
            "task_facts": facts.task_facts(config, parameters),
            "training_facts": facts.training_facts(config, tables.history, self.events, self.run.total_steps),
            "curves": self._figures("loss", "rate", "gradient", "speed"),
            "processes": process_rows(processes[:_MOST_PROCESSES]),
            "num_processes": len(processes),
            "process_columns": list(PROCESS_COLUMNS),
            "stragglers": [describe_straggler(process) for process in stragglers_of(processes)],
            "process_figures": self._figures("processes") if processes else [],
            "scores": scores,
            "columns": list(COLUMNS.values()),
            "score_figures": self._figures("scores", "error-by-step"),
            "interval_rows": [] if scores is None else scores.coverage,
            "interval_figures": self._figures("calibration", "pit"),
            "residual_figures": self._figures("residuals", "residual-histogram", "residual-autocorrelation"),
            "series_figures": self._series(choose_series(tables)) if num_series > TYPICAL else [],
            "ranking": self._figures("ranking") if self.errors is not None and self.errors.height > MOST else [],
            "num_series": num_series,
            "ranked": self.errors is not None,
            "diagnosis": diagnosis,
            "layer_figures": self._figures("gradient-flow", "update-ratio", "weights"),
            "activations": _activation_rows(tables.network),
            "architecture": self._figures("architecture", caption=False),
            "blocks": _block_rows(tables.network),
            "command": f"nd train {place}",
            "typed": facts.typed_command(tables.environment),
            "config": self._config_text(),
            "environment": facts.environment_facts(tables.environment, self._started_config(), config),
        }

    def _diagnosis(self) -> Diagnosis | None:
        """Return the diagnosis stored at the end of the run or, for a run that is not finished, a new one."""
        kept = self.tables.diagnosis
        try:
            if self.run.state == "finished":
                return None if kept is None else Diagnosis.from_dict(kept)

            from neuro_divergent.diagnostics.doctor import diagnose

            return diagnose(self.run.path)
        except NeuroDivergentError:
            return None

    def _parameters(self) -> int | None:
        started = [count(event.get("parameters")) for event in self.events if event["event"] == "start"]
        given = (count(content.get("parameters")) for content in (self.tables.scores, self.tables.network) if content)
        return next((found for found in (*given, *reversed(started)) if found is not None), None)

    def _figures(self, *wanted: str, caption: bool = True) -> list[Markup]:
        """Return the figures for which the run has data."""
        rendered = []
        for name in wanted:
            with suppress(InputError):
                rendered.append(_draw(figure_of(self.tables, name), caption=caption))
        return rendered

    def _num_series(self) -> int:
        """Return how many series have forecasts, of those held out or else of those ahead."""
        if self.errors is not None:
            return self.errors.height
        if is_of_many(self.tables):
            return len(self.tables.series)
        frame, column = self.tables.forecasts, self.tables.id
        return frame[column].n_unique() if frame is not None and column in frame.columns else 1

    def _series(self, chosen: Sequence[Shown]) -> list[Markup]:
        return [svg for shown in chosen if (svg := self._forecast(shown)) is not None]

    def _forecast(self, shown: Shown) -> Markup | None:
        tables = self.tables
        context, backtest = (_of(frame, tables.id, shown.name) for frame in (tables.context, tables.backtest))
        if context is not None and backtest is not None and tables.time in context.columns:
            # Held-out values may be older than the context that is stored.
            backtest = _since(backtest, tables.time, context[tables.time].min())
        # Of many series, only the rows that are drawn are read.
        ahead = tables.rows_of(str(shown.name)).forecasts if is_of_many(tables) else None
        try:
            figure = forecast_figure(
                context,
                ahead if is_of_many(tables) else _of(tables.forecasts, tables.id, shown.name),
                series=shown.name,
                id=tables.id,
                time=tables.time,
                target=tables.target,
                backtest=backtest,
            )
        except (InputError, TypeError, ValueError, pl.exceptions.PolarsError):  # the latter for damaged tables
            return None
        note = "" if shown.error is None else f"MAE {format_number(shown.error)}"
        if shown.relative is not None:
            note += f", {format_number(shown.relative)} times that of the seasonal naive forecast"
        name = "The series" if shown.name is None else text(str(shown.name), 120)
        title = f"{name} ({shown.place})" if shown.place else name
        return _draw(dataclasses.replace(figure, title=title, note=f"{note}." if note else ""))

    def _started_config(self) -> dict[str, Any]:
        try:
            content = read_json(self.run.path / RUN, _MOST_TEXT)
        except NeuroDivergentError:
            return {}
        return content if isinstance(content, dict) else {}

    def _config_text(self) -> str:
        try:
            return read_file(self.run.path / CONFIG, limit=_MOST_TEXT).decode("utf-8", "replace").strip()
        except NeuroDivergentError:
            return ""


def _draw(figure: Figure, *, caption: bool = True) -> Markup:
    return Markup(render_inline_svg(figure, caption=caption))  # its text is escaped


def _of(frame: pl.DataFrame | None, column: str | None, name: Any) -> pl.DataFrame | None:
    """Return the rows of a series."""
    if frame is None or column is None or name is None or column not in frame.columns:
        return frame
    return frame.filter(pl.col(column).cast(pl.String) == str(name))


def _since(frame: pl.DataFrame, time: str, begin: Any) -> pl.DataFrame:
    try:
        return frame.filter(pl.col(time) >= begin)
    except (pl.exceptions.PolarsError, TypeError):  # times of another kind, in files that were not written together
        return frame


def _activation_rows(network: dict[str, Any] | None) -> list[list[str]]:
    """Return what the units of the network do, as rows of text: those with units that do nothing first."""
    found = sorted(rows(network, "activations"), key=lambda row: -(number(row.get("dead_share")) or 0.0))
    return [
        [
            text(row.get("layer"), 80),
            text(row.get("kind"), 40),
            format_number(number(row.get("units"))),
            *(format_percent(number(row.get(name))) for name in ("dead_share", "saturated_share", "utilisation")),
        ]
        for row in found[:_MOST_LAYERS]
    ]


def _block_rows(network: dict[str, Any] | None) -> list[list[str]]:
    """Return the blocks of the network as rows of text, indented by their depth."""
    return [
        [
            "\u2003" * min(count(row.get("depth")) or 0, 6) + text(row.get("name"), 80),
            text(row.get("kind"), 40),
            _shape(row.get("inputs")),
            _shape(row.get("outputs")),
            format_number(number(row.get("parameters"))),
        ]
        for row in rows(network, "blocks")[:_MOST_LAYERS]
    ]


def _shape(value: object) -> str:
    """Write a shape; the size of a batch, which may be any, is not a number."""
    if not isinstance(value, list):
        return ""
    return " \u00d7 ".join("batch" if size is None else format_number(number(size)) for size in value[:6])
