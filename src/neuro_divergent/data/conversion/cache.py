"""Stored panels of tables that are too large for the memory, made when they are needed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from pathlib import Path

from neuro_divergent.core.errors import ConversionWarning, StorageError
from neuro_divergent.core.formatting import format_bytes
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.data.conversion.conversion import convert
from neuro_divergent.data.conversion.journal import identify
from neuro_divergent.data.io.source import find_files
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema

VARIABLE = "ND_PANEL_CACHE"
"""Environment variable that names the directory of the panels."""
_LONGEST_WAIT = 7 * 24 * 3600.0  # for another process that converts the same table
_DIGITS = 16


def cache_directory() -> Path:
    """Return where panels are kept: ``ND_PANEL_CACHE``, or a directory in the user's cache."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "neuro-divergent" / "panels"


def cached_panel(source: str, schema: Schema, *, needed: int) -> Panel:
    """Return the stored panel of a table, converted now unless that was done before.

    A panel made from the same files when they were others is replaced. Of two processes one converts and the other
    waits.

    Args:
        source: A file or a pattern of several.
        schema: The roles of the columns and the policies.
        needed: Bytes that the panel would take in memory, for the notice.

    Raises:
        DataError: If the table cannot be used.
        StorageError: If the disk refuses.
    """
    identity = identify(find_files(source), schema, None)
    paths = [path for path, _, _ in identity["inputs"]]
    place, state = _digest([paths, identity["schema"], identity["format"]]), _digest(identity["inputs"])
    directory = cache_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"{directory}: cannot be made: {error.strerror}. Set {VARIABLE} to another place."
        ) from error
    target = directory / f"{place}-{state}"
    with RunLock(directory / f".{place}.lock", wait=_LONGEST_WAIT):
        if not (target / "panel.json").is_file():
            for old in directory.glob(f"*{place}-*"):
                if old.name not in (target.name, f".{target.name}.conversion"):
                    shutil.rmtree(old, ignore_errors=True)
            warnings.warn(
                f"{source}: {format_bytes(needed)} as a panel, which is more than half of the memory that is "
                f"available. It is converted to {target} and read from there. "
                f"'nd panel build \"{source}\" --output DIRECTORY' does that once for all",
                ConversionWarning,
                stacklevel=3,
            )
            convert(source, target, schema)
    return Panel.open(target)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:_DIGITS]
