"""What is suspicious in a panel, though it can be used: series that never change, integers that may be times."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass

import numpy as np

from neuro_divergent.core.errors import DataError, DataWarning
from neuro_divergent.data.cleaning.epochs import explain_epochs
from neuro_divergent.data.io.table import describe
from neuro_divergent.data.layout import label_series
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.schema import Schema


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
            place = label_series(panel.schema, part.ids, int(constant[0])) or f"column {panel.schema.target!r}"
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
