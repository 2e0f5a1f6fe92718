"""Opening a panel that lies on disk."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.errors import DataError, StorageError, UntrustedFileError
from neuro_divergent.core.formatting import format_bytes
from neuro_divergent.core.memory import memory_limit
from neuro_divergent.core.spec import Feature
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import list_directory, read_file, read_json
from neuro_divergent.core.storage.manifest import Entry, check_digest
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.io.parquet_header import read_header
from neuro_divergent.data.panel_store.bus_error import guard_panel
from neuro_divergent.data.panel_store.files import (
    ARRAY_FILES,
    ARRAYS,
    AT_ONCE,
    BY_ROW,
    FORMAT,
    FORMAT_NPY,
    INDEX,
    PARTS,
    PARTS_LIST,
    ROLES,
    WITH_PARTS,
    PanelFiles,
)
from neuro_divergent.data.panel_store.mapping import CURE, MappedFile, map_array, map_values, read_values, reading_error
from neuro_divergent.data.panel_store.parts import Part, join_parts
from neuro_divergent.data.panel_store.stored import PANEL
from neuro_divergent.data.schema import Schema

_DAMAGES = (
    KeyError, IndexError, TypeError, ValueError, EOFError, pl.exceptions.PolarsError, pl.exceptions.PanicException,
)  # fmt: skip
_SMALL = 2**20  # bytes up to which an array of an appended part is read at once: a map needs an open file
_TIMES = 10  # a panel is opened again when another process replaced it meanwhile


def read_panel(directory: Path, *, mmap: bool = True, parts: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Return the fields of a stored panel.

    Args:
        directory: Where it is.
        mmap: Whether the values stay on disk until they are needed.
        parts: Names of the appended parts to take, from the first on; all of them if ``None``.

    Raises:
        DataError: If there is no such directory.
        UntrustedFileError: If a file is damaged or of a newer version.
        StorageError: If the disk refuses, or if there is not enough memory.
    """
    for _ in range(_TIMES):
        before = _identity(directory)
        try:
            fields = _read(directory, mmap, parts)
        except (DataError, UntrustedFileError, StorageError):
            if _identity(directory) == before:
                raise
            continue
        if _identity(directory) == before:
            return fields
    raise StorageError(f"{directory}: is being replaced again and again by another process.")


def read_settings(directory: Path) -> dict[str, Any]:
    """Return the content of ``panel.json``, which tells the format.

    Raises:
        DataError: If there is no such directory.
        UntrustedFileError: If it is damaged or of a newer version.
    """
    if directory.is_file():
        raise DataError(
            f"{directory}: is a file, not a saved panel; 'nd panel build {directory} --output panel/' makes one"
        )
    if not (directory / PANEL).is_file():
        raise DataError(
            f"{directory}: not found, or not a saved panel; 'nd panel build FILES --output {directory}' makes one"
        )
    rest = read_json(directory / PANEL)
    if not isinstance(rest, dict) or type(rest.get("format")) is not int:
        raise UntrustedFileError(f"{directory}: not a saved panel")
    if rest["format"] > WITH_PARTS:
        raise UntrustedFileError(f"{directory}: format {rest['format']}, this version reads ≤{WITH_PARTS}")
    return rest


def read_parts_list(directory: Path) -> dict[str, str]:
    """Return the names of the appended parts, oldest first, and the SHA-256 of the manifest of each."""
    path = directory / PARTS_LIST
    value = read_json(path)
    try:
        found = {str(item["name"]): str(item["manifest"]) for item in value["parts"]}
    except (KeyError, TypeError):
        raise UntrustedFileError(f"{path}: damaged. {CURE} {directory}, or build it again.") from None
    return found


def list_first(directory: Path) -> dict[str, Entry]:
    """Return the manifest of the first part, after comparing names and sizes."""
    return list_directory(directory, beside=(PARTS, PARTS_LIST))


def list_part(directory: Path, name: str, digest: str) -> dict[str, Entry]:
    """Return the manifest of an appended part, after comparing it, and names and sizes."""
    from neuro_divergent.core.storage.manifest import MANIFEST, MANIFEST_LIMIT

    place = directory / PARTS / name
    manifest = read_file(place / MANIFEST, limit=MANIFEST_LIMIT)
    check_digest(hashlib.sha256(manifest).hexdigest(), Entry(digest, None), str(place / MANIFEST))
    return list_directory(place)


def first_settings(content: bytes, entries: Mapping[str, Entry], place: str) -> bytes:
    """Return ``panel.json`` as it was when its manifest was written: appending changed the number of the format."""
    value = strict_json.loads(content, place)
    if isinstance(value, dict) and value.get("format") == WITH_PARTS:
        return strict_json.dumps({**value, "format": FORMAT_NPY if "y.npy" in entries else FORMAT}, indent=2)
    return content


def _identity(directory: Path) -> tuple[int, int] | None:
    try:
        status = directory.stat()
        return status.st_dev, status.st_ino
    except OSError:
        return None


def _read(directory: Path, mmap: bool, parts: tuple[str, ...] | None) -> dict[str, Any]:
    settings = read_settings(directory)
    entries = list_first(directory)
    listed = read_parts_list(directory) if settings["format"] == WITH_PARTS else {}
    if parts is not None:
        if tuple(listed)[: len(parts)] != parts:
            raise StorageError(f"{directory}: changed since it was opened; open it again.")
        listed = {name: listed[name] for name in parts}
    manifests = [entries, *(list_part(directory, name, digest) for name, digest in listed.items())]
    places = [directory, *(directory / PARTS / name for name in listed)]
    if not mmap:
        _require_memory(directory, manifests)
    mapped: list[MappedFile] = []
    try:
        found = [_read_part(place, manifest, mmap, mapped) for place, manifest in zip(places, manifests, strict=True)]
        fields = found[0].fields if len(found) == 1 else join_parts(found)
    except _DAMAGES as error:
        raise UntrustedFileError(
            f"{directory}: damaged panel ({error}). {CURE} {directory}, or build it again."
        ) from None
    except (MemoryError, OSError) as error:
        if isinstance(error, StorageError):
            raise
        raise reading_error(directory, error) from None
    earlier = tuple(str(item) for item in settings.get("earlier", ()))
    files = PanelFiles(directory.absolute(), tuple(listed), tuple(manifests), tuple(mapped), earlier, dict(fields))
    if mapped:
        guard_panel(files, directory)
    return {**fields, "files": files}


def _require_memory(directory: Path, manifests: list[dict[str, Entry]]) -> None:
    needed = sum(entry.size or 0 for entries in manifests for entry in entries.values())
    there = memory_limit() * 2**30
    if needed > there:
        sizes = f"{format_bytes(needed)}, there is {format_bytes(int(there))}"
        raise StorageError(f"{directory}: not enough memory to read it ({sizes}). Open it with mmap=True.")


def _read_part(place: Path, entries: dict[str, Entry], mmap: bool, mapped: list[MappedFile]) -> Part:
    """Return the fields of one part; arrays per row are mapped, or read and verified."""
    files = {}
    for name in entries:
        if name in AT_ONCE or not (mmap or name in ARRAY_FILES.values()):
            content = read_file(place / name)
            checked = first_settings(content, entries, str(place / name)) if name == PANEL else content
            check_digest(hashlib.sha256(checked).hexdigest(), entries[name], str(place / name))
            files[name] = content
    rest = strict_json.loads(files[PANEL], str(place / PANEL))
    read_header(str(place / INDEX))
    index = pl.read_parquet(io.BytesIO(files[INDEX]))
    arrays: dict[str, Any] = {}
    for name in (*ARRAYS, "series", "is_new"):
        if (file := f"{name}.npy") in files:
            arrays[name] = np.load(io.BytesIO(files.pop(file)), allow_pickle=False)
        elif file in entries:
            arrays[name] = map_array(place / file)
            mapped.append(MappedFile(place / file, arrays[name]))
        elif (file := ARRAY_FILES.get(name, "")) in entries:
            shape = (int(arrays["offsets"][-1]), *([len(rest["features"][name[:-2]])] if name.endswith("_x") else []))
            dtype = np.dtype(np.bool_ if name == "mask" else np.float32)
            is_small = dtype.itemsize * math.prod(shape) <= _SMALL
            if not mmap or (is_small and "series.npy" in entries):
                arrays[name] = read_values(place / file, dtype, shape, entries[file])
            else:
                arrays[name] = map_values(place / file, dtype, shape)
                mapped.append(MappedFile(place / file, arrays[name]))
    fields = {
        "schema": Schema.from_dict(rest["schema"]),
        "ids": index["id"].alias(rest["names"][0]),
        "starts": index["start"].alias(rest["names"][1]),
        "frequency": Frequency.parse(rest["frequency"]),
        "offsets": arrays["offsets"],
        "static_x": arrays.get("static_x"),
        **{name: arrays.get(name) for name in BY_ROW},
        **{role: tuple(Feature(*item) for item in rest["features"][role]) for role in ROLES},
        "categories": {name: list(values) for name, values in rest["categories"].items()},
    }
    _check_shapes(fields)
    return Part(fields, arrays.get("series"), arrays.get("is_new"))


def _check_shapes(fields: dict[str, Any]) -> None:
    """Refuse arrays whose sizes do not agree."""
    rows, series = len(fields["y"]), len(fields["ids"])
    shapes: dict[str, tuple[int, ...]] = {
        "offsets": (series + 1,),
        **dict.fromkeys(BY_ROW, (rows,)),
        "past_x": (rows, len(fields["past"])),
        "future_x": (rows, len(fields["future"])),
        "static_x": (series, len(fields["static"])),
    }
    types = {"offsets": np.int64, "mask": np.bool_}
    offsets = fields["offsets"]
    for name, shape in shapes.items():
        array = fields[name]
        if array is not None and (array.shape != shape or array.dtype != types.get(name, np.float32)):
            raise ValueError(f"{name}.npy: {array.dtype} {array.shape} instead of {shape}")
    if len(fields["starts"]) != series or offsets[0] != 0 or offsets[-1] != rows or not (np.diff(offsets) > 0).all():
        raise ValueError("sizes do not agree")
