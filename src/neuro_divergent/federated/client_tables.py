"""One table as the tables of several clients."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from neuro_divergent.core.errors import DataError
from neuro_divergent.data.io.source import DEFAULT_ID, read_table
from neuro_divergent.data.schema import Schema

_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")


def split_table(data: Any, schema: Schema, by: str | None) -> dict[str, pl.DataFrame]:
    """Return the rows of each value of a column, by a name made from the value.

    Args:
        data: A table.
        schema: Roles of its columns.
        by: The column; unset, that of the series.

    Raises:
        DataError: If there is no such column, or two values would make the same name.
    """
    frame = read_table(data).frame
    column = by or schema.id or DEFAULT_ID
    if column not in frame.columns:
        raise DataError(f"there is no column {column!r} to divide the table by; it has {', '.join(frame.columns)}.")
    found: dict[str, pl.DataFrame] = {}
    for (value,), rows in frame.group_by([column], maintain_order=True):
        name = _OTHER.sub("-", str(value)).strip("-.")[:64] or "client"
        if name in found:
            raise DataError(f"column {column!r}: two values make the same client name {name!r}.")
        found[name] = rows
    return found
