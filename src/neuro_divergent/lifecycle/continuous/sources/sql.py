"""A query of a database."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import DataError, StorageError
from neuro_divergent.lifecycle.continuous.sources.base import Delivery, Position, Source
from neuro_divergent.lifecycle.dependency import load_sqlalchemy

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.data.schema import Schema

_KINDS: dict[str, Callable[[Any], Any]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "int": int,
    "str": str,
}


@register("sql")
class Sql(Source):
    """Rows of a SQL query whose watermark column does not fall: a serial number, or the time of the last change.

    Rows with the watermark that was read last are read again, since others with the same one may have come in
    meanwhile. A transaction that is committed late can have a lower watermark than one that was read: ``overlap``
    reads that much again.

    Attributes:
        address: Any database that SQLAlchemy knows and whose driver is installed, such as
            ``postgresql://reader@host/shop`` or ``sqlite:///shop.db``.
        query: A SELECT statement that gives the columns of the table and the watermark.
        watermark: Name of the watermark column.
        overlap: How far behind the watermark rows are read again: seconds where it is a time, else a number.
    """

    address: str = Field(min_length=1)
    query: str = Field(min_length=1)
    watermark: str = Field(min_length=1)
    overlap: float = Field(default=0.0, ge=0)

    def poll(self, position: Position | None, schema: Schema) -> Delivery | None:
        from neuro_divergent.lifecycle.continuous.rows import normalize_rows

        found = self._read(position)
        if found.is_empty():
            return None
        if self.watermark not in found.columns:
            raise DataError(f"source: the query gives no column {self.watermark!r}; it has {', '.join(found.columns)}")
        digest = hashlib.sha256(found.hash_rows().sort().to_numpy().tobytes()).hexdigest()
        if position is not None and position["digest"] == digest:
            return None
        marks = found[self.watermark]
        if marks.null_count():
            raise DataError(
                f"source: column {self.watermark!r}, the watermark, is missing in {marks.null_count()} rows"
            )
        newest = {**_spell(marks.max()), "digest": digest}
        rows = found.sort(self.watermark, maintain_order=True)
        rows = rows if self.watermark in _columns(schema) else rows.drop(self.watermark)
        return Delivery(normalize_rows(rows, schema, "source"), newest)

    def _read(self, position: Position | None) -> pl.DataFrame:
        import polars as pl

        from neuro_divergent.data.io.database import connected

        sa = load_sqlalchemy()
        inner = self.query.strip().rstrip(";")
        with connected(self.address, lambda reason: StorageError(f"source: {reason}")) as connection:
            quoted = connection.dialect.identifier_preparer.quote(self.watermark)
            if position is None:
                return pl.read_database(sa.text(inner), connection, infer_schema_length=None)
            statement = sa.text(f"SELECT * FROM ({inner}) AS source_rows WHERE {quoted} >= :watermark")
            options = {"parameters": {"watermark": self._from(position)}}
            return pl.read_database(statement, connection, execute_options=options, infer_schema_length=None)

    def _from(self, position: Position) -> Any:
        """Return the watermark from which rows are read again."""
        value = _KINDS[position["kind"]](position["value"])
        if not self.overlap or isinstance(value, str):
            return value
        if isinstance(value, date):
            return value - timedelta(seconds=self.overlap)
        return value - self.overlap


def _columns(schema: Schema) -> list[str]:
    from neuro_divergent.data.io.source import columns_of

    return columns_of(schema)


def _spell(value: Any) -> dict[str, Any]:
    """Return a watermark in plain values."""
    if isinstance(value, date):
        kind = "datetime" if isinstance(value, datetime) else "date"
        return {"kind": kind, "value": value.isoformat()}
    if isinstance(value, int | str) and not isinstance(value, bool):
        return {"kind": type(value).__name__, "value": value}
    raise DataError(f"source: a watermark is a time, a date, an integer or text; got {value!r}")
