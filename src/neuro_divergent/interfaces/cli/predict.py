"""``nd predict``: forecasts from a trained model."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuro_divergent.core.errors import InputError, NeuroDivergentError
from neuro_divergent.data.panel_store.stored import is_stored_panel
from neuro_divergent.interfaces.cli.config_options import READING_OPTIONS, with_config_options
from neuro_divergent.interfaces.cli.exported_forecast import (
    PredictOptions,
    SmallForecast,
    exported_beside,
    forecast_exported,
    forecast_file,
    is_exported_file,
)
from neuro_divergent.interfaces.cli.options import (
    AsJson,
    ModelPath,
    option,
    parse_horizon,
    parse_levels,
    parse_numbers,
)
from neuro_divergent.interfaces.cli.scoring import ScoringOptions, score_to_directory, writes_directory

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.serving.exported_model import ExportedModel

_MOST_BYTES = 1024**2

EXAMPLES = """\b
Examples:
  nd predict runs/sales-nhits-20260101-120000
  nd predict runs/sales-nhits-20260101-120000 new.csv --levels 80,95 --output forecasts.csv
  nd predict model/ load.csv --future weather.csv --json
  nd predict model.onnx new.csv
  nd predict model/ "in/*.parquet" --output forecasts/ --if-newer
  nd predict model/ panel/ --output forecasts/
"""


@with_config_options(READING_OPTIONS)
def predict(
    model: ModelPath,
    fields: dict[str, Any],
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="Series to forecast; left out, those of training.")
    ] = None,
    future: Annotated[str | None, typer.Option("--future", help="File of the covariates known ahead.")] = None,
    levels: Annotated[str | None, typer.Option("--levels", metavar="PERCENT,...", help="Intervals, as 80,95.")] = None,
    quantiles: Annotated[
        str | None, typer.Option("--quantiles", metavar="QUANTILE,...", help="Quantiles to forecast, such as 0.1,0.9.")
    ] = None,
    horizon: Annotated[str | None, typer.Option("--horizon", help="Steps; unset, those of training.")] = None,
    missing: Annotated[
        str | None, option("--missing", text="Missing values; unset, as in training.", panel="Data")
    ] = None,
    gaps: Annotated[str | None, option("--gaps", text="Missing rows; unset, as in training.", panel="Data")] = None,
    duplicates: Annotated[
        str | None, option("--duplicates", text="Rows of one series and time; unset, as in training.", panel="Data")
    ] = None,
    short: Annotated[
        str | None, option("--short", text="Too short series; unset, as in training.", panel="Data")
    ] = None,
    unknown_category: Annotated[
        str | None, option("--unknown-category", text="Categories new since training: error, unknown.", panel="Data")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Write to a .csv or .parquet file, or many files to a directory."),
    ] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="TIME", help="Leave out rows after this time (directory).")
    ] = None,
    if_newer: Annotated[
        bool, typer.Option("--if-newer", help="Do nothing if neither data nor model changed (directory).")
    ] = False,
    sql: Annotated[str | None, typer.Option("--sql", metavar="QUERY", help="Series from a query (directory).")] = None,
    database: Annotated[
        str | None, typer.Option("--database", metavar="ADDRESS", help="Database of the query (directory).")
    ] = None,
    source_format: Annotated[
        str | None, typer.Option("--format", help="Of DATA: parquet, csv or delta; unset, by its name (directory).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Forecast what comes after the end of each series. New tables are read with the settings of training.

    With an exported file beside the model (nd export) no torch is loaded. MODEL may be such a file as well.
    """
    scoring = ScoringOptions(as_of=as_of, if_newer=if_newer, sql=sql, database=database, source_format=source_format)
    exported = None if is_exported_file(model) else exported_beside(model)
    if exported is None and not is_exported_file(model):
        _locate(model)  # says what is wrong with it before anything else is looked at
    given = {
        "missing": missing, "gaps": gaps, "duplicates": duplicates, "short": short,
        "unknown_category": unknown_category, **{key.removeprefix("data."): value for key, value in fields.items()},
    }  # fmt: skip
    options = PredictOptions(
        data=data,
        future=future,
        levels=parse_levels(levels),
        quantiles=tuple(parse_numbers(quantiles, "--quantiles")),
        horizon=None if horizon is None else parse_horizon(horizon),
        changes={name: value for name, value in given.items() if value is not None},
    )
    if writes_directory(output, data, scoring):
        assert output is not None, "a directory has a name"
        score_to_directory(model, options, scoring, output, as_json=as_json)
        return
    path = None if output is None else Path(output)
    if path is not None and path.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"{path}: write forecasts to a .csv or a .parquet file.")
    _forecast_table(model, exported, options, path, as_json=as_json)


def _forecast_table(
    model: Path,
    exported: tuple[ExportedModel, Path] | None,
    options: PredictOptions,
    output: Path | None,
    *,
    as_json: bool,
) -> None:
    """Forecast with an exported graph where that is possible, or else with the model, and write the table."""
    needs_frame = output is not None and output.suffix.lower() == ".parquet"
    if is_exported_file(model):
        if is_stored_panel(options.data):
            raise InputError(f"{options.data}: pass --output forecasts/ to forecast a panel with an exported file.")
        _write(forecast_file(model, options, needs_frame=needs_frame), model, output, as_json=as_json)
        return
    place, found = model, None
    if exported is not None and not is_stored_panel(options.data):
        graph, place = exported
        found = forecast_exported(graph, options, needs_frame=needs_frame)
    if found is None:
        from neuro_divergent.interfaces.cli.interruption import ends_with
        from neuro_divergent.interfaces.cli.progress import shown_progress
        from neuro_divergent.interfaces.cli.screen import Screen

        with ends_with("Interrupted; nothing was written."), shown_progress(Screen(as_json=as_json).messages):
            place, found = _forecast(model, options)
    _warn(place)
    _write(found, place, output, as_json=as_json)


def _locate(model: Path) -> tuple[Path, bool]:
    """Return the directory of a model, and whether it is a single network.

    Raises:
        InputError: If there is no model.
    """
    from neuro_divergent.interfaces.cli.run_directory import any_model_directory, model_directory

    other = any_model_directory(model)
    return (model_directory(model), True) if other is None else (other, False)


def _forecast(model: Path, options: PredictOptions) -> tuple[Path, pl.DataFrame]:
    """Forecast with the model itself; return its directory too."""
    path, is_network = _locate(model)
    if is_network:
        return path, _forecast_network(path, options)
    _refuse(options)
    return path, _forecast_any(path, options)


def _write(forecast: SmallForecast | pl.DataFrame, model: Path, output: Path | None, *, as_json: bool) -> None:
    """Write forecasts to a file or standard output."""
    count = len(forecast)
    if output is not None:
        _write_file(output, forecast)
        from neuro_divergent.interfaces.cli.screen import Screen

        Screen(quiet=as_json).say(f"{count:,} rows written to {output}")
    elif not as_json:
        # What a program reads next is better served by CSV than by a drawn table, and so is a person's eye.
        sys.stdout.write(forecast.to_csv().decode() if isinstance(forecast, SmallForecast) else forecast.write_csv())
    if as_json:
        from neuro_divergent.interfaces.cli.screen import Screen

        rows = forecast.to_rows() if isinstance(forecast, SmallForecast) else forecast.to_dicts()
        Screen(as_json=True).result({"model": str(model), "rows": count, "forecasts": rows})


def _write_file(path: Path, forecast: SmallForecast | pl.DataFrame) -> None:
    if isinstance(forecast, SmallForecast):
        from neuro_divergent.core.storage.atomic import write_file

        write_file(path, forecast.to_csv())
        return
    from neuro_divergent.data.io.table_file import write_table

    write_table(path, forecast)


def _warn(path: Path) -> None:
    """Say that the forecasts of a run should not be used, if its scores do."""
    from neuro_divergent.core.storage.atomic import read_json
    from neuro_divergent.runs.directory import SCORES

    with suppress(NeuroDivergentError):
        scores = read_json(path.parent / SCORES, _MOST_BYTES)
        if not isinstance(scores, dict) or not scores.get("advice"):
            return  # before what would explain it is imported
        from neuro_divergent.reporting.advice import Advice

        advice = Advice.read(scores)
        if advice is not None and advice.is_warning:
            sys.stderr.write(f"{advice.text}\n")


def _refuse(options: PredictOptions) -> None:
    """Refuse options that only a single network has."""
    given = [*options.changes, *(["horizon"] if options.horizon is not None else [])]
    if given:
        raise InputError(f"--{given[0].replace('_', '-')}: only models of one network have it; leave it out.")


def _forecast_any(path: Path, options: PredictOptions) -> pl.DataFrame:
    """Load a model of any other kind and run it."""
    from neuro_divergent.data.io.source import read_table
    from neuro_divergent.forecasting.load import load
    from neuro_divergent.interfaces.cli.silence import silenced

    loaded = load(path)
    levels, quantiles = options.levels, options.quantiles
    with silenced():
        table = loaded.predict(options.data, future=options.future, levels=levels, quantiles=quantiles)
        return read_table(table).frame


def _forecast_network(path: Path, options: PredictOptions) -> pl.DataFrame:
    """Load the model and run it, after checking the data, which takes less time."""
    import dataclasses

    from neuro_divergent.interfaces.cli.new_data import read_new_data

    data = None if is_stored_panel(options.data) else options.data  # A panel was checked when it was built.
    new = read_new_data(path, data, options.future, horizon=options.horizon, changes=options.changes)

    from neuro_divergent.data.io.source import read_table
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.forecasting.prediction_context import PredictionContext

    fitted = Forecaster.load(path).fitted
    context = dataclasses.replace(fitted.context, schema=fitted.context.schema.replace(**options.changes))
    fitted = dataclasses.replace(fitted, context=context)
    series = options.data if is_stored_panel(options.data) else new.series
    prediction = PredictionContext.of(fitted, series, future=new.future, horizon=options.horizon)
    # A model that was trained on a pandas or Arrow table gives such a table back.
    return read_table(prediction.table(options.levels, options.quantiles)).frame
