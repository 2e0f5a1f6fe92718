"""``nd continuous init``: a directory with settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  nd continuous init load --source 'meters/*.parquet' --horizon 24 --target kwh --time hour --id meter
  nd continuous init load --config load.toml
"""


def init_command(
    directory: Annotated[Path, typer.Argument(help="Directory to make.")],
    source: Annotated[
        str | None, typer.Option(help="CSV or Parquet file, or a pattern of files.", show_default=False)
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="Steps to forecast.", show_default=False, min=1)] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the model in the registry; that of the directory if left out.")
    ] = None,
    registry: Annotated[str, typer.Option(help="Directory or address of the registry.")] = "models",
    model: Annotated[str, typer.Option(help="Architecture.")] = "nhits",
    target: Annotated[str, typer.Option(help="Column to forecast.")] = "y",
    time: Annotated[str, typer.Option(help="Column of times.")] = "ds",
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column that names the series.", show_default=False)
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with all settings, instead of the options above.", show_default=False)
    ] = None,
) -> None:
    """Write the settings of continuous training; nothing is read or trained before the first tick."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.lifecycle.continuous.continuous import CONFIG, Continuous
    from neuro_divergent.lifecycle.continuous.settings import ContinuousConfig

    if config is not None:
        settings = ContinuousConfig.from_toml(config)
    else:
        if source is None or horizon is None:
            raise InputError("--source and --horizon are needed, or --config with a file that has them.")
        columns = {"target": target, "time": time, **({} if id_column is None else {"id": id_column})}
        settings = ContinuousConfig.from_dict(
            {
                "name": name or directory.resolve().name,
                "registry": registry,
                "source": {"name": "files", "path": source},
                "data": columns,
                "model": {"name": model},
                "task": {"horizon": horizon},
            }
        )
    Continuous.init(directory, settings)
    typer.echo(f"{directory / CONFIG}: all settings; edit what you like.")
    typer.echo(f"Then: nd continuous tick {directory}    (again and again: cron, a timer, or nd continuous run)")
