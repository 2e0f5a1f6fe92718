"""Columns that should hold numbers and hold text."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator

import polars as pl

from neuro_divergent.core.errors import DataError, DataWarning
from neuro_divergent.data.cleaning.numbers import NumberStyle, find_decimal_commas, floats
from neuro_divergent.data.io.table import Table
from neuro_divergent.data.schema import Schema


def number_roles(schema: Schema) -> list[str]:
    """Return the columns of a long table that hold numbers if every value is one."""
    covariates = [name for name in schema.covariates if name not in schema.categorical]
    return [*covariates, schema.target, *([schema.weight] if schema.weight else [])]


def clear_texts(frame: pl.DataFrame, schema: Schema | None) -> Iterator[pl.Series]:
    """Yield the columns, without what means a missing value in targets and covariates, be it text or a number."""
    if schema is None or not schema.null_values:
        yield from frame
        return
    values = schema.null_values
    numbers = NumberStyle.of(schema).null_numbers
    for column in frame:
        if column.name in (schema.time, schema.id):
            yield column
        elif column.dtype == pl.String:
            yield column.set(column.str.strip_chars().is_in(values).fill_null(value=False), None)
        elif column.dtype.is_numeric() and len(numbers):
            is_missing = column.cast(pl.Float64).is_in(numbers.implode()).fill_null(value=False)
            yield pl.select(pl.when(~is_missing).then(column)).to_series().alias(column.name)
        else:
            yield column


def read_decimal_commas(
    columns: pl.DataFrame, style: NumberStyle, fail: Callable[[str], DataError], *, strict: bool
) -> tuple[NumberStyle, str]:
    """Return how the numbers of a table are written, whose texts are given, and what to say about it, if anything.

    Commas are taken for decimal marks if no value speaks against it and one of them can be nothing else.

    Raises:
        DataError: If commas may be decimal marks or stand between thousands, or if other columns have points.
    """
    found = find_decimal_commas(columns, style)
    if found is None or style.thousands == ",":
        return style, ""
    place = f"row {found.row + 1}, column {found.column!r}: {found.text!r}"
    cure = 'Pass decimal="," (--decimal ,)'
    if not found.is_certain:
        raise fail(
            f'{place} is with a decimal comma or with a comma between thousands. {cure} or thousands="," '
            "(--thousands ,)"
        )
    if found.point is not None:
        message = f"{place} has a decimal comma, but another column has {found.point!r}. {cure} or write one mark"
        raise fail(message).offering(decimal=",")
    if strict:
        message = f"{place} is no number unless the comma is its decimal mark. {cure}; strict=True guesses nothing"
        raise fail(message).offering(decimal=",")
    notice = f"{place} is read with a decimal comma, like all numbers of the file. {cure} to confirm it"
    return dataclasses.replace(style, decimal=","), notice


def read_numbers(table: Table, schema: Schema) -> Table:
    """Return a table whose columns of targets, weights and covariates are numbers where every text is one.

    Of tables whose types are those of their values, as in Excel, texts are read as in a CSV file. Elsewhere a text is
    one unless the schema says how numbers are written.

    Raises:
        DataError: If the texts may be numbers of two kinds.
    """
    style = NumberStyle.of(schema, has_points=table.has_points)
    if style.is_plain and not table.guessed:
        return table
    frame = table.frame.with_columns(clear_texts(table.frame, schema))
    texts = [name for name in number_roles(schema) if frame.schema.get(name) == pl.String]
    is_left = any(floats(column, style) is column for column in frame.select(texts))
    if table.guessed and NumberStyle.is_open(schema) and is_left:
        style, notice = read_decimal_commas(frame.select(texts), style, table.error, strict=schema.strict)
        if notice:
            warnings.warn(table.describe(notice), DataWarning, stacklevel=4)
    return table.with_frame(frame.with_columns(floats(frame[name], style) for name in texts))
