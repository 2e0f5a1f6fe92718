"""A Delta table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import DataError, MissingDependencyError, StorageError
from neuro_divergent.lifecycle.continuous.sources.base import Delivery, Position, Source

if TYPE_CHECKING:
    from neuro_divergent.data.schema import Schema


@register("delta")
class Delta(Source):
    """A Delta table; its version is the watermark. A new version is read as a whole.

    Attributes:
        path: Directory or URL of the table.
    """

    path: str = Field(min_length=1)

    def poll(self, position: Position | None, schema: Schema) -> Delivery | None:
        try:
            import deltalake
        except ImportError:
            raise MissingDependencyError(
                "Delta tables need the package deltalake, which is not installed. Run: pip install "
                '"neuro-divergent[delta]"'
            ) from None
        from deltalake.exceptions import DeltaError, TableNotFoundError

        try:
            table = deltalake.DeltaTable(self.path)
        except TableNotFoundError:
            raise DataError(f"{self.path}: is no Delta table") from None
        except (DeltaError, OSError) as error:
            raise StorageError(f"{self.path}: cannot be read: {error}") from error
        version = table.version()
        if position is not None and position["version"] == version:
            return None
        import polars as pl

        from neuro_divergent.lifecycle.continuous.rows import normalize_rows

        frame = pl.scan_delta(table).collect()
        return Delivery(normalize_rows(frame, schema, self.path), {"version": version})
