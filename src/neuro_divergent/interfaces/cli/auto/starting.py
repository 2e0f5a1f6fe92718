"""``nd auto FILE``: from a table and a time budget to forecasts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from neuro_divergent.interfaces.cli.config_options import DATA_OPTIONS, HORIZON, ConfigOption, with_config_options
from neuro_divergent.interfaces.cli.options import AsJson, Levels, Quiet, option, parse_levels, split_list

EXAMPLES = """\b
Examples:
  nd auto sales.csv --horizon 28 --budget 10m
  nd auto sales.parquet --target units --time date --id store --horizon 28 --preset best -o runs/sales
  nd auto run.toml
  nd auto resume runs/sales-auto-20260101-120000
  nd auto show runs/sales-auto-20260101-120000 --toml > run.toml
"""
_OPTIONS = (*DATA_OPTIONS, HORIZON, ConfigOption("task.season_length"), ConfigOption("training.seed"))


@with_config_options(_OPTIONS)
def start_command(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Table, a quoted glob, or what 'nd auto show --toml' wrote."),
    ],
    fields: dict[str, Any],
    budget: Annotated[
        str | None,
        option(
            "--budget",
            "-b",
            metavar="10m",
            text="Time for everything: 90s, 10m, 1h; unset, the preset's.",
            panel="Auto",
        ),
    ] = None,
    preset: Annotated[
        str | None, option("--preset", metavar="NAME", text="fast, balanced or best (balanced).", panel="Auto")
    ] = None,
    metric: Annotated[
        str | None, option("--metric", metavar="NAME", text="Error to minimise (mase).", panel="Auto")
    ] = None,
    model: Annotated[
        list[str] | None,
        option(
            "--model", "-m", metavar="NAME,...", text="Candidates; unset, by what the series are like.", panel="Auto"
        ),
    ] = None,
    jobs: Annotated[
        int | None, option("--jobs", "-j", text="Processes side by side; unset, one per core.", panel="Auto")
    ] = None,
    future: Annotated[
        str | None,
        option("--future-table", metavar="FILE", text="Covariates known ahead, for the horizon of every series."),
    ] = None,
    levels: Levels = "80,95",
    output: Annotated[
        Path | None, option("--output", "-o", metavar="DIRECTORY", text="Run (runs/<file>-auto-<time>).")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find the best combination of models within a time budget, and forecast with it.

    The same command with the same --output goes on after an interruption.
    """
    began = time.monotonic()
    from neuro_divergent.core.config import read_toml
    from neuro_divergent.interfaces.cli.auto.running import AutoOptions, run_auto
    from neuro_divergent.interfaces.cli.screen import Screen

    values: dict[str, Any] = read_toml(Path(file)) if file.lower().endswith(".toml") else {"data": {"path": file}}
    settings = {"budget": budget, "preset": preset, "metric": metric, "models": split_list(model) or None, "jobs": jobs}
    settings |= {
        "horizon": fields.pop("task.horizon", None),
        "season_length": fields.pop("task.season_length", None),
        "seed": fields.pop("training.seed", None),
    }
    data = {**values.get("data", {}), **{key.partition(".")[2]: value for key, value in fields.items()}}
    options = AutoOptions(
        data=data,
        settings={key: value for key, value in settings.items() if value is not None},
        plan=values.get("auto"),
        levels=parse_levels(levels),
        future=future,
        output=output,
        began=began,
    )
    run_auto(options, Screen(quiet=quiet, as_json=as_json))
