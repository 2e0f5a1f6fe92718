"""A panel from whatever a user has: a table of any size, or a panel that is stored."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import Any

from neuro_divergent.core.available_memory import available_memory
from neuro_divergent.core.errors import DataError, NeuroDivergentError
from neuro_divergent.core.storage.disk import free_bytes
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.conversion.assembly import OtherFrequencyError, UnsortedError
from neuro_divergent.data.conversion.cache import cache_directory, cached_panel
from neuro_divergent.data.conversion.converter import Converter, convert_in_memory
from neuro_divergent.data.conversion.progress import Reporter
from neuro_divergent.data.conversion.row_files import is_parquet, is_streamed
from neuro_divergent.data.conversion.rows import Rows, open_parquet
from neuro_divergent.data.conversion.sizes import panel_bytes
from neuro_divergent.data.further_findings import add_further_findings
from neuro_divergent.data.io.parquet_header import read_header
from neuro_divergent.data.io.source import find_files
from neuro_divergent.data.io.thrift import ThriftError
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.panel_store.stored import is_stored_panel
from neuro_divergent.data.schema import READING, Schema

_BATCH = 1 << 20  # rows that are read from disk together
_LARGE = 2 * _BATCH
_READING_MEMORY = 64 * 2**20
_LEAST_READING_MEMORY = 16 * 2**20
_TABLE_TIMES = 4  # how many times the bytes of its columns a table takes that is read and sorted as a whole
_PACKED_TIMES = 20  # how many times larger packed text may become
_USED_LATER = ("short", "unknown_category", "strict")  # fields of a schema that are not about how a panel is made


def load_panel(source: Any, schema: Schema) -> Panel:
    """Return the panel of a table like ``build_panel``, or open a panel that is stored.

    Large Parquet files whose rows are sorted by series are read in parts, so that hardly more memory is needed than the
    panel takes. Where a panel would take more than half of the memory that is available, the table is converted to a
    stored panel in the cache of the user (``ND_PANEL_CACHE``), with a ``ConversionWarning``, and mapped from there.

    Args:
        source: Anything ``build_panel`` accepts, or the directory of a stored panel.
        schema: The roles of the columns and the policies. For a stored panel, fields that are left at their defaults
            are those of the panel.

    Raises:
        DataError: If the table cannot be used, or if the schema contradicts a stored panel. Its notes are what else is
            wrong in the table, as far as that can be told.
    """
    schema = schema or Schema()
    try:
        return _load_panel(source, schema)
    except DataError as error:
        add_further_findings(error, source, schema)
        raise


def _load_panel(source: Any, schema: Schema) -> Panel:
    if not isinstance(source, (str, os.PathLike)):
        return build_panel(source, schema)
    name = os.fspath(source)
    if is_stored_panel(name):
        return open_panel(name, schema)
    if not _is_in_parts(name, schema):
        return build_panel(name, schema)
    if (rows := _parquet_rows(name)) is None:
        needed = _text_bytes(name)
        return cached_panel(name, schema, needed=needed) if _is_to_convert(needed) else build_panel(name, schema)
    needed = panel_bytes(rows, schema)
    if _is_to_convert(needed):
        return cached_panel(name, schema, needed=needed)
    if rows <= _LARGE or _is_too_much(needed):
        return build_panel(name, schema)
    table = open_rows(name, schema)
    try:
        return convert_in_memory(table, min(max(needed // 8, _LEAST_READING_MEMORY), _READING_MEMORY))
    except UnsortedError:
        if _is_too_much(_TABLE_TIMES * rows * table.row_bytes):
            return cached_panel(name, schema, needed=needed)
    return build_panel(name, schema)


def open_panel(directory: str, schema: Schema) -> Panel:
    """Open a stored panel, with the fields of a schema that are about using it.

    Raises:
        DataError: If the schema contradicts the stored one; the message names the fields.
    """
    panel = Panel.open(directory)
    stored, usual = panel.schema, Schema()
    given = {
        name: value
        for name in Schema.model_fields
        if name not in READING and (value := getattr(schema, name)) != getattr(usual, name)
    }
    if "frequency" in given and Frequency.parse(given["frequency"]) == panel.frequency:
        del given["frequency"]
    wrong = [name for name, value in given.items() if name not in _USED_LATER and value != getattr(stored, name)]
    if wrong:
        found = ", ".join(f"{name}={getattr(stored, name)!r}, not {given[name]!r}" for name in wrong)
        raise DataError(f"{directory}: was built with {found}. Leave that out, or build the panel again")
    later = {name: given[name] for name in _USED_LATER if name in given}
    return dataclasses.replace(panel, schema=stored.replace(**later)) if later else panel


def open_rows(source: str, schema: Schema) -> Rows:
    """Return the rows of Parquet files.

    Raises:
        DataError: If they cannot be read.
    """
    return Rows([open_parquet(path, schema) for path in find_files(source)], source, schema)


def read_in_parts(source: str, schema: Schema) -> Iterator[Panel]:
    """Yield panels of complete series, about a million rows each, of Parquet files that are sorted by series.

    Raises:
        DataError: If the table cannot be used, or is not sorted.
    """
    converter = Converter(open_rows(source, schema), _READING_MEMORY, Reporter(None))
    converter.batch = _BATCH
    try:
        yield from converter.parts()
    except UnsortedError:
        raise DataError(f"{source}: sort the rows by series") from None
    except OtherFrequencyError:
        raise DataError(f"{source}: series differ in their frequency. Pass the right one (--frequency)") from None


def _is_in_parts(name: str, schema: Schema) -> bool:
    """Whether a source can be read in parts; what is wrong with one that cannot be read is said by who reads it."""
    try:
        return is_streamed(find_files(name), schema)
    except NeuroDivergentError:
        return False


def _is_to_convert(needed: int) -> bool:
    """Whether a panel of so many bytes is too much for the memory, and the cache has room for it.

    A table that fits neither is read into memory after all, which refuses it if it is larger than that.
    """
    return _is_too_much(needed) and needed < (free_bytes(cache_directory()) or 0)


def _is_too_much(needed: int) -> bool:
    """Whether so many bytes are more than half of the memory that is available."""
    available = available_memory()
    return available is not None and needed > available / 2


def _parquet_rows(name: str) -> int | None:
    """Return how many rows Parquet files have, 0 if they cannot be read; ``None`` for other files."""
    if not is_parquet(name):
        return None
    try:
        return sum(read_header(path, ()).rows for path in find_files(name))
    except (DataError, ThriftError, OSError):
        return 0


def _text_bytes(name: str) -> int:
    """Return about how many bytes text takes when it is read; 0 for files that cannot be read."""
    try:
        files = find_files(name)
        return sum(os.path.getsize(path) * (_PACKED_TIMES if path.lower().endswith(".gz") else 1) for path in files)  # noqa: PTH202
    except (DataError, OSError):
        return 0
