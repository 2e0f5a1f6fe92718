"""Checks of the footer and the page headers of a Parquet file, before polars reads it.

polars 2.1 trusts the numbers in the footer and in the page headers. One that announces more values
than there can be makes it ask for more memory than any machine has, and that ends the whole process: no ``try`` helps.
So the headers are read here first. They are few (one per page of about a megabyte) and short, so this costs
milliseconds; reading the file in a second process, the other way to survive it, would cost a start of Python each time.
"""

from __future__ import annotations

import mmap
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from neuro_divergent.data.io.thrift import ThriftError, ThriftReader

_MAGIC = b"PAR1"
_DATA, _INDEX, _DICTIONARY, _DATA_2 = 0, 1, 2, 3  # kinds of pages
_DELTA_TEXTS = (6, 7)  # DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY, which only few programs write


@dataclass(frozen=True)
class ParquetHeader:
    """The sizes that a file declares.

    Attributes:
        rows: Rows of the table.
        columns: Names of the columns at the top level.
        sizes: Bytes of each of them when they are no longer compressed.
        is_delicate: Whether texts are stored by the differences of their lengths, which cannot be checked without
            decoding them all, and which polars believes as well.
    """

    rows: int
    columns: tuple[str, ...]
    sizes: dict[str, int]
    is_delicate: bool


def read_header(path: str, wanted: Collection[str] | None = None) -> ParquetHeader:
    """Read the footer of a file and check the header of every page of the wanted columns, or of all.

    Raises:
        ThriftError: If a value is invalid.
        OSError: If the file cannot be read.
    """
    with open(path, "rb") as file:  # noqa: PTH123
        if file.seek(0, 2) < 12:
            raise ThriftError("it has fewer than 12 bytes")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _read(data, wanted)


def _read(data: mmap.mmap, wanted: Collection[str] | None) -> ParquetHeader:
    end = len(data) - 8
    if data[:4] != _MAGIC or data[-4:] != _MAGIC:
        raise ThriftError("it does not begin and end with PAR1")
    begin = end - int.from_bytes(data[end : end + 4], "little")
    if begin < 4:
        raise ThriftError("its footer is longer than the file")
    footer = ThriftReader(data[begin:end]).read()
    rows = _number(footer, 3, "rows")
    names = tuple(_top_level(_list(footer, 2)))
    sizes = dict.fromkeys(names, 0)
    found, room, is_delicate = 0, begin, False
    for group in _list(footer, 4):
        here = _number(_structure(group), 3, "rows of a group", rows)
        found += here
        for chunk in _list(group, 1):
            column = _structure(_structure(chunk).get(3))
            place = _list(column, 3)
            name, nested = _text(place[0] if place else None), len(place) > 1
            if wanted is not None and name not in wanted:
                continue
            # Columns do not overlap. If they could, a small file could hold any amount of them to check.
            room -= _number(column, 7, "bytes of a column", room)
            size = _number(column, 6, "bytes of a column")
            sizes[name] = sizes.get(name, 0) + size
            values = _number(column, 5, "values of a column", None if nested else here)
            encodings = _check_pages(data, column, begin, values, size)
            is_delicate = is_delicate or not encodings.isdisjoint(_DELTA_TEXTS)
    if found != rows:
        raise ThriftError(f"it declares {rows} rows, and its groups {found}")
    return ParquetHeader(rows, names, sizes, is_delicate)


def _top_level(elements: list[Any]) -> Iterator[str]:
    """Yield the names of the columns; nested ones are trees in the list."""
    place = 1
    while place < len(elements):
        yield _text(_structure(elements[place]).get(4))
        open_branches = 1
        while open_branches and place < len(elements):
            open_branches += _number(_structure(elements[place]), 5, "children", len(elements), missing=0) - 1
            place += 1


def _check_pages(data: mmap.mmap, column: dict[int, Any], end_of_data: int, values: int, size: int) -> set[Any]:
    """Check the headers of the pages of a column and return how their values are written."""
    begin = _number(column, 9, "place of a page", end_of_data)
    dictionary = _number(column, 11, "place of a dictionary", end_of_data, missing=0)
    position = min(begin, dictionary) if dictionary else begin
    length = _number(column, 7, "bytes of a column", end_of_data - position)
    reader, end = ThriftReader(data, position), position + length
    seen, encodings = 0, set()
    while seen < values:
        page = reader.read()
        packed = _number(page, 3, "bytes of a page", end - reader.position)
        unpacked = _number(page, 2, "bytes of a page", size)
        kind = _number(page, 1, "kind of a page", _DATA_2)
        if kind == _DICTIONARY:
            _number(_structure(page.get(7)), 1, "values of a dictionary", unpacked)
        elif kind != _INDEX:
            head = _structure(page.get(5 if kind == _DATA else 8))
            seen += _number(head, 1, "values of a page", values - seen)
            encodings.add(_number(head, 2 if kind == _DATA else 4, "encoding"))
            if kind == _DATA_2:
                _check_levels(head, packed)
        reader.position += packed
    return encodings


def _check_levels(head: dict[int, Any], packed: int) -> None:
    values = _number(head, 1, "values of a page")
    _number(head, 2, "missing values of a page", values)
    _number(head, 3, "rows of a page", values)
    _number(head, 6, "bytes of levels", packed - _number(head, 5, "bytes of levels", packed))


def _number(fields: dict[int, Any], field: int, what: str, most: int | None = None, *, missing: int = -1) -> int:
    value = fields.get(field, missing)
    if not isinstance(value, int) or value < 0 or (most is not None and value > most):
        limit = "" if most is None else f", at most {most} can be"
        shown = "not given" if field not in fields else value if isinstance(value, int) else "not a number"
        raise ThriftError(f"{what}: {shown}{limit}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, bytes):
        raise ThriftError("a column without a name")
    return value.decode("utf-8", "replace")


def _structure(value: Any) -> dict[int, Any]:
    if not isinstance(value, dict):
        raise ThriftError("a part is missing")
    return value


def _list(fields: Any, field: int) -> list[Any]:
    value = _structure(fields).get(field)
    if not isinstance(value, list):
        raise ThriftError("a part is missing")
    return value
