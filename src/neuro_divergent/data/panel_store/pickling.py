"""Panels on disk as messages between processes: where they are, and not their values."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import StorageError
from neuro_divergent.data.io.table import IN_MEMORY
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_store.mapping import MappedView, picklable
from neuro_divergent.data.panel_store.reading import read_panel

_DEFAULTS = {"source": IN_MEMORY}  # of fields that are not stored


def reduce_panel(panel: Panel) -> tuple[Any, ...]:
    """Return how to make a panel on disk again in another process.

    With its series as they are stored, it is its path and what was changed; else places in files and what is in memory.
    """
    files = panel.files
    assert files is not None
    values = {field.name: picklable(getattr(panel, field.name)) for field in dataclasses.fields(panel)}
    if not all(getattr(panel, name) is files.fields.get(name) for name in ("ids", "starts", "offsets")):
        return _restore, (values,)
    changed = {
        name: value
        for name, value in values.items()
        if name != "files" and getattr(panel, name) is not files.fields.get(name, _DEFAULTS.get(name))
    }
    return _open_again, (files.directory, files.parts, files.digests, changed)


def _restore(values: dict[str, Any]) -> Panel:
    return Panel(**_opened(values))


def _open_again(directory: Path, parts: tuple[str, ...], digests: tuple[str, ...], changed: dict[str, Any]) -> Panel:
    fields = read_panel(directory, parts=parts)
    if fields["files"].digests != digests:
        raise StorageError(f"{directory}: changed since it was opened; open it again.")
    return dataclasses.replace(Panel(**fields), **_opened(changed))


def _opened(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value.open() if isinstance(value, MappedView) else value for name, value in values.items()}
