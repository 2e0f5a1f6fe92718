"""Writing a panel to a directory, at once or part by part."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array, Bools, Ints
from neuro_divergent.core.errors import DataError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import new_directory
from neuro_divergent.core.storage.manifest import Entry
from neuro_divergent.data.panel_store.files import ARRAY_FILES, BY_ROW, FORMAT, INDEX, ROLES
from neuro_divergent.data.panel_store.stored import PANEL

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel

_BLOCK = 1 << 22  # bytes and rows that are copied at a time


def write_panel(panel: Panel, directory: Path) -> None:
    """Write a panel, complete or not at all."""
    write_parts((panel.part(first, end) for first, end in panel.series_blocks()), directory, earlier=earlier_of(panel))


def write_parts(parts: Iterable[Panel], directory: Path, *, earlier: Iterable[str] = ()) -> None:
    """Write panels of different series, in their order, as one panel; complete or not at all."""
    known: dict[str, Entry] = {}
    with new_directory(directory, known) as work, PanelWriter(work) as writer:
        for part in parts:
            writer.append(part)
        known.update(writer.finish(earlier=earlier))


def earlier_of(panel: Panel) -> tuple[str, ...]:
    """Return fingerprints that a panel had in the files it comes from."""
    return panel.files.earlier if panel.files is not None and panel.is_as_stored else ()


class PanelWriter:
    """Writes a panel part by part into a directory, and computes the SHA-256 of every file meanwhile.

    ``state`` and ``resume`` let another process go on from a recorded position::

        with PanelWriter(work) as writer:
            writer.append(part)
            position = writer.state()                      # JSON values, for the caller to keep
        with PanelWriter.resume(work, position) as writer:
            writer.append(next_part)
            entries = writer.finish()                      # for ``new_directory`` or ``seal_directory``

    Args:
        directory: Where to write; it exists and is empty.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.rows = 0
        self.series = 0
        self._files: dict[str, _ValueFile] = {}
        self._index: list[pl.DataFrame] = []
        self._chunks = 0
        self._settings: dict[str, Any] | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def append(self, part: Panel) -> None:
        """Write series, with all their rows, after those written before; the caller sees to the order of names.

        Categories may have grown at the end since the part before.

        Raises:
            DataError: If the part differs in schema, frequency or features.
        """
        self._agree(part)
        for block in part.blocks():
            for name in BY_ROW:
                array = getattr(part, name)
                if name == "mask":
                    self._write_mask(array, block)
                elif array is not None:
                    self._file(name).write(np.asarray(array[block]))
            self.rows += block.stop - block.start
        statics = {} if part.static_x is None else {f"static {i}": part.static_x[:, i] for i in range(len(part.static))}
        self._index.append(
            pl.DataFrame(
                [part.ids.alias("id"), part.starts.alias("start"), pl.Series("length", part.lengths)]
            ).with_columns(pl.Series(name, values) for name, values in statics.items())
        )
        self.series += part.num_series

    def state(self) -> dict[str, Any]:
        """Flush what was written to the disk and return the position, as values of JSON."""
        for file in self._files.values():
            file.flush()
        if self._index:
            chunk = self.directory / _chunk(self._chunks)
            pl.concat(self._index).write_parquet(chunk)
            with chunk.open("rb") as handle:
                os.fsync(handle.fileno())
            self._chunks += 1
            self._index = []
        return {
            "rows": self.rows,
            "series": self.series,
            "chunks": self._chunks,
            "settings": self._settings,
            "files": {name: [file.size, file.digest.hexdigest()] for name, file in self._files.items()},
        }

    @classmethod
    def resume(cls, directory: Path, state: dict[str, Any]) -> Self:
        """Go on from a position: what was written after it is cut off, and what is before it is verified.

        Raises:
            UntrustedFileError: If the files are not what they were.
        """
        writer = cls(directory)
        try:
            writer.rows, writer.series = int(state["rows"]), int(state["series"])
            writer._chunks, writer._settings = int(state["chunks"]), state["settings"]
            for name, (size, digest) in state["files"].items():
                file = _ValueFile(directory / ARRAY_FILES[name], int(size))
                writer._stack.callback(file.close)
                if file.digest.hexdigest() != digest:
                    raise UntrustedFileError(f"{file.path}: changed since the conversion was stopped. Begin it again.")
                writer._files[name] = file
        except BaseException as error:
            writer._stack.close()
            if isinstance(error, (KeyError, TypeError, ValueError, FileNotFoundError, pl.exceptions.PolarsError)):
                raise UntrustedFileError(f"{directory}: cannot be resumed ({error}). Begin it again.") from None
            raise
        kept = {ARRAY_FILES[name] for name in writer._files} | {_chunk(number) for number in range(writer._chunks)}
        for path in directory.iterdir():
            if path.name not in kept and _is_own(path.name):
                path.unlink()
        return writer

    def finish(
        self, *, earlier: Iterable[str] = (), series: Ints | None = None, is_new: Bools | None = None
    ) -> dict[str, Entry]:
        """Write index and settings and return the entries of the files with values for the manifest.

        Args:
            earlier: Fingerprints that the same content had in other files.
            series: For an appended part, which series of the panel its series are.
            is_new: For an appended part, whether they are in no part before.

        Raises:
            DataError: If nothing was written.
        """
        if self._settings is None:
            raise DataError("no data rows")
        chunks = [self.directory / _chunk(number) for number in range(self._chunks)]
        index = pl.concat([*(pl.read_parquet(chunk) for chunk in chunks), *self._index])
        index.select("id", "start").write_parquet(self.directory / INDEX)
        offsets = np.concatenate([[0], np.cumsum(index["length"].to_numpy())]).astype(np.int64)
        _save(self.directory / "offsets.npy", offsets)
        statics = [name for name in index.columns if name.startswith("static ")]
        if statics:
            _save(self.directory / "static_x.npy", np.stack([index[name].to_numpy() for name in statics], axis=1))
        for name, array in (("series", series), ("is_new", is_new)):
            if array is not None:
                _save(self.directory / f"{name}.npy", array)
        settings = self._settings | ({"earlier": known} if (known := list(earlier)) else {})
        (self.directory / PANEL).write_bytes(strict_json.dumps(settings, indent=2))
        for chunk in chunks:
            chunk.unlink()
        entries = {file.path.name: file.finish() for file in self._files.values()}
        self._stack.close()
        return entries

    def _file(self, name: str) -> _ValueFile:
        if name not in self._files:
            self._files[name] = _ValueFile(self.directory / ARRAY_FILES[name])
            self._stack.callback(self._files[name].close)
        return self._files[name]

    def _write_mask(self, mask: Bools | None, block: slice) -> None:
        """Write which rows were observed; there is no file as long as all were."""
        rows = block.stop - block.start
        observed = None if mask is None else np.asarray(mask[block])
        if "mask" not in self._files:
            if observed is None or observed.all():
                return
            file = self._file("mask")
            for begin in range(0, self.rows, _BLOCK):
                file.write(np.ones(min(_BLOCK, self.rows - begin), np.bool_))
        self._files["mask"].write(np.ones(rows, np.bool_) if observed is None else observed)

    def _agree(self, part: Panel) -> None:
        """Keep the settings of a part, or compare them with those before."""
        found = settings_of(part)
        before = self._settings
        if before is not None:
            for name in ("schema", "names", "frequency"):
                if before[name] != found[name]:
                    raise DataError(f"the {name} of a part is {found[name]}, of those before {before[name]}")
            for role in ROLES:
                if [item[0] for item in before["features"][role]] != [item[0] for item in found["features"][role]]:
                    raise DataError(f"the {role} covariates of a part differ from those before")
            for name, values in before["categories"].items():
                if found["categories"].get(name, [])[: len(values)] != values:
                    raise DataError(f"column {name!r}: the categories of a part differ from those before")
        self._settings = found


def settings_of(panel: Panel) -> dict[str, Any]:
    """Return what ``panel.json`` has of a panel."""
    return {
        "format": FORMAT,
        "schema": panel.schema.to_dict(),
        "names": [panel.ids.name, panel.starts.name],
        "frequency": str(panel.frequency),
        "features": {role: [[feature.name, feature.cardinality] for feature in getattr(panel, role)] for role in ROLES},
        "categories": panel.categories,
    }


class _ValueFile:
    """A file of values that grows at its end, and its SHA-256.

    Args:
        path: The file; it must not exist, unless ``kept`` is given.
        kept: Bytes from the beginning that are kept; the rest is cut off.
    """

    def __init__(self, path: Path, kept: int | None = None) -> None:
        self.path = path
        self.size = 0
        self.digest = hashlib.sha256()
        self._file = path.open("xb" if kept is None else "r+b")
        if kept is not None:
            try:
                self._keep(kept)
            except BaseException:
                self.close()
                raise

    def write(self, array: Array) -> None:
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        self._file.write(content)
        self.digest.update(content)
        self.size += len(content)

    def flush(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def finish(self) -> Entry:
        self.close()
        return Entry(self.digest.hexdigest(), self.size)

    def close(self) -> None:
        self._file.close()

    def _keep(self, size: int) -> None:
        while self.size < size:
            content = self._file.read(min(_BLOCK, size - self.size))
            if not content:
                raise UntrustedFileError(f"{self.path}: {self.size:,} bytes instead of {size:,}. Begin it again.")
            self.digest.update(content)
            self.size += len(content)
        self._file.seek(size)
        self._file.truncate()


def _save(path: Path, array: Array) -> None:
    np.save(path, np.ascontiguousarray(array), allow_pickle=False)


def _chunk(number: int) -> str:
    return f"index-{number:06d}.parquet"


def _is_own(name: str) -> bool:
    """Whether a writer gives this name to a file."""
    own = {*ARRAY_FILES.values(), INDEX, PANEL, "offsets.npy", "static_x.npy", "series.npy", "is_new.npy"}
    return name in own or (name.startswith("index-") and name.endswith(".parquet"))
