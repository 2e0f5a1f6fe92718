"""``nd drift``: whether the errors of a model have changed, and whether the feed of its data is broken."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuro_divergent.core.errors import InputError
from neuro_divergent.interfaces.cli.options import AsJson, SeasonLength

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.forecasting.protocol import ForecastModel
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.lifecycle.drift.drift_result import DriftResult

EXAMPLES = """\b
Examples:
  nd drift runs/sales-nhits-20260101-120000 new.csv
  nd drift runs/sales-nhits-20260101-120000 new.csv --output drift.html
  nd drift model/ new.csv --reference backtest.parquet --json
  nd drift models/::sales@champion new.csv --fail
  nd drift runs/sales-nhits-20260101-120000 old-and-new.csv --inputs

Exit codes with --fail: 10 drift, 11 a broken feed, 12 cannot be judged.
"""
_DRIFT, _INCIDENT, _NOT_JUDGED = 10, 11, 12
_CODES = {"incident": _INCIDENT, "drift": _DRIFT, "not judged": _NOT_JUDGED}
_MOST_ROWS = 10
_KINDS = (".html", ".svg", ".json")
_SEPARATOR = "::"


def drift(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Run, model directory, or a version in a registry: models/::sales@champion."
        ),
    ],
    data: Annotated[str, typer.Argument(metavar="NEWDATA", help="CSV or Parquet file, or a quoted glob.")],
    registry: Annotated[
        str | None, typer.Option("--registry", help="Registry that MODEL is a version of.", show_default=False)
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference", help="Table of forecasts of held-out values (that of the run).", show_default=False
        ),
    ] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Probability of a false alarm of this check.")] = 0.03,
    inputs: Annotated[
        bool, typer.Option("--inputs", help="Compare inputs instead of errors, while actual values are missing.")
    ] = False,
    season_length: SeasonLength = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Picture or page to write: .svg, .html or .json.")
    ] = None,
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 10, 11 or 12 (see below), for cron.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find out whether the errors of a model have changed, and whether the feed of its data is broken."""
    from neuro_divergent.data.io.source import find_files
    from neuro_divergent.interfaces.cli.screen import Screen

    if not (math.isfinite(alpha) and 0 < alpha < 1):
        raise InputError(f"--alpha: {alpha:g} must be between 0 and 1, such as 0.03.")
    if output is not None and (output.is_dir() or output.suffix.lower() not in _KINDS):
        raise InputError(f"{output}: write the picture to a file that ends in {', '.join(_KINDS)}.")
    for path in (data, *([reference] if reference is not None else [])):
        find_files(path)  # refuses what cannot be read before anything heavy is loaded
    loaded, backtest = _open(model, registry, with_backtest=reference is None)
    results = _check(loaded, data, reference or backtest, alpha, season_length, inputs=inputs)
    screen = Screen(as_json=as_json)
    for result in results:
        _show(screen, result)
    if output is not None:
        _write(output, results, title=f"{Path(model).name} on {Path(data).name}")
        screen.say("", f"Written to {output}")
    documents = [result.to_dict() for result in results]
    screen.result({"model": model, "data": data, **({"inputs": documents} if inputs else documents[0])})
    codes = {_CODES[result.verdict] for result in results if result.verdict in _CODES}
    if fail and codes:
        worst = next(code for code in (_INCIDENT, _DRIFT, _NOT_JUDGED) if code in codes)
        raise typer.Exit(worst)


def _open(model: str, registry: str | None, *, with_backtest: bool) -> tuple[ForecastModel, pl.DataFrame | None]:
    """Load a model, and the forecasts of held-out values that belong to it."""
    from neuro_divergent.forecasting.load import load

    if registry is None and _SEPARATOR in model:
        registry, _, model = model.rpartition(_SEPARATOR)
    if registry is not None:
        from neuro_divergent.lifecycle.registry.registry import Registry

        with Registry(registry, create=False) as opened:
            version = opened.get(model)
            return version.load(), version.backtest() if with_backtest else None
    path = Path(model)
    if not path.exists():
        raise InputError(f"{model}: not found; give a run, a saved model, or a version: models/::sales@champion.")
    from neuro_divergent.runs.tables import RunTables

    return load(path), RunTables(path).backtest if with_backtest else None


def _check(
    model: ForecastModel, data: str, reference: Any, alpha: float, season_length: int | None, *, inputs: bool
) -> list[DriftResult]:
    from neuro_divergent.lifecycle.drift.model_check import check_inputs, check_model

    if inputs:
        return list(check_inputs(model, data, alpha=alpha, season_length=season_length).values())
    return [check_model(model, data, reference=reference, alpha=alpha, season_length=season_length)]


def _show(screen: Screen, result: DriftResult) -> None:
    """Say what was found, with the tests of the panel and the series that stand out."""
    from rich.text import Text

    from neuro_divergent.interfaces.cli.screen import new_table
    from neuro_divergent.lifecycle.drift.page import PANEL_TITLES, SERIES_TITLES, panel_rows, series_rows

    styles = {"drift": "red", "incident": "bold red", "not judged": "yellow", "no drift": "green"}
    screen.say(Text(result.sentence, styles[result.verdict]))
    for titles, rows in ((PANEL_TITLES, panel_rows(result)), (SERIES_TITLES, series_rows(result))):
        if rows:
            table = new_table(*titles, right=titles[1:5])
            for row in rows[:_MOST_ROWS]:
                table.add_row(*map(Text, row))
            screen.say("", table)
            if len(rows) > _MOST_ROWS:
                screen.say(f"... and {len(rows) - _MOST_ROWS:,} more")
    for reason, count in result.left_out.items():
        screen.say(f"Not compared: {count:,} series ({reason}).")


def _write(path: Path, results: list[DriftResult], *, title: str) -> None:
    """Write a picture, a page or plain values, by the ending of the name."""
    from neuro_divergent.core.storage import strict_json
    from neuro_divergent.core.storage.atomic import write_file
    from neuro_divergent.lifecycle.drift.figures import drift_figure
    from neuro_divergent.lifecycle.drift.page import render_drift
    from neuro_divergent.reporting.svg.file import render_svg

    kind = path.suffix.lower()
    if kind == ".html":
        content = render_drift(results, title=title).encode()
    elif kind == ".json":
        content = strict_json.dumps([result.to_dict() for result in results], indent=1)
    else:
        shown = [result for result in results if result.tests]
        if not shown:
            raise InputError(f"{path}: there is no picture, because nothing was compared; a .html page has the words.")
        content = render_svg(drift_figure(min(shown, key=lambda result: result.p_value or 0.0))).encode()
    write_file(path, content)
