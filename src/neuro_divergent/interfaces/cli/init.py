"""``nd init``: writes a commented TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  nd init
  nd init sales.toml --data sales.csv --horizon 28 --model dlinear
"""
_USUAL = Path("run.toml")


def init(
    path: Annotated[Path, typer.Argument(metavar="[PATH]", help="File to write.", show_default=True)] = _USUAL,
    data: Annotated[str, typer.Option("--data", help="Table to train on.")] = "data.csv",
    horizon: Annotated[int, typer.Option("--horizon", help="Steps to forecast.", min=1)] = 24,
    model: Annotated[str, typer.Option("--model", "-m", help="Architecture.")] = "nhits",
    force: Annotated[bool, typer.Option("--force", help="Write over a file that exists.")] = False,
) -> None:
    """Write a TOML file with every setting explained."""
    from neuro_divergent.core.errors import InputError
    from neuro_divergent.models.base import Architecture

    name = Architecture.registry.check(model)
    if path.is_dir():
        path = path / _USUAL
    if path.suffix != ".toml":
        raise InputError(f"{path}: a run is a .toml file, such as run.toml.")
    if path.exists() and not force:
        raise InputError(f"{path}: exists already; choose another name, or pass --force to write over it.")

    from neuro_divergent.core.storage.atomic import write_file
    from neuro_divergent.reporting.config_document import write_document

    text = write_document(str(path), path=data, horizon=horizon, architecture=Architecture.from_dict(name))
    write_file(path, text.encode("utf-8"))
    typer.echo(f"{path} written. Look through it, then: nd train {path}")
