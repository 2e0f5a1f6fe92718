"""Stores that keep sets of files with a manifest by name, on a disk or at a URL."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from neuro_divergent.core.errors import InputError
from neuro_divergent.core.storage.reusable import Content

QUARANTINE = "set-aside"
KEPT_QUARANTINED = 3
NOTE_LIMIT = 1024**2
"""Bytes that a note may have."""


class Store(Protocol):
    """Sets of files with a manifest, each complete or absent, and small notes next to them.

    Attributes:
        place: Where it is, as messages show it.
    """

    place: str

    def write(self, name: str, files: Iterable[tuple[str, Content]]) -> None:
        """Write a set of files under a name, complete or not at all.

        Reusable files are not stored a second time where the store can do that.

        Raises:
            StorageError: If that is refused, with the bytes needed and free where the store is full.
        """

    def read(self, name: str) -> dict[str, bytes]:
        """Return the contents of the files of a name, verified against their manifest.

        Raises:
            UntrustedFileError: If there is no such name, or if a file is missing or different.
            StorageError: If it cannot be read.
        """

    def names(self) -> list[str]:
        """Return the names of the complete sets, sorted."""

    def remove(self, name: str) -> None:
        """Remove a name; one that is not there is fine."""

    def quarantine(self, name: str) -> str:
        """Move a set to the quarantine, which ``names`` does not list, and return the new place.

        The last three are kept for inspection.
        """

    def write_note(self, name: str, content: bytes) -> None:
        """Write one small file next to the sets; a reader sees the old content or the new."""

    def read_note(self, name: str) -> bytes | None:
        """Return the content of a note, or ``None`` where there is none."""

    def clear_leftovers(self) -> None:
        """Remove the leftovers of a killed process; no other process may be writing."""

    def free_bytes(self) -> int | None:
        """Return how much may still be written, or ``None`` if unknown."""


def is_url(place: str | Path) -> bool:
    """Whether a place is a URL rather than a path."""
    return isinstance(place, str) and "://" in place


def open_store(place: str | Path) -> Store:
    """Return the store at a path or a URL; nothing is created or read yet.

    Args:
        place: A path, a ``file://`` URL, or a URL of any file system supported by fsspec, such as ``s3://bucket/run``.

    Raises:
        MissingDependencyError: If fsspec, or its driver for such a URL, is not installed.
        InputError: If the URL is not supported.
    """
    if is_url(place) and urlsplit(str(place)).scheme != "file":
        from neuro_divergent.core.storage.remote import RemoteStore

        return RemoteStore(str(place))
    from neuro_divergent.core.storage.local import LocalStore

    return LocalStore(Path(unquote(urlsplit(str(place)).path)) if is_url(place) else Path(place))


def split_url(url: str) -> tuple[str, str]:
    """Return the store that a URL is in, and its name there.

    Raises:
        InputError: If the URL is that of a whole store, such as ``s3://bucket``.
    """
    parent, _, name = url.rstrip("/").rpartition("/")
    if "://" not in parent:
        raise InputError(f"{url}: is a whole store; name a directory in it, such as {url.rstrip('/')}/step-000001200.")
    return parent, name


def quarantine_name(name: str, taken: Iterable[str]) -> str:
    """Return a name that is not taken: the name itself, or with ``-2``, ``-3``, ... after it."""
    used, number, free = set(taken), 1, name
    while free in used:
        number += 1
        free = f"{name}-{number}"
    return free
