"""What a run leaves behind at its end: model, scores, forecasts, what was found out about them, and a page."""

from __future__ import annotations

import dataclasses
import json
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.core.errors import DataError, InputError, NeuroDivergentError, StorageWarning
from neuro_divergent.core.storage.atomic import write_directory, write_file
from neuro_divergent.core.storage.strict_json import finite_or_none
from neuro_divergent.data.io.table_file import write_table
from neuro_divergent.data.lengths import check_lengths
from neuro_divergent.data.load import load_panel
from neuro_divergent.data.profile import describe_data
from neuro_divergent.diagnostics.doctor import examine
from neuro_divergent.diagnostics.evidence import Evidence
from neuro_divergent.diagnostics.network import analyse_network
from neuro_divergent.evaluation.calibration import check_calibration
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.forecasting.training_run import TrainingRun
from neuro_divergent.reporting.report.run import render_run
from neuro_divergent.reporting.run_figures import figures_of
from neuro_divergent.reporting.svg.file import render_svg
from neuro_divergent.runs.context import context_of
from neuro_divergent.runs.directory import CONFIG, CONTEXT, DATA, ENVIRONMENT, HISTORY, MODEL, SCORES, RunDirectory
from neuro_divergent.runs.status import describe_run
from neuro_divergent.runs.table_parts import write_table_parts
from neuro_divergent.runs.tables import (
    BACKTEST,
    CALIBRATION,
    DIAGNOSIS,
    FORECASTS,
    FORECASTS_OF_MANY,
    NETWORK,
    RunTables,
)
from neuro_divergent.workflow.outcome import USUAL_LEVELS, Outcome, conclude

REPORT = "report.html"
PLOTS = "plots"

_EXPECTED = (SCORES, BACKTEST, FORECASTS, CONTEXT, CALIBRATION, NETWORK, DATA)

Content = pl.DataFrame | Iterator[pl.DataFrame] | dict[str, Any] | None


@dataclass(frozen=True)
class _Result:
    """A file that is made of what came out of a run.

    Attributes:
        name: The file.
        make: Returns its content, or ``None`` where there is none.
        is_optional: Whether a run without it is as good; what keeps it from being made is then only warned about.
    """

    name: str
    make: Callable[[], Content]
    is_optional: bool = False

    def write(self, directory: Path) -> bool:
        """Write the file and return whether there is one now; what an earlier start of the run left is replaced."""
        path = directory / self.name
        try:
            content = self.make()
            if isinstance(content, pl.DataFrame):
                write_table(path, content)
            elif isinstance(content, Iterator):
                write_table_parts(path, content)
            elif content is not None:
                write_file(path, as_json(content))
            else:
                path.unlink(missing_ok=True)
        except NeuroDivergentError as error:
            if not self.is_optional:
                raise
            with suppress(OSError):
                path.unlink()
            warnings.warn(f"{path}: not written: {error}", StorageWarning, stacklevel=3)
            return False
        return content is not None


def write_results(directory: RunDirectory, outcome: Outcome) -> dict[str, str]:
    """Write all that came out of a run and return the files by what they hold; the caller holds the lock.

    The model was written when training ended, so whatever happens here, it is not lost.
    """
    path, forecaster = directory.path, outcome.forecaster
    write_file(path / CONFIG, outcome.config.to_toml().encode("utf-8"))
    # Training has written these two, unless its disk refused.
    if not (path / ENVIRONMENT).is_file():
        write_file(path / ENVIRONMENT, as_json(forecaster.environment))
    if not (path / HISTORY).is_file():
        write_table(path / HISTORY, forecaster.history)
    results = [result.name for result in (*_results(outcome), _diagnosis(path)) if result.write(path)]
    write_plots(path)
    write_file(path / REPORT, render_run(path, is_finished=True).encode("utf-8"))
    files = (MODEL, CONFIG, ENVIRONMENT, HISTORY, *results, PLOTS, REPORT)
    return {Path(name).stem: str(path / name) for name in files}


def write_plots(run: Path) -> None:
    """Draw all figures that a run has something for as SVG files; those of an earlier start go."""
    shutil.rmtree(run / PLOTS, ignore_errors=True)
    pictures = ((f"{name}.svg", render_svg(figure).encode()) for name, _, figure in figures_of(RunTables(run)))
    write_directory(run / PLOTS, pictures)


def complete_results(run: Path) -> list[str]:
    """Write what a finished run does not have yet: one that was trained in Python, or by an older version.

    Returns:
        What is still missing, and why.
    """
    if describe_run(run).state != "finished":
        return []  # the page says how far it came
    notes = []
    if missing := [name for name in _EXPECTED if not _has(run, name)]:
        try:
            notes = _make(run, missing)
        except NeuroDivergentError as error:
            notes = [f"{', '.join(missing)}: not there, and cannot be made now. {error}"]
    if not (run / DIAGNOSIS).exists():
        _diagnosis(run).write(run)
    if not (run / PLOTS).exists():
        write_plots(run)
    return notes


def as_json(content: dict[str, Any]) -> bytes:
    """Return plain values as JSON that people can read; numbers that are not finite, which JSON has not, are null."""
    return (json.dumps(finite_or_none(content), indent=2, ensure_ascii=False, default=str) + "\n").encode("utf-8")


def _results(outcome: Outcome) -> list[_Result]:
    evaluation, forecaster = outcome.evaluation, outcome.forecaster
    task = forecaster.fitted.task

    def scores() -> Content:
        return {
            "parameters": forecaster.num_parameters,
            "seconds": outcome.seconds,
            "notes": [*outcome.facts, *outcome.notes],
            "advice": None if outcome.advice is None else outcome.advice._asdict(),
            **({} if evaluation is None else evaluation.to_dict()),
        }

    def calibration() -> Content:
        split = forecaster.split
        assert split is not None
        if len(split.test):
            return check_calibration(forecaster, split.test)
        return check_calibration(forecaster.validated, split.validation) if len(split.validation) else None

    return [
        _Result(SCORES, scores),
        _Result(BACKTEST, lambda: None if evaluation is None else evaluation.forecasts),
        # One of the two: the other one of an earlier start is removed.
        _Result(FORECASTS, lambda: outcome.forecasts if outcome.forecast_parts is None else None),
        _Result(FORECASTS_OF_MANY, lambda: None if outcome.forecast_parts is None else outcome.forecast_parts()),
        _Result(CONTEXT, lambda: context_of(outcome.panel, horizon=task.horizon, history=task.history)),
        _Result(CALIBRATION, calibration, is_optional=True),
        _Result(NETWORK, lambda: analyse_network(forecaster), is_optional=True),
    ]


def _has(run: Path, name: str) -> bool:
    """Whether a run has a result; forecasts of many series are in another file."""
    return (run / name).exists() or (name == FORECASTS and (run / FORECASTS_OF_MANY).exists())


def _diagnosis(run: Path) -> _Result:
    """Return the findings, which are made of all the other files."""

    def make() -> Content:
        # Whoever writes the last files of a run holds it still, and yet training is done.
        return examine(dataclasses.replace(Evidence.of_run(run), state="finished")).to_dict()

    return _Result(DIAGNOSIS, make, is_optional=True)


def _make(run: Path, missing: list[str]) -> list[str]:
    """Write results that are missing, and return what is missing still."""
    outcome = _again(run)
    results = [*_results(outcome), _Result(DATA, lambda: describe_data(outcome.panel, trimmed=True))]
    wanted = [*missing, *([FORECASTS_OF_MANY] if FORECASTS in missing else [])]
    for result in results:
        if result.name in wanted:
            result.write(run)
    left = [name for name in missing if not _has(run, name)]
    return [*outcome.notes, *([f"Not made, as there is nothing to put into them: {', '.join(left)}."] if left else [])]


def _again(run: Path) -> Outcome:
    """Score and forecast again with a trained model, on the data it was trained on."""
    directory = RunDirectory(run)
    forecaster = TrainingRun.resumed(directory).load_model()
    config = RunConfig.from_dict(directory.stored_config())
    if config.data.path is None:
        raise InputError("the run was begun with a table in memory, which no file holds.")
    task = forecaster.fitted.task
    panel = load_panel(config.data.path, config.data.schema_fields)
    panel = check_lengths(panel, input_size=task.history, horizon=task.horizon)
    try:
        directory.require_same_data(panel)
    except DataError as error:
        raise DataError(f"{config.data.path}: the data have changed since the run began.") from error
    forecaster.panel, forecaster.split = panel, task.split(panel)
    seconds = forecaster.history["seconds"].max() if forecaster.history.height else None
    return conclude(config, forecaster, levels=USUAL_LEVELS, seconds=float(seconds or 0.0))  # type: ignore[arg-type]
