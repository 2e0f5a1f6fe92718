"""From a table to a checked panel.

All errors in the data are reported here, with the column, the series, the row (counted from 1), the count and a remedy.
Nothing is repaired unless the schema requests it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from neuro_divergent.data.cleaning.filling import complete, find_frequency, find_grid
from neuro_divergent.data.cleaning.frequency import Frequency
from neuro_divergent.data.io.source import Table, read_table
from neuro_divergent.data.io.table import take_rows
from neuro_divergent.data.layout import Layout, lay_out, warn_reordered
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_columns import Known, covariates, numbers, statics, weights
from neuro_divergent.data.panel_warnings import find_epochs, warn_constant, warn_of_epochs
from neuro_divergent.data.schema import Schema


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
    y, mask = complete(layout, grid, schema.target, numbers(layout, schema.target), None)
    panel = Panel(
        schema=schema,
        ids=layout.ids,
        starts=take_rows(layout.times, layout.offsets[:-1]),
        frequency=frequency,
        offsets=grid.offsets,
        y=y,
        mask=mask,
        weight=weights(layout, grid),
        categories={},
        source=table.name,
    )
    if not (schema.covariates or schema.calendar):
        return panel
    times = layout.times if grid.positions is None or not schema.calendar else panel.times()
    past_x, past = covariates(layout, grid, schema.past, categories, panel.categories)
    future_x, future = covariates(layout, grid, schema.future, categories, panel.categories, times)
    static_x, static = statics(layout, categories, panel.categories)
    return dataclasses.replace(
        panel,
        past_x=past_x,
        past=past,
        future_x=future_x,
        future=future,
        static_x=static_x,
        static=static,
    )
