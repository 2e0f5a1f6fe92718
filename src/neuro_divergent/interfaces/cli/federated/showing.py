"""``nd federated status``: where a federation is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  nd federated status hospitals/server/run
  nd federated status runs/stores --json
"""


def status_command(
    directory: Annotated[Path, typer.Argument(help="Directory of the federation.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show rounds, clients and what was spent of a privacy budget; also while it runs."""
    from neuro_divergent.interfaces.cli.federated.status import show_status

    show_status(directory, as_json=as_json)
