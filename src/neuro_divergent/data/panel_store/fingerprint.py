"""Fingerprints that tell data apart.

Up to ``BLOCK_ROWS`` rows it is a SHA-256 over all numbers, names and times. Above, it is made of the SHA-256 of each
array, which a stored panel has in its manifests, and of some evenly spread rows that are read: so no run has to read
all values of a large panel only to see that they are those it knows. An array in memory gives the same as its file.
Rows before the first observed one of a series do not count then, because padding adds such rows.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from neuro_divergent.core.arrays import Array, Ints
from neuro_divergent.data.joined_array import JoinedArray, as_joined
from neuro_divergent.data.panel import BLOCK_ROWS, Panel
from neuro_divergent.data.panel_store.files import ARRAY_FILES, BY_ROW, PARTS
from neuro_divergent.data.panel_store.mapping import file_offset

_SAMPLES = 64
_SAMPLE_ROWS = 1024
_BYTES = 1 << 24
_SMALL = 1 << 20  # bytes of an array that is in memory although its panel is stored


def fingerprint(panel: Panel, known: str | None = None) -> dict[str, Any]:
    """Return a SHA-256 that changes with the data, and their counts.

    Args:
        panel: The data.
        known: A SHA-256 that was kept: where the data have it by the way of an earlier version, or had it before their
            parts were joined, it is returned.
    """
    counts = {"rows": len(panel), "series": panel.num_series}
    if len(panel) <= BLOCK_ROWS:
        return {**counts, "sha256": content_digest(panel)}
    found = _large_digest(panel)
    if known is not None and known != found:
        earlier = () if panel.files is None else panel.files.earlier
        if known in earlier or known == content_digest(panel):
            found = known
    return {**counts, "sha256": found}


def content_digest(panel: Panel) -> str:
    """Return a SHA-256 over all numbers, names and times; all values are read, a block at a time."""
    digest = hashlib.sha256()
    for name in ("offsets", "y", "mask", "past_x", "future_x", "static_x", "weight"):
        array = getattr(panel, name)
        digest.update(name.encode())
        if array is not None:
            digest.update(f"{array.dtype} {array.shape}".encode())
            _update(digest, array)
    _update_names(digest, panel)
    return digest.hexdigest()


def _large_digest(panel: Panel) -> str:
    panel = panel.trimmed() if panel.is_memory_mapped else panel
    begins = np.minimum(panel.first_observed, panel.offsets[1:] - 1)
    lengths = panel.offsets[1:] - begins
    files = {} if panel.files is None else _digests_of_files(panel)
    digest = hashlib.sha256()
    digest.update(np.cumsum(lengths).astype(np.int64).tobytes())
    samples = _sample_rows(begins, lengths)
    for name in BY_ROW:
        array = getattr(panel, name)
        digest.update(name.encode())
        if array is None or (name == "mask" and _is_all(array, begins, lengths)):
            continue
        digest.update(f"{array.dtype} {array.shape[1:]}".encode())
        digest.update(_array_digest(array, begins, lengths, files).encode())
        digest.update(np.ascontiguousarray(array[samples]).tobytes())
    if panel.static_x is not None:
        digest.update(f"{panel.static_x.shape}".encode() + np.ascontiguousarray(panel.static_x).tobytes())
    starts = panel.frequency.time_at(panel.starts, begins - panel.offsets[:-1])
    digest.update(f"{panel.frequency}".encode())
    for names in (panel.ids, starts):
        digest.update("\0".join(str(value) for value in names.to_list()).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _sample_rows(begins: Ints, lengths: Ints) -> Ints:
    """Return some evenly spread rows of the series from ``begins`` on, in runs."""
    ends = np.cumsum(lengths)
    total = int(ends[-1])
    firsts = np.linspace(0, total - min(_SAMPLE_ROWS, total), _SAMPLES).astype(np.int64)
    places = (firsts[:, None] + np.arange(min(_SAMPLE_ROWS, total))).reshape(-1)
    series = np.searchsorted(ends, places, side="right")
    rows: Ints = begins[series] + places - (ends - lengths)[series]
    return rows


def _is_all(mask: Array | JoinedArray, begins: Ints, lengths: Ints) -> bool:
    """Whether all rows of the series from ``begins`` on were observed."""
    if isinstance(mask, JoinedArray):
        used = [mask.arrays[source] for source in np.unique(mask.pieces.sources)]
        if all(len(array) == 1 and bool(array[0]) for array in used):
            return True
    elif isinstance(mask, np.memmap):
        return False  # a file is written only where something is hidden
    return all(bool(np.asarray(block).all()) for block in _blocks(mask, begins, lengths))


def _array_digest(array: Array | JoinedArray, begins: Ints, lengths: Ints, files: dict[Path, str]) -> str:
    """Return the SHA-256 of the rows from ``begins`` on: of its file, of the pieces of its files, or of its values."""
    found = as_joined(array)
    places = [_place(item, files) for item in found.arrays]
    is_small = [isinstance(array, JoinedArray) and item.nbytes <= _SMALL for item in found.arrays]
    if all(place is not None or small for place, small in zip(places, is_small, strict=True)):
        pieces = found.pieces
        if len(pieces) == 1 and pieces.steps[0] == 1 and len(begins) and int(lengths.sum()) == len(array):
            digest, first, rows = places[pieces.sources[0]] or ("", 0, 0)
            if digest and first + pieces.firsts[0] == 0 and rows == len(array):
                return digest
        return _piece_digest(found, places)
    digest = hashlib.sha256()
    for block in _blocks(array, begins, lengths):
        digest.update(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _piece_digest(array: JoinedArray, places: list[tuple[str, int, int] | None]) -> str:
    """Return a SHA-256 of what an array is made of: which rows of which files."""
    pieces, digest = array.pieces, hashlib.sha256()
    names = [
        hashlib.sha256(item.tobytes()).hexdigest() if place is None else place[0]
        for place, item in zip(places, array.arrays, strict=True)
    ]
    shifts = np.array([0 if place is None else place[1] for place in places])
    order: dict[str, int] = {}
    for source in dict.fromkeys(pieces.sources[np.sort(np.unique(pieces.sources, return_index=True)[1])].tolist()):
        order.setdefault(names[source], len(order))
    numbers = np.array([order.get(name, 0) for name in names])
    digest.update("\0".join(order).encode())
    for numbers_of_pieces in (
        pieces.bounds, numbers[pieces.sources], pieces.firsts + shifts[pieces.sources], pieces.steps
    ):  # fmt: skip
        digest.update(np.asarray(numbers_of_pieces, np.int64).tobytes())
    return digest.hexdigest()


def _place(array: Array, files: dict[Path, str]) -> tuple[str, int, int] | None:
    """Return the SHA-256 of the file that an array is mapped from, its first row there and the rows of the file."""
    if not isinstance(array, np.memmap) or array.filename is None or not array.flags.c_contiguous:
        return None
    path = Path(array.filename)
    digest = files.get(path)
    if digest is None:
        return None
    row = array.dtype.itemsize * int(np.prod(array.shape[1:]))
    return digest, file_offset(array) // row, path.stat().st_size // row


def _digests_of_files(panel: Panel) -> dict[Path, str]:
    """Return the SHA-256 of each file that has values and nothing else."""
    files = panel.files
    assert files is not None
    places = [files.directory, *(files.directory / PARTS / name for name in files.parts)]
    return {
        (place / file).resolve(): manifest[file].digest
        for place, manifest in zip(places, files.manifests, strict=True)
        for file in ARRAY_FILES.values()
        if file in manifest
    }


def _blocks(array: Array | JoinedArray, begins: Ints, lengths: Ints) -> Any:
    """Yield the rows of the series from ``begins`` on, some at a time."""
    whole = len(begins) == 1 or bool((begins[1:] == (begins + lengths)[:-1]).all())
    if whole:
        first, end = int(begins[0]), int(begins[-1] + lengths[-1])
        for begin in range(first, end, BLOCK_ROWS):
            yield np.asarray(array[begin : min(begin + BLOCK_ROWS, end)])
        return
    for begin, length in zip(begins.tolist(), lengths.tolist(), strict=True):
        for first in range(begin, begin + length, BLOCK_ROWS):
            yield np.asarray(array[first : min(first + BLOCK_ROWS, begin + length)])


def _update(digest: Any, array: Array | JoinedArray) -> None:
    rows = max(1, _BYTES // max(1, int(array.nbytes) // max(1, len(array))))
    for begin in range(0, len(array), rows):
        digest.update(np.ascontiguousarray(array[begin : begin + rows]).reshape(-1).view(np.uint8).data)


def _update_names(digest: Any, panel: Panel) -> None:
    for names in (panel.ids, panel.starts):
        digest.update("\0".join(str(value) for value in names.to_list()).encode("utf-8", "surrogatepass"))
