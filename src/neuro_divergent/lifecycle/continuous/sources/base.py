"""The contract of sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.core.config import Component
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.data.schema import Schema

Position = dict[str, Any]
"""How far a source was read, in plain values."""


@dataclass(frozen=True, eq=False)
class Delivery:
    """Rows that a source gave.

    Attributes:
        rows: The rows; they may have been given before, with the same or other values.
        position: How far the source was read now.
    """

    rows: pl.DataFrame
    position: Position


class Source(Component):
    """A place that gets new rows.

    A source has no memory: how far it was read is the position that ``poll`` returns, which is stored together with the
    rows in one transaction. Rows that are given twice do no harm, so a source gives a row rather twice than never.
    """

    registry: ClassVar[Registry] = Registry("source", "neuro_divergent.lifecycle.continuous.sources")

    def poll(self, position: Position | None, schema: Schema) -> Delivery | None:
        """Return rows that are new or changed since a position, or ``None`` where there is none.

        Args:
            position: Of the last delivery; ``None`` reads everything.
            schema: The roles of the columns.

        Raises:
            DataError: If the rows cannot be read.
            StorageError: If the source cannot be reached.
        """
        raise NotImplementedError
