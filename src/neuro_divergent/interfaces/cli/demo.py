"""``nd demo``: everything at once, on data that comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuro_divergent.interfaces.cli.options import AsJson, Quiet

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.workflow.outcome import Outcome

EXAMPLES = """\b
Examples:
  nd demo
  nd demo --model dlinear --output my-demo
"""
_HORIZON = 12
_SHOWN = "AirPassengers"


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory to write to.")] = Path("demo"),
    model: Annotated[str | None, typer.Option("--model", "-m", help="Architecture (a small nhits).")] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train on bundled data, show a forecast, write a page."""
    from neuro_divergent.data.io.table_file import write_table
    from neuro_divergent.forecasting.training_run import TrainingRun
    from neuro_divergent.interfaces.cli import session
    from neuro_divergent.interfaces.cli.screen import Screen
    from neuro_divergent.interfaces.cli.summary import show_outcome
    from neuro_divergent.runs.directory import CONFIG, RunDirectory

    screen = Screen(quiet=quiet, as_json=as_json)
    levels = (80.0, 95.0)
    directory = RunDirectory(output)
    config = session.check(_settings(model, output / "data.csv"), levels)
    if not (output / CONFIG).is_file():
        directory.check_free()
    with session.print_resume_hint(directory), directory.opened():
        directory.clear()
        write_table(output / "data.csv", demo_data())
        panel = session.read_panel(config)
        outcome = session.execute(TrainingRun(directory, config), panel, screen, session.TrainOptions(levels))
    show_table(outcome, screen)
    show_outcome(outcome, screen, series=[_SHOWN])
    session.show_files(outcome, directory, screen)


def demo_data() -> pl.DataFrame:
    """Return the airline passengers and five generated monthly series."""
    import polars as pl

    from neuro_divergent.data.datasets.bundled import air_passengers
    from neuro_divergent.data.datasets.synthetic import Synthetic

    made = Synthetic(
        num_series=5, length=144, frequency="1mo", start="1949-01-01", level=200, trend=1.5, seasonalities=(12,),
        amplitude=40, noise=8,
    )  # fmt: skip
    return pl.concat([air_passengers(), made.frame().with_columns(pl.col("ds").cast(pl.Date))])


def show_table(outcome: Outcome, screen: Screen) -> None:
    """Show the forecast of one series as a table."""
    import polars as pl

    from neuro_divergent.core.formatting import format_time
    from neuro_divergent.interfaces.cli.screen import new_table

    if outcome.forecasts is None:
        return
    forecast = outcome.forecasts.filter(pl.col("unique_id") == _SHOWN)
    bounds = [column for column in forecast.columns if column.startswith(("lo-", "hi-"))]
    columns = ("forecast", *bounds)
    table = new_table(_SHOWN, *columns, right=columns)
    for row in forecast.to_dicts():
        table.add_row(format_time(row["ds"]), *(f"{row[column]:.1f}" for column in columns))
    screen.say("", table)


def _settings(model: str | None, data: Path) -> dict[str, Any]:
    return {
        "data": {"path": str(data)},
        "model": model or {"name": "nhits", "hidden_size": 128},
        "task": {"horizon": _HORIZON, "input_size": 3 * _HORIZON, "validation": 24, "test": 12},
        # One thread: on a busy machine a second one makes so small a network many times slower.
        "training": {"max_steps": 500, "threads": 1},
    }
