"""``nd predict``: forecasts from a trained model."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuro_divergent.core.errors import InputError
from neuro_divergent.interfaces.cli.options import AsJson, ModelPath, parse_horizon, parse_levels, parse_numbers

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.interfaces.cli.new_data import NewData

_MOST_BYTES = 1024**2

EXAMPLES = """\b
Examples:
  nd predict runs/sales-nhits-20260101-120000
  nd predict runs/sales-nhits-20260101-120000 new.csv --levels 80,95 --output forecasts.csv
  nd predict model/ load.csv --future weather.csv --json
"""


def predict(
    model: ModelPath,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="Series to forecast; left out, those of training.")
    ] = None,
    future: Annotated[str | None, typer.Option("--future", help="File of the covariates known ahead.")] = None,
    levels: Annotated[str | None, typer.Option("--levels", metavar="PERCENT,...", help="Intervals, as 80,95.")] = None,
    quantiles: Annotated[
        str | None, typer.Option("--quantiles", metavar="QUANTILE,...", help="Quantiles to forecast, such as 0.1,0.9.")
    ] = None,
    horizon: Annotated[str | None, typer.Option("--horizon", help="Steps; unset, those of training.")] = None,
    missing: Annotated[str | None, typer.Option("--missing", help="Missing values; unset, as in training.")] = None,
    gaps: Annotated[str | None, typer.Option("--gaps", help="Missing rows; unset, as in training.")] = None,
    short: Annotated[str | None, typer.Option("--short", help="Too short series; unset, as in training.")] = None,
    unknown_category: Annotated[
        str | None, typer.Option("--unknown-category", help="Categories new since training: error, unknown.")
    ] = None,
    encoding: Annotated[str | None, typer.Option("--encoding", help="Of CSV files; unset, as in training.")] = None,
    date_format: Annotated[
        str | None, typer.Option("--date-format", help="Of the times, as %d/%m/%Y; unset, as in training.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to a .csv or .parquet file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Forecast what comes after the end of each series."""
    from neuro_divergent.data.io.table_file import check_table_name, write_table
    from neuro_divergent.interfaces.cli.run_directory import any_model_directory, model_directory

    other = any_model_directory(model)
    path = model_directory(model) if other is None else other
    percent, wanted = parse_levels(levels), parse_numbers(quantiles, "--quantiles")
    steps = None if horizon is None else parse_horizon(horizon)
    if output is not None:
        check_table_name(output)

    from neuro_divergent.interfaces.cli.new_data import read_new_data

    given = {
        "missing": missing, "gaps": gaps, "short": short, "unknown_category": unknown_category, "encoding": encoding,
        "date_format": date_format,
    }  # fmt: skip
    changes = {name: value for name, value in given.items() if value is not None}
    if other is None:
        new = read_new_data(path, data, future, horizon=steps, changes=changes)
        frame = _forecast(path, new, changes, levels=percent, quantiles=tuple(wanted), horizon=steps)
    else:
        _refuse(changes, steps)
        frame = _forecast_any(path, data, future, levels=percent, quantiles=tuple(wanted))

    from neuro_divergent.interfaces.cli.screen import Screen

    _warn(path)
    if output is not None:
        write_table(output, frame)
        Screen(quiet=as_json).say(f"{frame.height:,} rows written to {output}")
    elif not as_json:
        # What a program reads next is better served by CSV than by a drawn table, and so is a person's eye.
        sys.stdout.write(frame.write_csv())
    if as_json:
        rows = frame.to_dicts()
        Screen(as_json=True).result({"model": str(path), "rows": len(rows), "forecasts": rows})


def _warn(path: Path) -> None:
    """Say that the forecasts of a run should not be used, if its scores do."""
    from neuro_divergent.core.errors import NeuroDivergentError
    from neuro_divergent.core.storage.atomic import read_json
    from neuro_divergent.reporting.advice import Advice
    from neuro_divergent.runs.directory import SCORES

    with suppress(NeuroDivergentError):
        advice = Advice.read(read_json(path.parent / SCORES, _MOST_BYTES))
        if advice is not None and advice.is_warning:
            sys.stderr.write(f"{advice.text}\n")


def _refuse(changes: dict[str, Any], horizon: int | None) -> None:
    """Refuse options that only a single network has."""
    given = [*changes, *(["horizon"] if horizon is not None else [])]
    if given:
        raise InputError(f"--{given[0].replace('_', '-')}: only models of one network have it; leave it out.")


def _forecast_any(
    path: Path, data: str | None, future: str | None, *, levels: tuple[float, ...], quantiles: tuple[float, ...]
) -> pl.DataFrame:
    """Load a model of any other kind and run it."""
    from neuro_divergent.data.io.source import read_table
    from neuro_divergent.forecasting.load import load
    from neuro_divergent.interfaces.cli.silence import silenced

    loaded = load(path)
    with silenced():
        return read_table(loaded.predict(data, future=future, levels=levels, quantiles=quantiles)).frame


def _forecast(
    path: Path,
    new: NewData,
    changes: dict[str, Any],
    *,
    levels: tuple[float, ...],
    quantiles: tuple[float, ...],
    horizon: int | None,
) -> pl.DataFrame:
    """Load the model and run it."""
    import dataclasses

    from neuro_divergent.data.io.source import read_table
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.forecasting.prediction_context import PredictionContext

    fitted = Forecaster.load(path).fitted
    context = dataclasses.replace(fitted.context, schema=fitted.context.schema.replace(**changes))
    fitted = dataclasses.replace(fitted, context=context)
    prediction = PredictionContext.of(fitted, new.series, future=new.future, horizon=horizon)
    # A model that was trained on a pandas or Arrow table gives such a table back.
    return read_table(prediction.table(levels, quantiles)).frame
