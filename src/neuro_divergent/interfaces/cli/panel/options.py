"""Arguments that the commands of ``nd panel`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PanelPath = Annotated[Path, typer.Argument(metavar="PANEL", help="Directory of the panel.")]
