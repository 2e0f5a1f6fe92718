"""Sets of files with a manifest in a directory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage.atomic import (
    clear_leftovers,
    flush_directory,
    read_directory,
    read_file,
    remove_directory,
    write_directory,
    write_file,
)
from neuro_divergent.core.storage.disk import free_bytes, storage_error
from neuro_divergent.core.storage.manifest import MANIFEST, is_name
from neuro_divergent.core.storage.reusable import Content
from neuro_divergent.core.storage.store import KEPT_QUARANTINED, NOTE_LIMIT, QUARANTINE, Store, quarantine_name


class LocalStore(Store):
    """A directory with a directory for each name; created on the first write."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.place = str(directory)

    def write(self, name: str, files: Iterable[tuple[str, Content]]) -> None:
        write_directory(self._path(name), files, whatever_is_there=True)

    def read(self, name: str) -> dict[str, bytes]:
        return read_directory(self._path(name))

    def names(self) -> list[str]:
        try:
            found = [path.name for path in self.directory.iterdir() if (path / MANIFEST).is_file()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise storage_error(self.directory, "read", error) from error
        return sorted(name for name in found if is_name(name))

    def remove(self, name: str) -> None:
        remove_directory(self._path(name))

    def quarantine(self, name: str) -> str:
        source, quarantine = self._path(name), self.directory / QUARANTINE
        try:
            quarantine.mkdir(exist_ok=True)
            target = quarantine / quarantine_name(name, (path.name for path in quarantine.iterdir()))
            source.rename(target)
            now = time.time_ns()
            os.utime(target, ns=(now, now), follow_symlinks=False)  # for finding the oldest
            flush_directory(quarantine)
            flush_directory(self.directory)
            kept = [path for path in quarantine.iterdir() if is_name(path.name)]
            oldest_first = sorted(kept, key=lambda path: path.lstat().st_mtime_ns)
        except OSError as error:
            raise storage_error(source, "quarantined", error) from error
        for path in oldest_first[:-KEPT_QUARANTINED]:
            remove_directory(path)
        return str(target)

    def write_note(self, name: str, content: bytes) -> None:
        write_file(self._path(name), content)

    def read_note(self, name: str) -> bytes | None:
        path = self._path(name)
        return read_file(path, limit=NOTE_LIMIT) if os.path.lexists(path) else None

    def clear_leftovers(self) -> None:
        clear_leftovers(self.directory)
        clear_leftovers(self.directory / QUARANTINE)

    def free_bytes(self) -> int | None:
        return free_bytes(self.directory)

    def _path(self, name: str) -> Path:
        if not is_name(name):
            raise InputError(f"{self.place}: {name!r} cannot be the name of something in it.")
        return self.directory / name
