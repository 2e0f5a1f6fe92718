"""``nd drift``: whether the errors of a model have changed, and whether the feed of its data is broken."""

from __future__ import annotations

import math
import shlex
import shutil
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
  nd drift models/::sales@champion new.csv --on-alert 'curl -sf --json @- https://chat.example.org/hook'
  nd drift runs/sales-nhits-20260101-120000 old-and-new.csv --inputs

Exit codes with --fail: 10 drift, 11 a broken feed, 12 cannot be judged.
"""
_DRIFT, _INCIDENT, _NOT_JUDGED = 10, 11, 12
_CODES = {"incident": _INCIDENT, "drift": _DRIFT, "not judged": _NOT_JUDGED}
_MOST_ROWS = 10
_SECONDS_FOR_ALERT = 60.0
_KINDS = (".html", ".svg", ".json")
_SEPARATOR = "::"


def drift(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Run, model directory, or a version in a registry: models/::sales@champion."
        ),
    ],
    data: Annotated[str, typer.Argument(metavar="NEWDATA", help="Table (CSV, Excel, Parquet, ...), or a quoted glob.")],
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
    on_alert: Annotated[
        str | None,
        typer.Option(
            "--on-alert",
            metavar="COMMAND",
            help="Program that gets the result as JSON on its standard input, unless there is no drift.",
            show_default=False,
        ),
    ] = None,
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 10, 11 or 12 (see below), for cron.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find out whether errors have changed or a feed is broken. The new rows are compared with held-out forecasts."""
    from neuro_divergent.data.io.source import check_source
    from neuro_divergent.interfaces.cli.progress import shown_progress
    from neuro_divergent.interfaces.cli.screen import Screen

    if not (math.isfinite(alpha) and 0 < alpha < 1):
        raise InputError(f"--alpha: {alpha:g} must be between 0 and 1, such as 0.03.")
    if output is not None and (output.is_dir() or output.suffix.lower() not in _KINDS):
        raise InputError(f"{output}: write the picture to a file that ends in {', '.join(_KINDS)}.")
    hook = _split(on_alert)
    for path in (data, *([reference] if reference is not None else [])):
        check_source(path)  # refuses what cannot be read before anything heavy is loaded
    screen = Screen(as_json=as_json)
    with shown_progress(screen.messages):
        loaded, backtest = _open(model, registry, with_backtest=reference is None)
        results = _check(loaded, data, reference or backtest, alpha, season_length, inputs=inputs)
    for result in results:
        _show(screen, result)
    if output is not None:
        _write(output, results, title=f"{Path(model).name} on {Path(data).name}")
        screen.say("", f"Written to {output}")
    documents = [result.to_dict() for result in results]
    if (following := _next(model, data, {result.verdict for result in results})) is not None:
        screen.say("")
        screen.facts([("next", following)])
    screen.result({"model": model, "data": data, **({"inputs": documents} if inputs else documents[0])})
    codes = {_CODES[result.verdict] for result in results if result.verdict in _CODES}
    if codes and hook:
        _alert(hook, {"model": model, "data": data, "results": documents})
    if fail and codes:
        worst = next(code for code in (_INCIDENT, _DRIFT, _NOT_JUDGED) if code in codes)
        raise typer.Exit(worst)


def _split(command: str | None) -> list[str]:
    """Return the words of a command.

    Raises:
        InputError: If there is no such program, before it is needed.
    """
    try:
        words = shlex.split(command or "")
    except ValueError as error:
        raise InputError(
            f"--on-alert: {command!r} cannot be read: {error}; write a program and its arguments."
        ) from None
    if command is not None and not words:
        raise InputError("--on-alert: is empty; write a program and its arguments.")
    if words and shutil.which(words[0]) is None:
        raise InputError(f"--on-alert: there is no program {words[0]!r}; write its path, and no commands of a shell.")
    return words


def _alert(hook: list[str], document: dict[str, Any]) -> None:
    from neuro_divergent.core.storage import strict_json
    from neuro_divergent.core.storage.strict_json import finite_or_none
    from neuro_divergent.lifecycle.continuous.hooks import run_hook

    run_hook(hook, strict_json.dumps(finite_or_none(document)), timeout=_SECONDS_FOR_ALERT)


def _next(model: str, data: str, verdicts: set[str]) -> str | None:
    """Return the command to run next; ``None`` if all is well or the model is not a run."""
    config = Path(model) / "config.toml"
    if "incident" in verdicts:
        return "look at the feed, then run the same command again"
    if "drift" in verdicts and config.is_file():
        return f"nd train {shlex.quote(str(config))} --set data.path={shlex.quote(data)}"
    return None


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
