"""Categorical columns as integers.

Values seen in training are numbered from 1 in sorted order; 0 is for values not seen in training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats32, Ints
from neuro_divergent.data.cleaning.calendar import show
from neuro_divergent.data.cleaning.numbers import NumberStyle, explain_number
from neuro_divergent.data.io.table import show_type

if TYPE_CHECKING:
    from neuro_divergent.data.layout import Layout


ALLOW_UNKNOWN = 'Pass unknown_category="unknown" (--unknown-category unknown) to forecast without knowing it'


def is_category(dtype: pl.DataType) -> bool:
    """Whether a column of this type is categorical without being listed as such."""
    return dtype == pl.String or dtype == pl.Categorical or dtype == pl.Enum


def learn_categories(column: pl.Series) -> list[Any]:
    """Return the values of a column in sorted order, without missing ones; plain text, numbers or booleans."""
    return _plain(column).unique().drop_nulls().sort().to_list()


def encode_column(layout: Layout, name: str, known: list[Any] | None) -> tuple[Floats32, list[Any]]:
    """Number the values of a column of a table, by those seen in training or else by its own.

    Returns:
        The codes, NaN where the value is missing, and the values in the order of their codes.

    Raises:
        DataError: If the column cannot hold categories, or holds others than training and the schema refuses those.
    """
    column = layout.column(name)
    if not (is_category(column.dtype) or column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise layout.table.error(
            f"column {name!r} is {show_type(column.dtype)}; categories are text, integers or booleans"
        )
    if known is None:
        if column.dtype == pl.String and layout.table.guessed and name not in layout.schema.categorical:
            _refuse_mixture(layout, column)
        known = learn_categories(column)
    codes, unknown = encode_categories(column, known)
    if len(unknown) and layout.schema.unknown_category == "error":
        first = layout.earliest(unknown)
        raise layout.table.error(
            f"{layout.place(name, first, row=True)}: category {show(column[first])} not in training data; "
            f"{len(unknown)} such rows. {ALLOW_UNKNOWN}"
        )
    return codes, known


def _refuse_mixture(layout: Layout, column: pl.Series) -> None:
    """Refuse text among numbers in a column with inferred types: it is more often an error than a category."""
    style = NumberStyle.of(layout.schema, has_points=layout.table.has_points)
    if style.parse(column).null_count() < len(column):
        first = layout.earliest(style.find_wrong(column).arg_true().to_numpy())
        place = f"row {layout.row(first)}, column {column.name!r}: {show(column[first])}"
        cure = explain_number(str(column[first]), style)
        raise layout.table.error(
            f"{place} is not a number; list the column as categorical (--categorical) if it holds categories{cure.text}"
        ).offering(**cure.changes)


def encode_categories(column: pl.Series, known: list[Any]) -> tuple[Floats32, Ints]:
    """Number the values of a column by the values of training, in the order of their codes.

    Returns:
        The codes, NaN where the value is missing and 0 where it is not known, and the positions of the latter.
    """
    column, values = _plain(column), pl.Series(known, strict=False)
    if column.dtype != values.dtype:  # A CSV file and a frame may hold the same numbers in different types.
        column, values = _as_text(column), _as_text(values)
    codes = pl.Series(np.arange(1, len(known) + 1, dtype=np.float32))
    encoded = column.replace_strict(values, codes, default=0.0, return_dtype=pl.Float32).to_numpy(writable=True)
    encoded[column.is_null().to_numpy()] = np.nan
    return encoded, np.flatnonzero(encoded == 0)


def decode_categories(codes: Floats32, known: list[Any]) -> pl.Series:
    """Return the values behind codes; null behind 0."""
    return pl.Series([None, *known], strict=False).gather(codes.astype(np.int64))


def _plain(column: pl.Series) -> pl.Series:
    if column.dtype == pl.Categorical or column.dtype == pl.Enum:
        return column.cast(pl.String)
    if column.dtype.is_integer():
        return column.cast(pl.Int64)
    return column.cast(pl.Float64).fill_nan(None) if column.dtype.is_float() else column


def _as_text(column: pl.Series) -> pl.Series:
    whole = column.dtype.is_float() and (column.drop_nulls() % 1 == 0).all()
    return (column.cast(pl.Int64) if whole else column).cast(pl.String)
