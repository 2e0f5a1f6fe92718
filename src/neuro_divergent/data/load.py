"""Large Parquet tables, read a part at a time."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import polars as pl

from neuro_divergent.core.errors import DataError, DataWarning
from neuro_divergent.data.cleaning.calendar import show
from neuro_divergent.data.cleaning.categories import is_category, learn_categories
from neuro_divergent.data.io.parquet_file import PROBLEMS, check_parquet
from neuro_divergent.data.io.parquet_header import read_header
from neuro_divergent.data.io.source import DEFAULT_ID, columns_of, find_files
from neuro_divergent.data.io.table import Table, first_line
from neuro_divergent.data.io.thrift import ThriftError
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import assemble, build_panel, warn_constant
from neuro_divergent.data.schema import Schema

_BATCH = 1 << 20  # rows that are read from disk together
_LARGE = 2 * _BATCH


def load_panel(source: Any, schema: Schema) -> Panel:
    """Build a panel like ``build_panel``, with less memory if the source is a large Parquet file.

    Such a file is read in parts, so the whole table and the panel are never in memory at once. That needs rows sorted
    by series. Where they are not, or where anything is wrong, the table is read as a whole: the message then has the
    rows of the table, not of a part.
    """
    if _is_large(source):
        with suppress(DataError, DataWarning):
            with warnings.catch_warnings():
                warnings.simplefilter("error", DataWarning)
                panel = Panel.concatenate(list(read_in_parts(os.fspath(source), schema)))
            panel = dataclasses.replace(panel, source=os.fspath(source))
            warn_constant(panel)
            return panel
    return build_panel(source, schema)


def _is_large(source: Any) -> bool:
    """Whether a source is Parquet files with many rows; a file that cannot be read raises its error later."""
    if not isinstance(source, (str, os.PathLike)) or not str(source).endswith((".parquet", ".pq")):
        return False
    try:
        return sum(read_header(path, ()).rows for path in find_files(os.fspath(source))) > _LARGE
    except (DataError, ThriftError, OSError):
        return False


def read_in_parts(source: str, schema: Schema) -> Iterator[Panel]:
    """Yield panels of complete series, about a million rows each."""
    files = find_files(source)
    for file in files:
        check_parquet(file, columns_of(schema))
    try:
        lazy = pl.scan_parquet(files, glob=False)
        types = lazy.collect_schema()
        lazy = lazy.select([name for name in columns_of(schema) if name in types])
        name = schema.id or DEFAULT_ID
        if name in types and not types[name].is_integer():
            lazy = lazy.with_columns(pl.col(name).cast(pl.String))  # Batches of categories do not fit together.
        rows = lazy.select(pl.len()).collect().item()
        texts = [name for name in schema.covariates if name in types and is_category(types[name])]
        categories = {
            name: learn_categories(lazy.select(pl.col(name).unique()).collect(engine="streaming").to_series())
            for name in dict.fromkeys([*texts, *(name for name in schema.categorical if name in types)])
        }
        frequency, rest, begin, last = None, None, 0, None
        for end in range(_BATCH, rows + _BATCH, _BATCH):
            batch = lazy.slice(end - _BATCH, _BATCH).collect()
            batch = batch if rest is None else pl.concat([rest, batch])
            whole = batch.height if end >= rows else _end_of_whole_series(batch, name)
            rest = batch.slice(whole)
            if whole:
                table = Table(batch.head(whole), f"{source} from row {begin + 1}", columns=tuple(types))
                part = assemble(table, schema, frequency=frequency, categories=categories)
                if last is not None and part.ids[0] <= last:
                    raise table.error(f"series {show(part.ids[0])} comes after {show(last)}; sort the rows by series")
                frequency, begin, last = part.frequency, begin + whole, part.ids[-1]
                yield part
    except PROBLEMS as error:
        raise DataError(f"{source}: cannot be read as Parquet ({first_line(error)})") from None
    if not rows:
        raise DataError(f"{source}: no data rows")


def _end_of_whole_series(batch: pl.DataFrame, name: str) -> int:
    """Return how many rows come before the last series, which may go on in the next batch."""
    if name not in batch.columns:
        return 0
    others = (batch[name] != batch[name][-1]).arg_true()
    return int(others[-1]) + 1 if len(others) else 0
