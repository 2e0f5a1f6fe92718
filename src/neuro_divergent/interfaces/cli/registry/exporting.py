"""``nd registry export`` and ``collect``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from neuro_divergent.interfaces.cli.options import AsJson
from neuro_divergent.interfaces.cli.registry.options import USUAL, BlobPlace, Location, VersionName, open_registry

EXAMPLES = """\b
Examples:
  nd registry export sales@champion sales-model
  nd registry export sales@champion sales-mlflow --format mlflow
  nd registry collect
"""


class Layout(StrEnum):
    """What an export is written for."""

    directory = "directory"
    mlflow = "mlflow"


def export_command(
    version: VersionName,
    path: Annotated[Path, typer.Argument(metavar="DIR", help="Directory to create.")],
    layout: Annotated[Layout, typer.Option("--format", help="For this package, or for MLflow.")] = Layout.directory,
    location: Location = USUAL,
    blobs: BlobPlace = None,
    as_json: AsJson = False,
) -> None:
    """Write a version to a directory: for 'nd predict' and nd.load, or for MLflow."""
    from neuro_divergent.interfaces.cli.screen import Screen

    with open_registry(location, blobs) as registry:
        found = registry.get(version)
        registry.export(version, path, layout.value)
    screen = Screen(as_json=as_json)
    screen.say(f"Wrote {found} to {path}.")
    screen.result({"path": str(path), "version": found.version, "number": found.number, "digest": found.digest})


def collect_command(
    hours: Annotated[
        float, typer.Option("--older-than", metavar="HOURS", help="Found without a version so long ago.", min=0)
    ] = 24.0,
    location: Location = USUAL,
    blobs: BlobPlace = None,
    as_json: AsJson = False,
) -> None:
    """Remove stored files that no version has, which killed processes leave.

    The first call only notes them; a later one removes them. With --older-than 0, nothing may be registering.
    """
    from datetime import timedelta

    from neuro_divergent.interfaces.cli.screen import Screen

    with open_registry(location, blobs) as registry:
        removed = registry.remove_orphans(timedelta(hours=hours))
    screen = Screen(as_json=as_json)
    screen.say(f"Removed {len(removed):,} sets of files that no version has.")
    screen.result({"removed": removed})
