"""``nd evaluate``: scores of a trained model on a file, compared with the baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from neuro_divergent.interfaces.cli.config_options import READING_OPTIONS, with_config_options
from neuro_divergent.interfaces.cli.options import AsJson, ModelPath, Output, SeasonLength, parse_amount, parse_levels

EXAMPLES = """\b
Examples:
  nd evaluate runs/sales-nhits-20260101-120000 sales-of-next-year.csv
  nd evaluate model/ new.parquet --last 48 --levels 80 --json
  nd evaluate model/ new.parquet --output evaluation/
"""


@with_config_options(READING_OPTIONS)
def evaluate(
    model: ModelPath,
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="File or panel to score the model on, with the columns of training.")
    ],
    fields: dict[str, Any],
    last: Annotated[
        str, typer.Option("--last", help="Fraction or number of rows at the end of each series to forecast.")
    ] = "0.2",
    levels: Annotated[str | None, typer.Option("--levels", metavar="PERCENT,...", help="Intervals (80,95).")] = None,
    season_length: SeasonLength = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Score a trained model on a table. So are the baselines, with significance tests.

    Tables are read with the settings of training, unless others are given.
    """
    from neuro_divergent.interfaces.cli.comparing import check_place, show_comparison, write_comparison
    from neuro_divergent.interfaces.cli.run_directory import model_directory

    path = model_directory(model, "nd evaluate")
    percent = None if levels is None else parse_levels(levels)
    amount = parse_amount(last)
    from neuro_divergent.data.panel_store.stored import is_stored_panel

    if not is_stored_panel(data):
        from neuro_divergent.data.io.source import check_source

        check_source(data)  # refuses what cannot be read before anything heavy is loaded
    check_place(output)

    from neuro_divergent.interfaces.cli.interruption import ends_with
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.screen import Screen

    screen = Screen(as_json=as_json)
    with ends_with("Interrupted; nothing was written."):
        with screen.messages.status("loading torch"):
            from neuro_divergent.data.io.source import read_table
            from neuro_divergent.evaluation.comparison.comparison import compare
            from neuro_divergent.evaluation.evaluate import evaluate as score
            from neuro_divergent.forecasting.forecaster import Forecaster
        forecaster = Forecaster.load(path)
        how = {key.removeprefix("data."): value for key, value in fields.items()}
        given = data if not how else read_table(data, forecaster.schema.replace(**how))
        with shown_progress(screen.messages):
            evaluation = score(forecaster, given, last=amount, levels=percent, season_length=season_length)
    schema = forecaster.schema
    # Under its name, the model is compared with the baselines like any other.
    forecasts = evaluation.forecasts.rename({"forecast": evaluation.model})
    comparison = compare(forecasts, "mae", id=schema.id, time=schema.time)
    screen.scores(evaluation)
    show_comparison(screen, comparison, verdict=False)
    if output is not None:
        title = f"{evaluation.model} on {Path(data).name}"
        write_comparison(output, comparison, title=title, forecasts=evaluation.forecasts, scores=evaluation.table)
        screen.say(f"Written to {output}")
    screen.result({"path": str(path), "data": data, **evaluation.to_dict(), "comparison": comparison.to_dict()})
