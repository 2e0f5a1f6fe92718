"""Queries of databases as sources."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from neuro_divergent.core.errors import DataError
from neuro_divergent.core.storage.atomic import new_directory
from neuro_divergent.data.cleaning.calendar import check_times
from neuro_divergent.data.io.database import connected, query_batches
from neuro_divergent.data.io.table import Table
from neuro_divergent.data.schema import Schema


@dataclass(frozen=True)
class SqlQuery:
    """Rows of a SQL query.

    Attributes:
        query: A SELECT statement that gives the columns of the table.
        database: Address of any database that SQLAlchemy knows and whose driver is installed, such as
            ``sqlite:///shop.db`` or ``postgresql+psycopg://reader@host/shop``.

    Examples:
        >>> import neuro_divergent as nd
        >>> import polars as pl
        >>> table, address = nd.datasets.air_passengers(), "sqlite:///sales.db"
        >>> _ = table.cast({"ds": pl.String}).write_database("sales", address)
        >>> query = nd.serving.SqlQuery("select * from sales where ds > '1955'", address)
        >>> model = nd.Statistical("seasonal_naive", horizon=12).fit(table)
        >>> nd.serving.score_files(model, query, "forecasts", version="v1").rows
        12
    """

    query: str
    database: str

    def __str__(self) -> str:
        return f"query of {self.database.partition('://')[0]}"  # The address may hold a password.

    @property
    def digest(self) -> str:
        """Digest of query and address, for records, which must not hold passwords."""
        return hashlib.sha256(f"{self.database}\n{self.query}".encode()).hexdigest()

    def snapshot(self, directory: Path, schema: Schema) -> Path:
        """Run the query and write its rows as Parquet files, some at a time; return their directory.

        Text in the column of times is read as dates or integers.

        Raises:
            DataError: If the query fails or gives no rows.
            MissingDependencyError: If SQLAlchemy or the driver is not installed.
        """
        with new_directory(directory) as work:
            count = self._fetch(lambda frame, place: _write(frame, work / f"{place:06d}.parquet", schema, str(self)))
            if not count:
                raise DataError(f"{self}: no data rows")
        return directory

    def _fetch(self, write: Callable[[pl.DataFrame, int], None]) -> int:
        """Pass the rows on, some at a time, and return how often."""
        count = 0
        with connected(self.database, lambda reason: DataError(f"{self}: {reason}")) as connection:
            for frame in query_batches(self.query, connection):
                if frame.height:
                    write(frame, count)
                    count += 1
        return count


def _write(frame: pl.DataFrame, path: Path, schema: Schema, name: str) -> None:
    if schema.time in frame.columns:
        table = Table(frame, name)
        frame = frame.with_columns(check_times(frame[schema.time], table.error, schema.date_format))
    if schema.target in frame.columns and frame[schema.target].dtype.is_numeric():
        frame = frame.with_columns(pl.col(schema.target).cast(pl.Float64))  # Integers of one batch, floats of another.
    frame.write_parquet(path)
