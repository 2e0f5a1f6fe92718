"""Writes a run to one archive file."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from neuro_divergent.core.errors import InputError, UntrustedFileError
from neuro_divergent.core.storage.disk import storage_error
from neuro_divergent.core.storage.regular_file import opened
from neuro_divergent.runs.directory import CHECKPOINTS, CONTROL, LOCK

_LEFT_OUT = (CHECKPOINTS, CONTROL, LOCK)
_FIRST_YEAR = time.mktime((1980, 1, 2, 0, 0, 0, 0, 0, -1))  # that a ZIP archive can store
_DEEPEST = 8


def write_archive(run: Path, path: Path) -> int:
    """Write a run to a ``.zip``, ``.tar.gz`` or ``.tgz`` file, all but checkpoints; return how many files are in it.

    Links are not followed and left out, and so is whatever is hidden or no regular file. The archive has one directory,
    named like the run; its entries do not name the user. A file that grows meanwhile is taken as long as it was.

    Raises:
        InputError: If the name ends otherwise, or the archive would be inside of the run.
        StorageError: If the disk refuses; the file is then as it was.
    """
    kind = path.name.lower()
    if not kind.endswith((".zip", ".tar.gz", ".tgz")):
        raise InputError(f"{path}: write a run to a .zip or .tar.gz file.")
    if run.resolve() in path.resolve().parents:
        raise InputError(f"{path}: is inside of the run; choose a place outside of it.")
    name = run.resolve().name
    try:
        with _new_file(path) as file:
            return (_write_zip if kind.endswith(".zip") else _write_tar)(file, name, run)
    except OSError as error:
        raise storage_error(path, "written", error) from error


def _write_zip(file: BinaryIO, name: str, run: Path) -> int:
    count = 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, source in _files(run):
            found = os.fstat(source.fileno())
            when = time.localtime(max(found.st_mtime, _FIRST_YEAR))
            moment = (when.tm_year, when.tm_mon, when.tm_mday, when.tm_hour, when.tm_min, when.tm_sec)
            entry = zipfile.ZipInfo(f"{name}/{place}", date_time=moment)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with archive.open(entry, "w", force_zip64=found.st_size >= 2**31) as target:
                shutil.copyfileobj(_Part(source, found.st_size), target, 1024**2)
            count += 1
    return count


def _write_tar(file: BinaryIO, name: str, run: Path) -> int:
    count = 0
    with tarfile.open(fileobj=file, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        for place, source in _files(run):
            found = os.fstat(source.fileno())
            entry = tarfile.TarInfo(f"{name}/{place}")
            entry.size, entry.mtime, entry.mode = found.st_size, int(found.st_mtime), 0o644
            archive.addfile(entry, source)
            count += 1
    return count


class _Part:
    """The first bytes of a file, as many as it had when its size was read."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._rest = file, size

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(self._rest if size < 0 else min(size, self._rest))
        self._rest -= len(content)
        return content


def _files(run: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the regular files of a run that are archived, opened, by their relative paths."""
    for folder, folders, names in os.walk(run):  # which does not go where links lead
        place = Path(folder).relative_to(run)
        skipped = _LEFT_OUT if place == Path() else ()
        folders[:] = sorted(item for item in folders if item not in skipped and item[0] != ".")
        if len(place.parts) >= _DEEPEST:
            folders.clear()
        for item in sorted(names):
            if item in skipped or item[0] == ".":
                continue
            try:
                with opened(Path(folder) / item) as handle, os.fdopen(handle, "rb", closefd=False) as source:
                    yield (place / item).as_posix().encode("utf-8", "backslashreplace").decode("utf-8"), source
            except UntrustedFileError:
                continue  # a link, a pipe, or gone in the meantime


@contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """Give a hidden file to the block, and put it in the place of ``path`` after it, flushed to the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.partial-", dir=path.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
