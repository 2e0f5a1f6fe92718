"""Sets of files with a manifest at a URL supported by fsspec: S3, Google Cloud Storage, Azure, memory and others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from neuro_divergent.core.errors import (
    InputError,
    MissingDependencyError,
    NeuroDivergentError,
    StorageError,
    UntrustedFileError,
)
from neuro_divergent.core.storage.manifest import (
    MANIFEST,
    MANIFEST_LIMIT,
    check_file,
    entry_of,
    is_name,
    read_manifest,
    write_manifest,
)
from neuro_divergent.core.storage.reusable import Content, content_of
from neuro_divergent.core.storage.store import KEPT_QUARANTINED, NOTE_LIMIT, QUARANTINE, Store, quarantine_name

_UNFINISHED = "unfinished"  # has a mark for each name that is being written or removed
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "abfs": "azure", "abfss": "azure", "az": "azure"}


class RemoteStore(Store):
    """A place with an object for each file, such as ``<name>/state.json``.

    Objects cannot be renamed together, so a set exists if its manifest does: it is written last and removed first, and
    the service writes each object completely or not at all. A set that is replaced is absent until it is complete
    again. Objects that the manifest does not list are not read. Only objects that this class marked as unfinished are
    ever cleared, so that other objects may be in the same place.
    """

    def __init__(self, url: str) -> None:
        self.place = url.rstrip("/")
        self._files, self._root = _connect(self.place)

    def write(self, name: str, files: Iterable[tuple[str, Content]]) -> None:
        with self._converted_errors(name, "written"), self._marked(name):
            self._erase(name)
            entries = {}
            for file, item in files:
                content = content_of(item)
                self._put(self._at(name, file), content)
                entries[file] = entry_of(content)
            self._put(self._at(name, MANIFEST), write_manifest(entries))

    def read(self, name: str) -> dict[str, bytes]:
        with self._converted_errors(name, "read"):
            manifest = self._get(self._at(name, MANIFEST), MANIFEST_LIMIT)
            if manifest is None:
                raise UntrustedFileError(f"{self._url(name, MANIFEST)}: not found.")
            contents = {}
            for file, entry in read_manifest(manifest, self._url(name, MANIFEST)).items():
                place = self._url(name, file)
                content = self._get(self._at(name, file), entry.size)
                if content is None:
                    raise UntrustedFileError(f"{place}: not found.")
                check_file(content, entry, place)
                contents[file] = content
            return contents

    def names(self) -> list[str]:
        with self._converted_errors("", "listed"):
            self._files.invalidate_cache()
            found = (path.rsplit("/", 2)[-2] for path in self._files.glob(f"{self._root}/*/{MANIFEST}"))
            return sorted(name for name in found if is_name(name))

    def remove(self, name: str) -> None:
        with self._converted_errors(name, "removed"):
            if self._objects(name):
                with self._marked(name):
                    self._erase(name)

    def quarantine(self, name: str) -> str:
        """Copy the objects of a name to ``set-aside/``, and remove it."""
        with self._converted_errors(name, "quarantined"):
            objects = self._objects(name)
            if not objects:
                raise StorageError(f"{self._url(name)}: cannot be quarantined: it is not there.")
            kept = self._children(QUARANTINE)
            target = quarantine_name(name, kept)
            for path in objects:
                self._put(self._at(QUARANTINE, target, path.rpartition("/")[2]), self._files.cat_file(path))
            with self._marked(name):
                self._erase(name)
            for old in sorted(kept, key=self._age)[: len(kept) + 1 - KEPT_QUARANTINED]:
                self._files.rm(self._at(QUARANTINE, old), recursive=True)
            return self._url(QUARANTINE, target)

    def write_note(self, name: str, content: bytes) -> None:
        with self._converted_errors(name, "written"):
            self._put(self._at(name), content)

    def read_note(self, name: str) -> bytes | None:
        with self._converted_errors(name, "read"):
            return self._get(self._at(name), NOTE_LIMIT)

    def clear_leftovers(self) -> None:
        """Remove the objects of names that are marked as unfinished and have no manifest, and the marks."""
        with self._converted_errors("", "cleared"):
            for name in self._children(_UNFINISHED):
                if not self._files.exists(self._at(name, MANIFEST)):
                    self._erase(name)
                self._files.rm_file(self._at(_UNFINISHED, name))

    def free_bytes(self) -> int | None:
        return None

    @contextmanager
    def _marked(self, name: str) -> Iterator[None]:
        """Leave a mark that outlives a killed process."""
        mark = self._at(_UNFINISHED, name)
        self._put(mark, b"")
        yield
        self._files.rm_file(mark)

    def _erase(self, name: str) -> None:
        """Remove the objects of a name: the manifest first, so that a partly removed set does not exist."""
        objects = self._objects(name)
        for path in sorted(objects, key=lambda path: not path.endswith(f"/{MANIFEST}")):
            self._files.rm_file(path)

    def _put(self, path: str, content: bytes) -> None:
        try:
            self._files.pipe_file(path, content)
        except FileNotFoundError:  # a store with directories, where most have none
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(path, content)

    def _get(self, path: str, limit: int | None) -> bytes | None:
        """Return an object of bounded size, or ``None`` where there is none."""
        try:
            size = self._files.size(path)
            if limit is not None and size is not None and size > limit:
                raise UntrustedFileError(f"{path}: {size:,} bytes, at most {limit:,} are read.")
            content: bytes = self._files.cat_file(path)
        except FileNotFoundError:
            return None
        return content

    def _objects(self, name: str) -> list[str]:
        self._files.invalidate_cache()
        try:
            return sorted(self._files.find(self._at(name)))
        except FileNotFoundError:
            return []

    def _children(self, name: str) -> list[str]:
        """Return the names right below one."""
        inside = len(self._at(name)) + 1
        return sorted({path[inside:].partition("/")[0] for path in self._objects(name)})

    def _age(self, name: str) -> Any:
        """Return when a name was quarantined; the name itself if the store does not know."""
        try:
            paths = self._files.find(self._at(QUARANTINE, name))
            return max(self._files.modified(path).timestamp() for path in paths), name
        except NotImplementedError:
            return 0.0, name

    def _at(self, *names: str) -> str:
        """Return the path of a name as the driver spells it."""
        for name in names:
            if not is_name(name):
                raise InputError(f"{self.place}: {name!r} cannot be the name of something in it.")
        return "/".join((self._root, *names))

    def _url(self, *names: str) -> str:
        return "/".join((self.place, *names))

    @contextmanager
    def _converted_errors(self, name: str, verb: str) -> Iterator[None]:
        """Convert the errors of a driver into ours."""
        try:
            yield
        except NeuroDivergentError:
            raise
        except Exception as error:  # drivers have no common base class of errors
            reason = getattr(error, "strerror", None) or f"{error}" or type(error).__name__
            raise StorageError(f"{self._url(name) if name else self.place}: cannot be {verb}: {reason}.") from error


def _connect(url: str) -> tuple[Any, str]:
    """Return the driver for a URL and the path in it."""
    scheme = urlsplit(url).scheme
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        extra = _EXTRAS.get(scheme, "remote")
        raise MissingDependencyError(
            f'{url}: fsspec is not installed: pip install "neuro-divergent[{extra}]".'
        ) from None
    try:
        files, root = url_to_fs(url)
    except ImportError as error:
        hint = f': pip install "neuro-divergent[{_EXTRAS[scheme]}]"' if scheme in _EXTRAS else ""
        raise MissingDependencyError(f"{url}: {error}{hint}.") from None
    except ValueError as error:
        raise InputError(f"{url}: {error}.") from None
    return files, root.rstrip("/")
