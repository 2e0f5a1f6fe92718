"""A table of series with the roles of its columns, in the order of series and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from neuro_divergent.core.errors import DataError, did_you_mean
from neuro_divergent.data.cleaning.calendar import check_times
from neuro_divergent.data.io.source import DEFAULT_ID
from neuro_divergent.data.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuro_divergent.lifecycle.pipeline.artifact import Artifact

ROW = "__row__"


@dataclass(frozen=True)
class SeriesTable:
    """Rows of series.

    Attributes:
        frame: The rows, ascending in series and time, with times that are read.
        schema: Roles of the columns; ``id`` is set if the table has a column of series.
    """

    frame: pl.DataFrame
    schema: Schema

    @classmethod
    def of(cls, frame: pl.DataFrame, schema: Schema) -> SeriesTable:
        """Check the columns of time, series and target, read the times, and sort the rows.

        Raises:
            DataError: If a column is missing, or a time cannot be read.
        """
        schema = with_id(schema, frame.columns)
        for name in (schema.time, schema.target, *([schema.id] if schema.id else [])):
            require_column(frame, name)
        if not frame.height:
            raise DataError("the table has no rows.")
        times = check_times(frame[schema.time], DataError, schema.date_format)
        frame = frame.with_columns(times.alias(schema.time))
        return cls(frame.sort([*([schema.id] if schema.id else []), schema.time], maintain_order=True), schema)

    @classmethod
    def from_inputs(cls, inputs: Mapping[str, Artifact]) -> SeriesTable:
        """Return the table of the inputs ``table`` and ``schema`` of a stage."""
        return cls.of(inputs["table"].table(), Schema.from_dict(inputs["schema"].load()))

    @property
    def keys(self) -> list[str]:
        """Columns that name a row: of the series, if there is one, and of the time."""
        return [*([self.schema.id] if self.schema.id else []), self.schema.time]

    def by_series(self, expression: pl.Expr) -> pl.Expr:
        """Return an expression that is computed for each series by itself."""
        return expression.over(self.schema.id) if self.schema.id else expression

    def label(self, row: int) -> str:
        """Return how messages call the series of a row."""
        return f"series {self.frame[self.schema.id][row]!r}" if self.schema.id else "the series"

    def with_frame(self, frame: pl.DataFrame) -> SeriesTable:
        """Return other rows with the same roles."""
        return SeriesTable(frame, self.schema)


def with_id(schema: Schema, columns: list[str]) -> Schema:
    """Return the roles with the usual name of the series column, if the table has one and none is given."""
    taken = (schema.time, schema.target, *([schema.weight] if schema.weight else []), *schema.covariates)
    if schema.id is None and DEFAULT_ID in columns and DEFAULT_ID not in taken:
        return schema.replace(id=DEFAULT_ID)
    return schema


def require_column(frame: pl.DataFrame, name: str) -> None:
    """Refuse a table without a column.

    Raises:
        DataError: With the closest name.
    """
    if name not in frame.columns:
        raise DataError(
            f"column {name!r} missing; found {', '.join(frame.columns[:20])}.{did_you_mean(name, frame.columns)}"
        )


def plain(value: Any) -> Any:
    """Return a value of a table as one of JSON; times become text."""
    return value.isoformat() if hasattr(value, "isoformat") else value
