"""Atomic writes: files and directories are complete or absent, and verified against a manifest when read.

Everything is written to a temporary name in the same directory, flushed to the disk, and renamed. A killed process
leaves hidden files named ``.partial-…``, ``.replaced-…`` or ``.removed-…``; ``clear_leftovers`` removes them.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from neuro_divergent.core.errors import InputError, StorageError, UntrustedFileError
from neuro_divergent.core.storage.disk import FULL, storage_error
from neuro_divergent.core.storage.manifest import (
    MANIFEST,
    MANIFEST_LIMIT,
    Entry,
    check_digest,
    check_listing,
    check_name,
    check_size,
    entry_of,
    read_manifest,
    write_manifest,
)
from neuro_divergent.core.storage.regular_file import opened, read_file, read_json
from neuro_divergent.core.storage.reusable import Content, Reusable, content_of
from neuro_divergent.core.storage.swap import swap_paths

__all__ = [
    "MANIFEST",
    "clear_leftovers",
    "flush_directory",
    "is_leftover",
    "list_directory",
    "make_parents",
    "new_directory",
    "place_directory",
    "read_directory",
    "read_file",
    "read_json",
    "remove_directory",
    "require_replaceable",
    "seal_directory",
    "swap_directory",
    "verify_directory",
    "write_directory",
    "write_file",
]

_LEFTOVER = re.compile(r"\.(.+)\.(partial|replaced|removed)-[a-z0-9_]+")


@contextmanager
def new_directory(path: Path, known: Mapping[str, Entry] | None = None) -> Iterator[Path]:
    """Fill a temporary directory inside the block; it becomes ``path`` when the block ends without an error.

    Every file is flushed to the disk and listed with its SHA-256 in a manifest before the rename, and the rename is
    flushed after it. A directory of ours already at ``path`` is swapped with the new one atomically, and then deleted.
    On file systems that cannot swap two names it is moved away first; a process that is killed between the two
    renames leaves it complete under a hidden name, and ``clear_leftovers`` restores it.

    Args:
        path: Where the directory will be.
        known: Entries of files whose digest was computed while they were written, so that they are not read again; it
            may be filled inside the block.

    Raises:
        InputError: If there is something at ``path`` that has no manifest, so that it was not written by us.
        StorageError: If the disk refuses; ``path`` is then as it was, or complete and new.
    """
    with _replacing(path) as work:
        yield work
        seal_directory(work, known)


def seal_directory(directory: Path, known: Mapping[str, Entry] | None = None) -> None:
    """Flush every file of a directory to the disk and list it with its SHA-256 in a manifest."""
    known = known or {}
    entries = {file.name: _flush(file, known.get(file.name)) for file in sorted(directory.iterdir())}
    _write_manifest(directory, entries)


def place_directory(work: Path, path: Path, known: Mapping[str, Entry] | None = None) -> None:
    """Seal a directory that was filled over some time, and move it to its place like ``new_directory``.

    Args:
        work: The directory, beside ``path``; it stays where it is if this fails.
        path: Where it will be.
        known: Entries of files whose digest is known.

    Raises:
        InputError: If there is something at ``path`` that has no manifest, so that it was not written by us.
        StorageError: If the disk refuses; ``path`` is then as it was, or complete and new.
    """
    work, path = work.absolute(), path.absolute()
    try:
        require_replaceable(path)
        (work / MANIFEST).unlink(missing_ok=True)  # of an attempt that was killed before the rename
        seal_directory(work, known)
        swap_directory(work, path)
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        raise storage_error(path, "written", error) from error
    _delete(work)  # what was at ``path`` before


def write_directory(path: Path, files: Iterable[tuple[str, Content]], *, whatever_is_there: bool = False) -> None:
    """Write files and their manifest as a directory, complete or not at all, like ``new_directory``.

    Names and contents are consumed one by one, so that only one is in memory at a time. With ``whatever_is_there`` a
    directory that has no manifest is replaced as well. A reusable file that the directory beside this one has is linked
    (a hard link), so that it is on the disk once and stays until no directory has it any more.

    Raises:
        InputError: If a file cannot have its name, or if there is something at ``path`` that was not written by us.
        StorageError: If the disk refuses; where it is full, the message has the bytes needed and free.
    """
    todo = iter(files)
    size = 0
    try:
        with _replacing(path, whatever_is_there=whatever_is_there) as work:
            entries = {}
            linker = _Linker(path.absolute().parent, work)
            for name, item in todo:
                check_name(name)
                if isinstance(item, Reusable) and (entry := linker.link(item.source, name)) is not None:
                    entries[name] = entry
                    continue
                content = content_of(item)
                size += len(content)
                _write_new(work / name, content)
                entries[name] = entry_of(content)
            _write_manifest(work, entries)
    except StorageError as error:
        if error.__cause__ is None or getattr(error.__cause__, "errno", None) not in FULL:
            raise
        size += sum(len(content_of(item)) for _, item in todo)
        raise storage_error(path, "written", error.__cause__, needed=size) from error.__cause__


def write_file(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part.

    Raises:
        StorageError: If the disk refuses; the file is then as it was, or complete and new.
    """
    path = path.absolute()
    try:
        make_parents(path)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.partial-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o644)
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
        flush_directory(path.parent)
    except OSError as error:
        raise storage_error(path, "written", error, needed=len(content)) from error


def read_directory(path: Path, only: Collection[str] | None = None) -> dict[str, bytes]:
    """Return the contents of the files of a directory, verified against its manifest.

    With ``only``, other files must be there and have the size that is listed, and no more is known of them.

    Raises:
        UntrustedFileError: If the manifest or a file is missing, or a file is additional, altered or not regular.
        StorageError: If the disk refuses.
    """
    contents = {}
    for name, entry in list_directory(path).items():
        if only is None or name in only:
            content = read_file(path / name, size=entry.size)
            check_digest(hashlib.sha256(content).hexdigest(), entry, str(path / name))
            contents[name] = content
    return contents


def list_directory(path: Path, beside: Collection[str] = ()) -> dict[str, Entry]:
    """Return the manifest of a directory after comparing names and sizes; contents are not read.

    Args:
        path: The directory.
        beside: Names that may be there although they are not listed; leftovers of a killed process may then, too.

    Raises:
        UntrustedFileError: If the manifest or a file is missing, or a file is additional, of another size or not
            regular.
        StorageError: If the disk refuses.
    """
    manifest = path / MANIFEST
    entries = read_manifest(read_file(manifest, limit=MANIFEST_LIMIT), str(manifest))
    try:
        present = {item.name: item for item in os.scandir(path) if item.name != MANIFEST}
        if beside:
            present = {
                name: item
                for name, item in present.items()
                if name in entries or not (name in beside or is_leftover(name))
            }
        check_listing(entries, set(present), str(path))
        for name, entry in entries.items():
            status = present[name].stat(follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                raise UntrustedFileError(f"{path / name}: is not a regular file.")
            check_size(status.st_size, entry, str(path / name))
    except OSError as error:
        raise storage_error(path, "read", error) from error
    return entries


def verify_directory(path: Path) -> None:
    """Check every file of a directory against its manifest, without keeping any in memory.

    Raises:
        UntrustedFileError: If the manifest or a file is missing, or a file is additional, altered or not regular.
        StorageError: If the disk refuses.
    """
    for name, entry in list_directory(path).items():
        with opened(path / name) as handle, os.fdopen(handle, "rb", closefd=False) as file:
            check_digest(hashlib.file_digest(file, "sha256").hexdigest(), entry, str(path / name))


def remove_directory(path: Path) -> None:
    """Remove a directory so that it is complete or absent at every moment; one that is not there is fine.

    Raises:
        StorageError: If the disk refuses; the directory is then as it was.
    """
    # It is not moved into a new directory: a full disk may refuse to create one.
    hidden = path.with_name(f".{path.name}.removed-0")
    try:
        _delete(hidden)
        path.rename(hidden)
        flush_directory(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_error(path, "removed", error) from error
    _delete(hidden)


def is_leftover(name: str) -> bool:
    """Whether a file of this name is what a killed process left, which ``clear_leftovers`` removes."""
    return _LEFTOVER.fullmatch(name) is not None


def clear_leftovers(directory: Path) -> None:
    """Remove the leftovers of a killed process from a directory, and restore what it was about to replace.

    Raises:
        StorageError: If the disk refuses.
    """
    try:
        found = [(path, _LEFTOVER.fullmatch(path.name)) for path in sorted(directory.glob(".*"))]
        for path, match in found:
            if match is None:
                continue
            original = directory / match[1]
            if match[2] == "replaced" and not original.exists():
                path.rename(original)
                flush_directory(directory)
            else:
                _delete(path)
    except OSError as error:
        raise storage_error(directory, "cleared", error) from error


@contextmanager
def _replacing(path: Path, *, whatever_is_there: bool = False) -> Iterator[Path]:
    """Yield a hidden directory, and move it to ``path`` after the block."""
    path = path.absolute()
    try:
        make_parents(path)
        if not whatever_is_there:
            require_replaceable(path)
        work = Path(tempfile.mkdtemp(prefix=f".{path.name}.partial-", dir=path.parent))
    except OSError as error:
        raise storage_error(path, "written", error) from error
    try:
        work.chmod(0o755)
        yield work
        swap_directory(work, path)
    except StorageError:
        raise
    except OSError as error:
        _delete(work)  # before the free space is read for the message
        raise storage_error(path, "written", error) from error
    finally:
        _delete(work)


def make_parents(path: Path) -> None:
    """Create the parent directories of a path and flush them to the disk."""
    missing = [parent for parent in path.parents if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir(exist_ok=True)
        flush_directory(parent.parent)


def require_replaceable(path: Path) -> None:
    """Refuse a path that holds something else than a directory written by us.

    Raises:
        InputError: If it does.
    """
    if path.exists() and not _is_ours(path):
        raise InputError(f"{path}: holds something else, which is not replaced. Choose another place.")


def _is_ours(path: Path) -> bool:
    return path.is_dir() and ((path / MANIFEST).exists() or not any(path.iterdir()))


def swap_directory(work: Path, path: Path) -> None:
    """Move a finished directory to its place and delete what was there."""
    if not os.path.lexists(path):
        work.rename(path)
    elif not swap_paths(work, path):
        old = work.with_name(f".{path.name}.replaced-{work.name[-8:]}")
        path.rename(old)
        try:
            work.rename(path)
        except OSError:
            old.rename(path)
            raise
        flush_directory(path.parent)
        _delete(old)
    flush_directory(path.parent)


class _Linker:
    """Links files of the directories beside a new one into it."""

    def __init__(self, parent: Path, work: Path) -> None:
        self._parent = parent
        self._work = work
        self._known: dict[str, dict[str, Entry]] = {}

    def link(self, source: str, name: str) -> Entry | None:
        """Link a file and return its entry, or ``None`` if it is not there, is damaged, or cannot be linked.

        It is read before: a damaged file is written again from memory rather than handed on.
        """
        try:
            if source not in self._known:
                self._known[source] = list_directory(self._parent / source)
            entry = self._known[source].get(name)
            if entry is None:
                return None
            place = self._parent / source / name
            with opened(place) as handle, os.fdopen(handle, "rb", closefd=False) as file:
                check_digest(hashlib.file_digest(file, "sha256").hexdigest(), entry, str(place))
                size = file.tell()
            os.link(place, self._work / name, follow_symlinks=False)
        except (UntrustedFileError, OSError):  # also: file systems without links, and too many links to one file
            self._known.setdefault(source, {})
            return None
        return Entry(entry.digest, size)


def _write_manifest(directory: Path, entries: dict[str, Entry]) -> None:
    """Write the manifest of files that are flushed."""
    _write_new(directory / MANIFEST, write_manifest(entries))
    flush_directory(directory)


def _write_new(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush(path: Path, known: Entry | None = None) -> Entry:
    """Flush a file to the disk and return its entry in the manifest, from its content unless it is known."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        if known is not None:
            check_size(os.fstat(file.fileno()).st_size, known, str(path))
            return known
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Entry(digest, file.tell())


def flush_directory(path: Path) -> None:
    """Flush the entries of a directory to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _delete(path: Path) -> None:
    """Remove a path; what cannot be removed stays as a leftover."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
