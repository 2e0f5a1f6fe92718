"""Queries of databases as sources."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from neuro_divergent.core.errors import DataError, MissingDependencyError
from neuro_divergent.core.storage.atomic import new_directory
from neuro_divergent.data.cleaning.calendar import check_times
from neuro_divergent.data.io.table import Table, first_line
from neuro_divergent.data.schema import Schema

_ROWS = 1 << 18  # rows that are fetched together


@dataclass(frozen=True)
class SqlQuery:
    """Rows of a SQL query.

    Attributes:
        query: A SELECT statement that gives the columns of the table.
        database: Address of any database that SQLAlchemy knows and whose driver is installed, such as
            ``sqlite:///shop.db`` or ``postgresql+psycopg://reader@host/shop``.
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
        try:
            import sqlalchemy as sa
        except ImportError:
            raise MissingDependencyError(
                "queries of databases need the package sqlalchemy, which is not installed. Run: pip install sqlalchemy"
            ) from None
        count = 0
        try:
            engine = sa.create_engine(self.database)
            try:
                with engine.connect().execution_options(stream_results=True) as connection:
                    batches: Any = pl.read_database(
                        sa.text(self.query.strip().rstrip(";")),
                        connection,
                        iter_batches=True,
                        batch_size=_ROWS,
                        infer_schema_length=None,
                    )
                    for frame in batches:
                        if frame.height:
                            write(frame, count)
                            count += 1
            finally:
                engine.dispose()
        except (sa.exc.SQLAlchemyError, pl.exceptions.PolarsError) as error:
            raise DataError(f"{self}: {first_line(error)}") from None
        except ImportError as error:
            raise MissingDependencyError(f"{self}: its driver is not installed ({first_line(error)})") from None
        return count


def _write(frame: pl.DataFrame, path: Path, schema: Schema, name: str) -> None:
    if schema.time in frame.columns:
        table = Table(frame, name)
        frame = frame.with_columns(check_times(frame[schema.time], table.error, schema.date_format))
    if schema.target in frame.columns and frame[schema.target].dtype.is_numeric():
        frame = frame.with_columns(pl.col(schema.target).cast(pl.Float64))  # Integers of one batch, floats of another.
    frame.write_parquet(path)
