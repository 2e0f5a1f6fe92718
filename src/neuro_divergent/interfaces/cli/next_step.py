"""What to do next about an error whose message does not say it: the path that was meant, or another place."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path

from neuro_divergent.core.errors import did_you_mean
from neuro_divergent.interfaces.cli.found_runs import PLACES, TABLES, tables_here

_NOT_FOUND = re.compile(r"(?P<path>[^:]+): not found\b")
_MOST_NAMES = 4


def add_next_step(message: str) -> str:
    """Return a message with what to do next, where a path was not found or cannot be written."""
    if "cannot be written" in message and "--" not in message:
        is_full = "No space left" in message
        advice = "Make room or choose another place." if is_full else "Choose another place, as with --output."
        return f"{message.rstrip('.')}. {advice}"
    match = _NOT_FOUND.match(message)
    if match is None or "Did you mean" in message:
        return message
    hint = _hint(Path(match["path"]))
    return f"{message.rstrip('.')}.{hint}" if hint else message


def _hint(path: Path) -> str:
    directory = path.parent
    try:
        names = [name for name in os.listdir(directory) if not name.startswith(".")]  # noqa: PTH208 - one call
    except OSError:
        close = did_you_mean(str(directory), _directories(directory.parent))
        return f" There is no directory {directory}.{close or _tables(Path())}"
    if not glob.has_magic(path.name) and (close := did_you_mean(path.name, names)):
        return close if directory == Path() else close.replace(" '", f" '{directory}{os.sep}", 1)
    if not path.name.lower().endswith(TABLES):
        return " 'nd runs' lists the runs that are here." if directory == PLACES[0] else ""
    return _tables(directory)


def _tables(directory: Path) -> str:
    where = "here" if directory == Path() else f"in {directory}"
    tables = [str(table) for table in tables_here(directory)]
    if not tables:
        return f" There is no table {where}; name one with its directory, such as data/sales.csv."
    more = f" and {len(tables) - _MOST_NAMES} more" if len(tables) > _MOST_NAMES else ""
    return f" Tables {where}: {', '.join(tables[:_MOST_NAMES])}{more}."


def _directories(path: Path) -> list[str]:
    try:
        with os.scandir(path) as found:
            return [str(path / item.name) for item in found if item.is_dir()]
    except OSError:
        return []
