"""Whether data are a stored panel; needs neither NumPy nor polars, so that commands can look before they load them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

PANEL = "panel.json"


def is_stored_panel(data: Any) -> bool:
    """Whether data are the path of a stored panel."""
    return isinstance(data, (str, os.PathLike)) and (Path(data) / PANEL).is_file()
