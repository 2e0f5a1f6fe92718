"""Columns of a table as the arrays of a panel: checked numbers and codes in the order of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Floats32
from neuro_divergent.core.spec import Feature
from neuro_divergent.data.cleaning.calendar import calendar_features, show
from neuro_divergent.data.cleaning.categories import encode_column, is_category
from neuro_divergent.data.cleaning.filling import Grid, complete, fill, refuse_holes
from neuro_divergent.data.cleaning.numbers import NumberStyle, explain_number
from neuro_divergent.data.io.table import show_type
from neuro_divergent.data.layout import Layout
from neuro_divergent.data.scaling.base import LARGEST

Known = dict[str, list[Any]]
_CACHED = 1 << 16  # Rows that stay in the cache of a processor.


def numbers(layout: Layout, name: str) -> Floats32:
    """Return a column as 32-bit floats, NaN where a value is missing."""
    column = layout.column(name)
    if column.dtype in (pl.Boolean, pl.Null) or column.dtype == pl.Decimal:
        column = column.cast(pl.Float64)
    if not column.dtype.is_numeric():
        _refuse_text(layout, column)
    values = np.empty(len(column), np.float32)
    too_large = False
    for begin in range(0, len(values), _CACHED):
        piece = values[begin : begin + _CACHED]
        with np.errstate(over="ignore"):
            piece[:] = column.slice(begin, _CACHED).to_numpy()
        low, high = piece.min(), piece.max()
        if not (low >= -LARGEST and high <= LARGEST):  # Too large, or NaN, beside which nothing is told apart.
            too_large = too_large or bool((np.abs(piece) > LARGEST).any())
    if too_large:
        position = layout.earliest(np.flatnonzero(np.abs(values) > LARGEST))
        value = float(column[position])
        problem = "infinite" if np.isinf(value) else f"{value:.8g} {explain_size(value)}"
        raise layout.table.error(f"{layout.place(name, position, row=True)}: {problem}")
    return values


def explain_size(value: float) -> str:
    """Return the reason why a value is too large."""
    if abs(value) > float(np.finfo(np.float32).max):
        return "exceeds float32, which ends at 3.4e38"
    return f"exceeds {LARGEST:g}, beyond which float32 cannot hold squares; divide the column by a power of ten"


def _refuse_text(layout: Layout, column: pl.Series) -> None:
    if column.dtype == pl.String:
        style = NumberStyle.of(layout.schema, has_points=layout.table.has_points)
        wrong = style.find_wrong(column).arg_true().to_numpy()
        if len(wrong):
            first = layout.earliest(wrong)
            place = f"row {layout.row(first)}, column {column.name!r}"
            cure = explain_number(str(column[first]), style)
            error = layout.table.error(f"{place}: {show(column[first])} is not a number{cure.text}")
            raise error.offering(**cure.changes)
    raise layout.table.error(
        f"column {column.name!r} is {show_type(column.dtype)}; numbers are needed, so convert it first"
    )


def weights(layout: Layout, grid: Grid) -> Floats32 | None:
    """Return how much each row counts; rows that fill gaps count nothing."""
    name = layout.schema.weight
    if name is None:
        return None
    values = numbers(layout, name)
    wrong = np.flatnonzero(~(values >= 0))
    if len(wrong):
        first = layout.earliest(wrong)
        problem = "is missing" if np.isnan(values[first]) else f"{values[first]:g} is negative"
        raise layout.table.error(f"{layout.place(name, first, row=True)}: {problem}; a weight is zero or more")
    if grid.positions is None:
        return values
    longer = np.zeros(grid.offsets[-1], np.float32)
    longer[grid.positions] = values
    return longer


def covariates(
    layout: Layout,
    grid: Grid,
    names: tuple[str, ...],
    known: Known | None,
    learned: Known,
    times: pl.Series | None = None,
) -> tuple[Floats32 | None, tuple[Feature, ...]]:
    """Return covariates that vary, ``(rows, features)``, followed by calendar features where times are given."""
    calendar = () if times is None else layout.schema.calendar
    if not (names or calendar):
        return None, ()
    values = np.empty((grid.offsets[-1], len(names) + len(calendar)), np.float32)
    features = []
    for position, name in enumerate(names):
        column, feature = _covariate(layout, name, known, learned)
        values[:, position], _ = complete(layout, grid, name, column, feature)
        features.append(feature)
    if times is not None:
        calendar_features(times, calendar, values[:, len(names) :])
    return values, (*features, *map(Feature, calendar))


def _covariate(layout: Layout, name: str, known: Known | None, learned: Known) -> tuple[Floats32, Feature]:
    """Return one covariate as numbers or codes, NaN where it is missing."""
    dtype = layout.table.frame.schema[name]
    category = is_category(dtype) or name in layout.schema.categorical
    if known is not None and category and name not in known:
        raise layout.table.error(f"column {name!r} is {show_type(dtype)}; in training it held numbers")
    if not category and (known is None or name not in known):
        return numbers(layout, name), Feature(name)
    codes, learned[name] = encode_column(layout, name, None if known is None else known[name])
    return codes, Feature(name, len(learned[name]) + 1)


def statics(layout: Layout, known: Known | None, learned: Known) -> tuple[Floats32 | None, tuple[Feature, ...]]:
    """Return covariates that are constant in each series, ``(series, features)``."""
    names = layout.schema.static
    if not names:
        return None, ()
    values = np.empty((len(layout.ids), len(names)), np.float32)
    features = []
    for position, name in enumerate(names):
        column, feature = _covariate(layout, name, known, learned)
        holes = np.flatnonzero(np.isnan(column))
        if len(holes):
            refuse_holes(layout, name, column, feature, static=True)
            fill(column, layout.offsets, holes, "forward", observed=~np.isnan(column))
        changes = np.setdiff1d(np.flatnonzero(column[1:] != column[:-1]) + 1, layout.offsets)
        if len(changes):
            later = int(changes[0])
            place, value = layout.place(name, later, row=True), show(layout.column(name)[later])
            raise layout.table.error(f"{place}: {value} differs from a row before; a static covariate has one value")
        values[:, position] = column[layout.offsets[:-1]]
        features.append(feature)
    return values, tuple(features)
