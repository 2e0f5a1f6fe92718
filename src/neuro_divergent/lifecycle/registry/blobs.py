"""Sets of files stored by their content: the name of a set is the SHA-256 of its manifest."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from neuro_divergent.core.errors import InputError, UntrustedFileError
from neuro_divergent.core.storage.local import LocalStore
from neuro_divergent.core.storage.manifest import digest_of
from neuro_divergent.core.storage.store import open_store

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Blobs:
    """A store of sets of files that are never changed.

    Args:
        place: Path or URL of the store.
    """

    def __init__(self, place: str | Path) -> None:
        self._store = open_store(place)
        self.place = self._store.place

    def put(self, files: Mapping[str, bytes]) -> str:
        """Store files, unless they are there already and undamaged, and return their digest.

        Raises:
            StorageError: If the store refuses.
        """
        digest = digest_of(files)
        try:
            self.read(digest)
        except UntrustedFileError:
            self._store.write(digest, sorted(files.items()))
        return digest

    def read(self, digest: str) -> dict[str, bytes]:
        """Return the files of a digest, after comparing them with it.

        Raises:
            UntrustedFileError: If they are not there, or were altered.
            StorageError: If the store refuses.
        """
        if not _DIGEST.fullmatch(digest):
            raise InputError(f"{digest[:80]!r} is not a digest.")
        files = self._store.read(digest)
        if digest_of(files) != digest:  # a manifest proves itself only
            raise UntrustedFileError(f"{self.url(digest)}: the files are not those of this digest.")
        return files

    def url(self, digest: str) -> str:
        """Return where the files of a digest are, for messages."""
        return f"{self.place}/{digest}"

    def digests(self) -> list[str]:
        """Return the digests of all complete sets."""
        return [name for name in self._store.names() if _DIGEST.fullmatch(name)]

    def remove(self, digest: str) -> None:
        """Remove a set; one that is not there is fine."""
        self._store.remove(digest)

    def clear_leftovers(self, older_than: float) -> None:
        """Remove what killed processes left unfinished in a local directory, if it is older than some seconds."""
        if not isinstance(self._store, LocalStore):
            return
        for path in self._store.directory.glob(".*.partial-*"):
            with suppress(OSError):
                if path.lstat().st_mtime <= time.time() - older_than:
                    shutil.rmtree(path)
