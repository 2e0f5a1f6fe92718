"""``nd predict``: forecasts from a trained model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from neuro_divergent.interfaces.cli.options import AsJson, ModelPath, parse_levels, parse_numbers

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
    quantiles: Annotated[str | None, typer.Option("--quantiles", metavar="SHARE,...", help="As 0.1,0.9.")] = None,
    horizon: Annotated[int | None, typer.Option("--horizon", help="Steps; unset, those of training.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to a .csv or .parquet file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Forecast what comes after the end of each series."""
    from neuro_divergent.interfaces.cli.run_directory import check_table_name, model_directory, write_table

    path = model_directory(model)
    percent, shares = parse_levels(levels), parse_numbers(quantiles, "--quantiles")
    if output is not None:
        check_table_name(output)
    for file in filter(None, (data, future)):
        check_source(file)

    from neuro_divergent.data.source import read_table
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.interfaces.cli.screen import Screen

    result = Forecaster.load(path).predict(data, future=future, levels=percent, quantiles=shares, horizon=horizon)
    frame = read_table(result).frame  # a model that was trained on a pandas or Arrow table gives such a table back
    if output is not None:
        write_table(output, frame)
        Screen(quiet=as_json).say(f"{frame.height:,} rows written to {output}")
    elif not as_json:
        # What a program reads next is better served by CSV than by a drawn table, and so is a person's eye.
        sys.stdout.write(frame.write_csv())
    if as_json:
        rows = frame.to_dicts()
        Screen(as_json=True).result({"model": str(path), "rows": len(rows), "forecasts": rows})


def check_source(file: str) -> None:
    """Refuse a file or pattern that is not there before anything heavy is loaded."""
    import glob

    from neuro_divergent.core.errors import DataError

    if not Path(file).exists() and not glob.glob(file, recursive=True):  # noqa: PTH207 (Path.glob takes no absolute ones)
        raise DataError(f"{file}: not found.")
