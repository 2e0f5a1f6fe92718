"""From a table to a checked panel.

All errors in the data are reported here, with the column, the series, the row (counted from 1), the count and a remedy.
Nothing is repaired unless the schema requests it.
"""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from neuro_divergent.core.arrays import Array, Floats32, Ints, UInts32
from neuro_divergent.core.errors import DataError, DataWarning
from neuro_divergent.core.spec import Feature
from neuro_divergent.data.cleaning.calendar import (
    NO_HEADER,
    TRANSPOSED,
    calendar_features,
    check_calendar,
    check_times,
    holds_dates,
    holds_values,
    show,
)
from neuro_divergent.data.cleaning.categories import encode_column, is_category
from neuro_divergent.data.cleaning.duplicates import combine_duplicates, duplicates_error
from neuro_divergent.data.cleaning.epochs import explain_epochs
from neuro_divergent.data.cleaning.filling import Grid, complete, fill, find_frequency, find_grid, refuse_holes
from neuro_divergent.data.cleaning.frequency import Frequency, extremes, physical
from neuro_divergent.data.cleaning.numbers import NumberStyle, explain_number
from neuro_divergent.data.io.source import DEFAULT_ID, Table, read_table
from neuro_divergent.data.io.table import describe, run_borders, show_type, take_rows
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.scaling.base import LARGEST
from neuro_divergent.data.schema import Schema
from neuro_divergent.data.sort_order import sort_order

Known = dict[str, list[Any]]
SAME_NAMES = " The columns of new rows must be named as those of the rows before."
_CACHED = 1 << 16  # Rows that stay in the cache of a processor.


def build_panel(
    source: Any, schema: Schema | None = None, *, fitted: Panel | None = None, categories: Known | None = None
) -> Panel:
    """Read a table, check it and lay its series end to end.

    Rows may come in any order. A ``DataWarning`` reports rows that are out of time order within their series, which
    are sorted, and constant series. Times are dates, datetimes, integers or text in ISO 8601.
    Series are named by text or integers and sorted by name.

    Where ``schema.missing`` or ``schema.gaps`` is not ``"error"``, holes are filled within a series. ``interpolate``
    draws a line between observed neighbours and repeats the nearest value at the ends. ``forward`` repeats the last
    observed value and refuses a series that begins without one. ``mask`` hides a target; covariates cannot be hidden,
    so a number repeats the last observed value and a category becomes unknown. ``zero`` puts 0, and makes a category
    unknown. A category repeats the last one for ``interpolate`` too. A static covariate takes the value from the other
    rows of its series. Missing means null or NaN; infinite values and values beyond 32-bit floats are always refused.

    Args:
        source: Anything ``read_table`` accepts, or a ``Table``.
        schema: The roles of the columns and the policies; those of ``fitted``, or the defaults, when left out.
        fitted: The panel that a model was trained on, when the table is new data for it: its frequency and categories
            are used, and data that does not match them is refused.
        categories: Values of each categorical column, where they are agreed beforehand and ``fitted`` is not given.

    Returns:
        A panel whose schema names the series column only if the table has one. A table without one is a single series
        that is called like the target.

    Raises:
        DataError: If the table cannot be used, with the reason.
    """
    schema = schema or (Schema() if fitted is None else fitted.schema)
    table = read_table(source, schema)
    if fitted is not None:
        return assemble(table, schema, frequency=fitted.frequency, categories=fitted.categories)
    panel = assemble(table, schema, categories=categories)
    warn_constant(panel)
    warn_of_epochs(find_epochs(panel), panel.source, panel.schema)
    return panel


def assemble(
    table: Table, schema: Schema, *, frequency: Frequency | None = None, categories: Known | None = None
) -> Panel:
    """Do the work of ``build_panel`` with a frequency and categories that may be known already."""
    layout = lay_out(table, schema, is_new=frequency is not None)
    if layout.moved is not None:
        warn_reordered(layout.moved, table, layout.schema)
    return fill_in(layout, find_frequency(layout, frequency), categories)


def fill_in(layout: Layout, frequency: Frequency, categories: Known | None = None) -> Panel:
    """Return the panel of rows that are in order; ``frequency`` is used as it is."""
    table, schema = layout.table, layout.schema
    grid = find_grid(layout, frequency)
    y, mask = complete(layout, grid, schema.target, _numbers(layout, schema.target), None)
    panel = Panel(
        schema=schema,
        ids=layout.ids,
        starts=take_rows(layout.times, layout.offsets[:-1]),
        frequency=frequency,
        offsets=grid.offsets,
        y=y,
        mask=mask,
        weight=_weights(layout, grid),
        categories={},
        source=table.name,
    )
    if not (schema.covariates or schema.calendar):
        return panel
    times = layout.times if grid.positions is None or not schema.calendar else panel.times()
    past_x, past = _covariates(layout, grid, schema.past, categories, panel.categories)
    future_x, future = _covariates(layout, grid, schema.future, categories, panel.categories, times)
    static_x, static = _statics(layout, categories, panel.categories)
    return dataclasses.replace(
        panel,
        past_x=past_x,
        past=past,
        future_x=future_x,
        future=future,
        static_x=static_x,
        static=static,
    )


def check_lengths(panel: Panel, *, input_size: int, horizon: int) -> Panel:
    """Apply ``schema.short`` to the series that are too short for windows of history and horizon.

    Returns:
        The same panel if every series is long enough. ``"drop"`` leaves the others out with a ``DataWarning``;
        ``"pad"`` puts ``input_size`` masked rows before each series shorter than two windows, so that windows can begin
        before its first row. Covariates repeat their first row there.

    Raises:
        DataError: If a series is too short and must not be, or if none would be left.
    """
    needed = input_size + horizon
    if panel.schema.short == "pad":
        observed = panel.offsets[1:] - panel.first_observed
        padded = np.where(observed < 2 * needed, np.maximum(observed + input_size, needed), 0)
        return panel.lengthened(padded) if (panel.lengths < padded).any() else panel
    return _check_lengths(panel, needed, f"{input_size} history + {horizon} horizon")


def check_history(panel: Panel, *, input_size: int) -> Panel:
    """Apply ``schema.short`` to the series that are too short to forecast from.

    ``"pad"`` puts masked rows before them, as many as are missing; the rest is as for ``check_lengths``.
    """
    return panel.lengthened(input_size) if _pads(panel, input_size) else _check_lengths(panel, input_size, "history")


def _pads(panel: Panel, needed: int) -> bool:
    return panel.schema.short == "pad" and bool((panel.lengths < needed).any())


def _check_lengths(panel: Panel, needed: int, purpose: str) -> Panel:
    short = np.flatnonzero(panel.lengths < needed)
    if not len(short):
        return panel
    count = int(panel.lengths[short[0]])
    place = _label(panel.schema, panel.ids, int(short[0])) or "the series"
    affected = f"; {len(short)} series affected" if panel.schema.id else ""
    message = f"{place}: {count} row{'s' * (count != 1)}, needs {needed} ({purpose}){affected}"
    if panel.schema.short == "error" or len(short) == panel.num_series:
        cure = 'Pass short="pad" (--short pad) to lengthen them, or short="drop" (--short drop) to leave them out.'
        raise DataError(describe(panel.source, f"{message}. {cure}"))
    warnings.warn(describe(panel.source, f"{message} and left out"), DataWarning, stacklevel=3)
    return panel.take(np.flatnonzero(panel.lengths >= needed))


@dataclass(frozen=True)
class Moved:
    """Rows that were not in time order within their series.

    Attributes:
        place: How messages call the first such series; nothing where there is only one without a name.
        rows: How many rows of it were moved.
        series: How many series were affected.
    """

    place: str
    rows: int
    series: int


@dataclass(frozen=True)
class Layout:
    """The rows of a table in the order of a panel: series after series, ascending in time.

    Attributes:
        table: The rows as they came.
        schema: The roles of the columns, with the name of the series column if there is one.
        ids: One value per series.
        offsets: Where each series begins, and the end.
        times: The time of each position.
        order: The row of the table at each position, or None where the table has that order already.
        spread: Smallest and largest step between neighbours of a series, as ``frequency.extremes`` gives them.
        moved: Which rows were out of time order, if any were.
    """

    table: Table
    schema: Schema
    ids: pl.Series
    offsets: Ints
    times: pl.Series
    order: UInts32 | None
    spread: tuple[int, int] | None
    moved: Moved | None = None

    def column(self, name: str) -> pl.Series:
        """Return a column of the table in the order of the panel."""
        column = self.table.frame[name]
        return column if self.order is None else column.gather(self.order)

    def row(self, position: int) -> int:
        """Return the row of the table that is at a position, counted from 1."""
        return self.table.row(position if self.order is None else int(self.order[position]))

    def earliest(self, positions: Any) -> int:
        """Return the one of some positions that comes first in the table."""
        return int(positions[0] if self.order is None else positions[np.argmin(self.order[positions])])

    def series(self, positions: Any) -> Any:
        """Return which series positions belong to."""
        return np.searchsorted(self.offsets, positions, side="right") - 1

    def label(self, series: int) -> str:
        """Return how messages call a series; nothing where there is only one without a name."""
        return _label(self.schema, self.ids, series)

    def place(self, column: str, position: int, *, row: bool = False) -> str:
        """Return how messages begin: the column, the series and perhaps the row."""
        series, number = self.label(int(self.series(position))), f"row {self.row(position)}" if row else ""
        return ", ".join(filter(None, [f"column {column!r}", series, number]))


def _label(schema: Schema, ids: pl.Series, series: int) -> str:
    return "" if schema.id is None else f"series {show(ids[series])}"


def _resolve(table: Table, schema: Schema, *, is_new: bool) -> Schema:
    """Check that every column is there and name the series column if the table has the usual one."""
    found = table.frame.columns
    taken = (schema.time, schema.target, *([schema.weight] if schema.weight else []), *schema.covariates)
    if schema.id is None and DEFAULT_ID in found and DEFAULT_ID not in taken:
        schema = schema.replace(id=DEFAULT_ID)
    for name in (*([schema.id] if schema.id else []), *taken):
        if name not in found:
            raise table.lacks(name, _explain_role(name, table, schema, is_new=is_new))
    return schema


def _explain_role(name: str, table: Table, schema: Schema, *, is_new: bool) -> str:
    """Return how to name the columns that have a role, or what to do with a wide table; roles of new rows are given."""
    roles = {"time": schema.time, "target": schema.target, "id": schema.id}
    if name not in roles.values():
        return ""
    if holds_dates(table.columns):
        return TRANSPOSED
    if is_new:
        return SAME_NAMES
    if holds_values(table.columns):
        return NO_HEADER
    found = set(table.columns)
    lost = ", ".join(f"{role}= (--{role})" for role, column in roles.items() if column and column not in found)
    cure = f" Say which it is: {lost}"
    may_have_id = len(found) > 2 and schema.id is None and DEFAULT_ID not in found
    if may_have_id:
        cure += "; and id= (--id) if a column names the series"
    if may_have_id and not schema.wide:
        cure += ". If each column is a series, pass wide=True (--wide)"
    return f"{cure}."


def lay_out(table: Table, schema: Schema, *, is_resolved: bool = False, is_new: bool = False) -> Layout:
    """Check names and times of a table and put its rows in the order of a panel.

    ``is_resolved`` says that the schema names the series column and that every column is there which is needed later;
    ``is_new`` says that the rows are new ones for a schema that is known, as that of a trained model.

    Raises:
        DataError: If a column is missing, or names or times cannot be used.
    """
    schema = schema if is_resolved else _resolve(table, schema, is_new=is_new)
    times = check_times(table.frame[schema.time], table.error, table.date_format, table.row)
    order = codes = None
    if schema.id is None:
        names, offsets = pl.Series(DEFAULT_ID, [schema.target]), np.array([0, len(times)])
    else:
        names = _check_names(table, schema.id)
        offsets = run_borders(names)
        firsts = _sortable(take_rows(names, offsets[:-1]))
        if firsts.n_unique() < len(firsts) or not firsts.is_sorted():
            codes = _codes(names)
            order = sort_order(codes).astype(np.uint32)
            offsets = run_borders(pl.Series(codes[order]))
    layout = _ordered(table, schema, names, offsets, times, order)
    if layout.spread and layout.spread[0] < 0:
        ascending = sort_order(physical(times)).astype(np.uint32)
        if schema.id is not None:
            # Rows that are in the order of their series are numbered by it.
            codes = series_numbers(offsets) if codes is None else codes
            ascending = ascending[sort_order(codes[ascending])]
        layout = _ordered(table, schema, names, offsets, times, ascending)
    if layout.spread and layout.spread[0] == 0:
        if schema.duplicates == "error":
            raise duplicates_error(layout)
        return lay_out(combine_duplicates(layout), schema, is_resolved=True)
    check_calendar(schema.calendar, layout.times.dtype, schema.time)
    if layout.order is not order:
        moved = _moved(layout, np.arange(len(times)) if order is None else order)
        layout = dataclasses.replace(layout, moved=moved)
    return layout


def _ordered(
    table: Table, schema: Schema, names: pl.Series, offsets: Ints, times: pl.Series, order: UInts32 | None
) -> Layout:
    rows = offsets[:-1] if order is None else order[offsets[:-1]]
    ids = names if schema.id is None else take_rows(names, rows)
    times = times if order is None else times.gather(order)
    return Layout(table, schema, ids, offsets, times, order, extremes(times, offsets))


def _check_names(table: Table, column: str) -> pl.Series:
    names = table.frame[column]
    if not (names.dtype.is_integer() or is_category(names.dtype)):
        raise table.error(f"column {column!r} is {show_type(names.dtype)}; series are named by text or integers")
    if missing := names.null_count():
        row = table.row(int(names.is_null().arg_true()[0]))
        raise table.error(f"column {column!r}: {missing} missing, first row {row}; every row needs a series")
    return names


def _sortable(names: pl.Series) -> pl.Series:
    return names if names.dtype.is_integer() else names.cast(pl.String)  # Categories sort by text, not by code.


def series_numbers(offsets: Ints) -> Array:
    """Return for each row the number of its series, of 16 bits where possible."""
    count = len(offsets) - 1
    return np.repeat(np.arange(count, dtype=np.uint16 if count <= 2**16 else np.uint32), np.diff(offsets))


def _codes(names: pl.Series) -> Array:
    """Return integers that sort like the names; of 16 bits where possible, which numpy sorts much faster."""
    names = _sortable(names)
    if names.dtype == pl.String:
        names = names.cast(pl.Enum(names.unique().sort())).to_physical()
    low, high = int(names.min()), int(names.max())  # type: ignore[arg-type]
    numbers = names.to_numpy()
    return (numbers.astype(np.int64) - low).astype(np.uint16) if abs(low) < 2**62 and high - low < 2**16 else numbers


def _moved(layout: Layout, given: Array) -> Moved:
    """Return which rows are not in time order within their series; the order of the series does not matter."""
    counts = np.add.reduceat(layout.order != given, layout.offsets[:-1], dtype=np.int64)
    moved = np.flatnonzero(counts)
    return Moved(layout.label(int(moved[0])), int(counts[moved[0]]), len(moved))


def warn_reordered(moved: Moved, table: Table, schema: Schema) -> None:
    """Warn about rows that were out of time order, or refuse them where the schema is strict."""
    place = f"{moved.place}: " if moved.place else ""
    others = f"; {moved.series} series affected" if moved.place else ""
    message = f"{place}{moved.rows} rows were out of time order"
    if schema.strict:
        raise table.error(f"{message}{others}; strict=True (--strict) allows none")
    warnings.warn(table.describe(f"{message} and are sorted{others}"), DataWarning, stacklevel=4)


@dataclass(frozen=True)
class Constant:
    """Series that never change.

    Attributes:
        place: How messages call the first of them.
        value: The value it always has.
        series: How many there are.
    """

    place: str
    value: float
    series: int


def find_constant(panel: Panel) -> Constant | None:
    """Return which series never change, if any; series of one row do not count."""
    first, count = None, 0
    for begin, end in panel.series_blocks():
        part = panel.part(begin, end)
        begins, y = part.offsets[:-1], part.y
        if part.mask is None:
            low, high = np.minimum.reduceat(y, begins), np.maximum.reduceat(y, begins)
        else:
            low = np.minimum.reduceat(np.where(part.mask, y, np.inf), begins)
            high = np.maximum.reduceat(np.where(part.mask, y, -np.inf), begins)
        constant = np.flatnonzero((low == high) & (part.lengths > 1))
        if len(constant) and first is None:
            place = _label(panel.schema, part.ids, int(constant[0])) or f"column {panel.schema.target!r}"
            first = Constant(place, float(low[constant[0]]), 0)
        count += len(constant)
    return None if first is None else dataclasses.replace(first, series=count)


def warn_constant(panel: Panel) -> None:
    """Warn about series that never change, or refuse them where the schema is strict."""
    if (constant := find_constant(panel)) is not None:
        warn_of_constant(constant, panel.source, panel.schema)


def find_epochs(panel: Panel) -> str | None:
    """Return what integer times can mean, if they can be counts from 1970 and the frequency was not given."""
    if panel.frequency.unit or panel.schema.frequency is not None:
        return None
    found = explain_epochs(panel.starts[0], panel.frequency.count)
    return found and f"column {panel.schema.time!r}: {found}"


def warn_of_epochs(found: str | None, source: str, schema: Schema) -> None:
    """Warn about integers that can be times, or refuse them where the schema is strict."""
    if found is not None and schema.strict:
        raise DataError(describe(source, f"{found}; strict=True (--strict) guesses nothing"))
    if found is not None:
        warnings.warn(describe(source, found), DataWarning, stacklevel=4)


def warn_of_constant(constant: Constant, source: str, schema: Schema) -> None:
    """Warn about series that never change, or refuse them where the schema is strict."""
    others = f"; {constant.series} series affected" if constant.series > 1 else ""
    message = describe(source, f"{constant.place}: constant, always {constant.value:g}{others}")
    if schema.strict:
        raise DataError(f"{message}; strict=True (--strict) allows none")
    warnings.warn(message, DataWarning, stacklevel=4)


def _numbers(layout: Layout, name: str) -> Floats32:
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


def _weights(layout: Layout, grid: Grid) -> Floats32 | None:
    """Return how much each row counts; rows that fill gaps count nothing."""
    name = layout.schema.weight
    if name is None:
        return None
    values = _numbers(layout, name)
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


def _covariates(
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
        return _numbers(layout, name), Feature(name)
    codes, learned[name] = encode_column(layout, name, None if known is None else known[name])
    return codes, Feature(name, len(learned[name]) + 1)


def _statics(layout: Layout, known: Known | None, learned: Known) -> tuple[Floats32 | None, tuple[Feature, ...]]:
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
