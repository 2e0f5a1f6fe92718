"""What was known when: every batch of rows that came in, and the table that they make together.

A batch is never changed. The table as of a batch has, for each series and time, the row of the latest batch up to it.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from neuro_divergent.core.errors import DataError
from neuro_divergent.core.storage.local import LocalStore
from neuro_divergent.data.schema import Schema
from neuro_divergent.lifecycle.continuous.rows import keys_of

BATCH = "_batch"
"""Column of a view: the batch that the row is of."""
_ROWS = "rows.parquet"


@dataclass(frozen=True, eq=False)
class Difference:
    """Rows that differ from a table.

    Attributes:
        new: Rows of series and times that the table does not have.
        revised: Rows that it has with other values.
    """

    new: pl.DataFrame
    revised: pl.DataFrame

    @property
    def rows(self) -> pl.DataFrame:
        """All of them."""
        return pl.concat([self.new, self.revised])

    def __len__(self) -> int:
        return self.new.height + self.revised.height


class Observations:
    """Batches of rows in a directory.

    Args:
        directory: Where they are.
        schema: The roles of the columns.
    """

    def __init__(self, directory: Path, schema: Schema) -> None:
        self._store = LocalStore(directory)
        self._schema = schema

    def write(self, number: int, rows: pl.DataFrame, *, quarantined: bool = False) -> str:
        """Write a batch, complete or not at all, and return its name."""
        name = _name(number, quarantined=quarantined)
        self._store.write(name, [(_ROWS, _packed(rows))])
        return name

    def read(self, number: int, *, quarantined: bool = False) -> pl.DataFrame:
        """Return the rows of a batch."""
        return _unpacked(self._store.read(_name(number, quarantined=quarantined))[_ROWS])

    def view(self, number: int) -> pl.DataFrame | None:
        """Return the table as of a batch, sorted by series and time; ``None`` before the first one.

        The latest two are kept as files, so that a table is not put together from all batches each time.
        """
        if number < 1:
            return None
        names = set(self._store.names())
        kept = sorted(int(name.rpartition("-")[2]) for name in names if name.startswith("view-"))
        begin = max((item for item in kept if item <= number), default=0)
        parts = [] if not begin else [_unpacked(self._store.read(_view_name(begin))[_ROWS])]
        parts += [
            self.read(item).with_columns(pl.lit(item, pl.Int64).alias(BATCH)) for item in range(begin + 1, number + 1)
        ]
        if len(parts) == 1 and begin == number:
            return parts[0]
        view = self._merged(parts)
        if number > max(kept, default=0):
            self._store.write(_view_name(number), [(_ROWS, _packed(view))])
            for item in kept[:-1]:
                self._store.remove(_view_name(item))
        return view

    def differences(self, rows: pl.DataFrame, view: pl.DataFrame | None) -> Difference:
        """Return which rows a table does not have, or has with other values.

        Raises:
            DataError: If the columns are not those of the table.
        """
        if view is None:
            return Difference(rows, rows.clear())
        columns = [name for name in view.columns if name != BATCH]
        if lost := [name for name in columns if name not in rows.columns]:
            raise DataError(f"source: column {lost[0]!r} is missing, which earlier rows have")
        rows = rows.select(columns)
        if wrong := [name for name in columns if not _casts(rows[name], view.schema[name])]:
            name = wrong[0]
            raise DataError(f"source: column {name!r} is {rows.schema[name]}, it was {view.schema[name]} before")
        rows = rows.cast({name: view.schema[name] for name in columns})
        keys = keys_of(self._schema)
        values = [name for name in columns if name not in keys]
        both = rows.join(view.select(*keys, *(pl.col(name).alias(f"{name}_before") for name in values)), on=keys)
        changed = pl.any_horizontal(~pl.col(name).eq_missing(pl.col(f"{name}_before")) for name in values)
        return Difference(rows.join(view, on=keys, how="anti"), both.filter(changed).select(columns))

    def _merged(self, parts: list[pl.DataFrame]) -> pl.DataFrame:
        keys = keys_of(self._schema)
        return pl.concat(parts).unique(keys, keep="last", maintain_order=True).sort(keys)


def _casts(column: pl.Series, dtype: pl.DataType) -> bool:
    """Whether a column can have a type without losing values."""
    if column.dtype == dtype:
        return True
    return column.cast(dtype, strict=False).null_count() == column.null_count()


def _name(number: int, *, quarantined: bool) -> str:
    return f"{'quarantine' if quarantined else 'batch'}-{number:06d}"


def _view_name(number: int) -> str:
    return f"view-{number:06d}"


def _packed(rows: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    rows.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _unpacked(content: bytes) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(content))
