"""Whether every byte of a stored panel is what was written."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.core.storage.manifest import Entry, check_digest
from neuro_divergent.core.storage.regular_file import opened, read_file
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_store.files import PARTS, WITH_PARTS
from neuro_divergent.data.panel_store.progress import ByteProgress
from neuro_divergent.data.panel_store.reading import (
    first_settings,
    list_first,
    list_part,
    read_parts_list,
    read_settings,
)
from neuro_divergent.data.panel_store.stored import PANEL

_BLOCK = 1 << 24


@dataclass(frozen=True)
class Checked:
    """What a check looked at.

    Attributes:
        files: Files whose SHA-256 is that of the manifest.
        bytes: Their size.
        parts: Parts that the panel has.
    """

    files: int
    bytes: int
    parts: int


def check_panel(directory: str | Path, *, progress: ByteProgress | None = None) -> Checked:
    """Read a stored panel completely and compare the SHA-256 of every file with the manifest.

    Args:
        directory: The panel.
        progress: Called with the bytes read so far and all bytes.

    Raises:
        DataError: If there is no panel.
        UntrustedFileError: If a file is missing, additional or different; the message names the first one.
        StorageError: If the disk refuses.
    """
    path = Path(directory)
    settings = read_settings(path)
    listed = read_parts_list(path) if settings["format"] == WITH_PARTS else {}
    places = [(path, list_first(path))]
    places += [(path / PARTS / name, list_part(path, name, digest)) for name, digest in listed.items()]
    total = sum(_size(place / name, entry) for place, entries in places for name, entry in entries.items())
    done = count = 0
    for place, entries in places:
        for name, entry in entries.items():
            try:
                done = _check(place / name, entry, entries, done, total, progress)
            except UntrustedFileError as error:
                cure = "Build the panel again from its tables, or restore it from a copy."
                raise UntrustedFileError(f"{error} {cure}") from None
            count += 1
    Panel.open(path)  # the sizes of the arrays agree
    return Checked(count, total, len(places))


def _size(path: Path, entry: Entry) -> int:
    return path.stat().st_size if entry.size is None else entry.size


def _check(
    path: Path, entry: Entry, entries: dict[str, Entry], done: int, total: int, progress: ByteProgress | None
) -> int:
    """Compare one file and return the bytes that are read by then."""
    digest = hashlib.sha256()
    if path.name == PANEL:
        content = read_file(path)
        digest.update(first_settings(content, entries, str(path)))
        done += len(content)
    else:
        with opened(path) as handle, os.fdopen(handle, "rb", buffering=0, closefd=False) as file:
            while content := file.read(_BLOCK):
                digest.update(content)
                done += len(content)
                if progress is not None:
                    progress(done, total)
    check_digest(digest.hexdigest(), entry, str(path))
    return done
