"""Divides a source into parts that have no series in common."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import polars as pl

from neuro_divergent.core.errors import DataError, InputError, MissingDependencyError
from neuro_divergent.data.cleaning.numbers import NumberStyle
from neuro_divergent.data.io.file_kind import is_of, kind_of
from neuro_divergent.data.io.parquet_file import PROBLEMS, check_parquet
from neuro_divergent.data.io.source import DEFAULT_ID, columns_of, find_files, read_table
from neuro_divergent.data.io.table import Table, first_line
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema
from neuro_divergent.serving.scoring.block import Cutter
from neuro_divergent.serving.scoring.csv_part import CsvPart
from neuro_divergent.serving.scoring.lazy_source import LazySource, digest_of
from neuro_divergent.serving.scoring.panel_part import columns_of_panel, plan_panel
from neuro_divergent.serving.scoring.part import Part
from neuro_divergent.serving.scoring.scorer import Scorer
from neuro_divergent.serving.scoring.sorted_file import SortedFilePart, scan_columns

Format = Literal["parquet", "csv", "delta"]

_ROWS = 64 << 20  # rows of a part of a large file
_DELTA_LOG, _PANEL = "_delta_log", "panel.json"


@dataclass(frozen=True)
class Planner:
    """Divides sources for a scorer.

    Attributes:
        scorer: Says which columns and rows are needed.
        as_of: Rows after this time are left out.
        source_format: Kind of the source where its name does not tell.
    """

    scorer: Scorer
    as_of: Any = None
    source_format: Format | None = None

    def plan(self, source: Any, unsorted: Collection[str] = ()) -> list[Part]:
        """Return the parts of a source, in an order that is always the same.

        Args:
            source: Path or pattern of Parquet or CSV files, a stored panel, a Delta table, an address such as
                ``s3://...``, a panel or a table.
            unsorted: Parquet files that turned out not to be sorted by series and time.

        Raises:
            DataError: If it cannot be read, or lacks a column.
        """
        if isinstance(source, Panel):
            return self._panel(source)
        if not isinstance(source, (str, os.PathLike)):
            return self.plan_table(source, "data", "data")
        path = os.fspath(source)
        if self.source_format is None and (Path(path) / _PANEL).is_file():
            return self._panel(Panel.open(path))
        if self.source_format == "delta" or (Path(path) / _DELTA_LOG).is_dir():
            return self._delta(path)
        if "://" in path:
            return self._remote(path)
        files = find_files(path)
        kind = "parquet" if self.source_format == "parquet" else kind_of(files[0])
        schema = self.scorer.schema
        is_typed = not schema.wide and NumberStyle.of(schema).is_plain  # else the table is read as a whole
        if self.source_format == "csv" or kind != "parquet" or not is_typed:
            return self._csv(path, files)
        return self._parquet(path, files, unsorted)

    def _panel(self, panel: Panel) -> list[Part]:
        schema, own = self.scorer.schema, panel.schema
        found = columns_of_panel(panel)
        named = {own.time: schema.time, own.target: schema.target, own.id: schema.id or DEFAULT_ID}
        self._columns(tuple(str(named.get(name, name)) for name in found), panel.source)
        cutter = self._cutter(None if own.id is None else schema.id or DEFAULT_ID)
        return list(plan_panel(panel, cutter, self.scorer.steps, single=self.scorer.joint))

    def _parquet(self, path: str, files: list[str], unsorted: Collection[str]) -> list[Part]:
        schema = self.scorer.schema
        headers = {file: check_parquet(file, columns_of(schema)) for file in files}
        files = [file for file in files if headers[file].rows]
        if not files:
            raise DataError(f"{path}: no data rows")
        columns = {file: self._columns(headers[file].columns, file) for file in files}
        id_column = self._id(headers[files[0]].columns)
        cutter = self._cutter(id_column)
        if id_column is None or self.scorer.joint or _have_common_series(files, id_column, check=bool(unsorted)):
            lazy = scan_columns(files, columns[files[0]], id_column)
            return list(self._source(lazy, path, identity_of(files), cutter).parts(single=self.scorer.joint))
        parts: list[Part] = []
        for file, name in zip(files, _names(files), strict=True):
            rows, identity = headers[file].rows, identity_of([file])
            if file in unsorted:
                lazy = scan_columns([file], columns[file], id_column)
                parts += self._source(lazy, file, identity, cutter, name).parts()
                continue
            begins = range(0, rows, _ROWS)
            for place, first in enumerate(begins):
                own = name if len(begins) == 1 else f"{name}-{place:05d}"
                last = min(first + _ROWS, rows)
                mark = digest_of(identity, first, last)
                parts.append(SortedFilePart(file, columns[file], cutter, own, mark, first, last, rows))
        return parts

    def _csv(self, path: str, files: list[str]) -> list[Part]:
        tables = [read_table(file, self.scorer.schema) for file in files[:1]]
        id_column = self._id(tables[0].columns)
        cutter = self._cutter(id_column)
        ids = [] if id_column is None else [_unique_ids(file, self.scorer.schema, id_column) for file in files]
        text = any(item.dtype == pl.String for item in ids)
        ids = [item.cast(pl.String) if text else item for item in ids]
        if id_column is None or self.scorer.joint or _overlap(ids):
            return [CsvPart(path, cutter, "part", identity_of(files), text)]
        pairs = zip(files, _names(files), strict=True)
        return [CsvPart(file, cutter, name, identity_of([file]), text) for file, name in pairs]

    def _remote(self, path: str) -> list[Part]:
        is_csv = is_of("text", path)
        lazy = pl.scan_csv(path, try_parse_dates=True) if is_csv else pl.scan_parquet(path)
        return self.plan_table(lazy, path, digest_of(path))

    def _delta(self, path: str) -> list[Part]:
        try:
            import deltalake
        except ImportError:
            raise MissingDependencyError(
                "Delta tables need the package deltalake, which is not installed. Run: pip install "
                '"neuro-divergent[delta]"'
            ) from None
        try:
            table = deltalake.DeltaTable(path)
        except (deltalake.exceptions.DeltaError, OSError) as error:
            raise DataError(f"{path}: is not a Delta table ({first_line(error)})") from None
        return self.plan_table(pl.scan_delta(table), path, digest_of(path, table.version()))

    def plan_table(self, table: Any, label: str, identity: str) -> list[Part]:
        """Return the parts of a table; ``identity`` changes when its rows do, as far as that is known."""
        if not isinstance(table, pl.LazyFrame):
            frame = read_table(table, self.scorer.schema).frame
            identity = digest_of(identity, hashlib.sha256(frame.hash_rows().to_numpy().tobytes()).hexdigest())
            table = frame.lazy()
        try:
            types = table.collect_schema()
        except PROBLEMS as error:
            raise DataError(f"{label}: cannot be read ({first_line(error)})") from None
        columns, id_column = self._columns(tuple(types), label), self._id(tuple(types))
        lazy = table.select(columns)
        if id_column is not None and not types[id_column].is_integer():
            lazy = lazy.with_columns(pl.col(id_column).cast(pl.String))
        source = self._source(lazy, label, identity, self._cutter(id_column))
        return list(source.parts(single=self.scorer.joint))

    def _source(self, lazy: pl.LazyFrame, label: str, identity: str, cutter: Cutter, name: str = "part") -> LazySource:
        return LazySource(lazy, label, identity, cutter, self.scorer.frequency, name)

    def _cutter(self, id_column: str | None) -> Cutter:
        return Cutter(self.scorer.schema, id_column, self.scorer.history, self.as_of)

    def _id(self, found: tuple[str, ...]) -> str | None:
        schema = self.scorer.schema
        taken = (schema.time, schema.target, *schema.covariates)
        return schema.id or (DEFAULT_ID if DEFAULT_ID in found and DEFAULT_ID not in taken else None)

    def _columns(self, found: tuple[str, ...], label: str) -> tuple[str, ...]:
        """Return the needed columns of a table, or raise if it lacks one."""
        schema = self.scorer.schema
        for name in (*([schema.id] if schema.id else []), schema.time, schema.target, *schema.covariates):
            if name not in found:
                raise Table(pl.DataFrame(), label, columns=found).lacks(name)
        return tuple(name for name in columns_of(schema) if name in found)


def identity_of(files: Sequence[str]) -> str:
    """Return a digest of names, sizes and times of files."""
    states = [(file, os.stat(file)) for file in files]  # noqa: PTH116 - as the path was given
    return digest_of(*((file, state.st_size, state.st_mtime_ns) for file, state in states))


def _names(files: Sequence[str]) -> list[str]:
    """Return a name for each file: its own without the ending, with a number where another has it too."""
    stems = [Path(file).name.split(".")[0] or "part" for file in files]
    return [
        stem if stems.count(stem) == 1 else f"{stem}-{stems[:place].count(stem) + 1}"
        for place, stem in enumerate(stems)
    ]


def _have_common_series(files: list[str], id_column: str, *, check: bool) -> bool:
    """Whether a series is in more than one file.

    The first and last ids tell it where files are sorted and their ranges are apart, which is cheap. Otherwise, and
    with ``check``, all ids are read.
    """
    if len(files) == 1:
        return False
    try:
        lazies = [scan_columns([file], (id_column,), id_column) for file in files]
        if len({lazy.collect_schema()[id_column] for lazy in lazies}) > 1:
            raise InputError(f"column {id_column!r} does not have the same type in all files; make it the same")
        if not check:
            edges = [pl.concat([lazy.head(1), lazy.tail(1)]).collect()[id_column].to_list() for lazy in lazies]
            if not any(None in pair for pair in edges):
                edges.sort()
                if all(low <= high for low, high in edges) and all(
                    before[1] < after[0] for before, after in pairwise(edges)
                ):
                    return False
        return _overlap([lazy.unique().collect(engine="streaming")[id_column] for lazy in lazies])
    except PROBLEMS as error:
        raise DataError(f"{files[0]}: not a complete Parquet file ({first_line(error)})") from None


def _overlap(ids: Sequence[pl.Series]) -> bool:
    return pl.concat(list(ids)).n_unique() < sum(len(item) for item in ids)


def _unique_ids(file: str, schema: Schema, id_column: str) -> pl.Series:
    table = read_table(file, schema)
    if id_column not in table.frame.columns:
        raise table.lacks(id_column)
    return table.frame[id_column].unique()
