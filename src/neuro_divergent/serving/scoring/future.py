"""Covariates known ahead, for the series of one block at a time."""

from __future__ import annotations

from typing import Any

import polars as pl

from neuro_divergent.data.cleaning.numbers import NumberStyle
from neuro_divergent.data.io.address import is_address
from neuro_divergent.data.io.file_kind import is_of
from neuro_divergent.data.io.source import DEFAULT_ID, find_files, read_table_ahead
from neuro_divergent.data.io.table import Table
from neuro_divergent.data.schema import Schema


class FutureSource:
    """A table of covariates known ahead.

    Parquet files are read again for each block, only the series of that block; other tables are read once.

    Args:
        source: Anything ``read_table`` accepts.
        schema: Roles of the columns.
    """

    def __init__(self, source: Any, schema: Schema) -> None:
        self._id = schema.id or DEFAULT_ID
        wanted = [self._id, schema.time, *schema.future]
        files = find_files(source) if isinstance(source, str) and not is_address(source) else []
        is_typed = not schema.wide and NumberStyle.of(schema).is_plain
        if files and is_typed and all(is_of("parquet", file) for file in files):
            lazy, self._guessed = pl.scan_parquet(files, glob=False), False
        else:
            table = read_table_ahead(source, schema)
            lazy, self._guessed = table.frame.lazy(), table.guessed
        self._types = lazy.collect_schema()
        self._lazy = lazy.select([name for name in wanted if name in self._types])
        self._name, self._date_format = str(source) if files else "future", schema.date_format

    def of(self, frame: pl.DataFrame) -> Table:
        """Return the rows of the series of a table, and perhaps of others."""
        lazy = self._lazy
        if self._id in frame.columns and self._types.get(self._id) == frame.schema[self._id]:
            ids = frame[self._id]
            lazy = lazy.filter(pl.col(self._id).is_between(pl.lit(ids.min()), pl.lit(ids.max())))
        columns = tuple(self._types)
        return Table(lazy.collect(), self._name, "polars", columns, self._guessed, self._date_format)
