"""Columns of a table of forecasts.

The table is long: one row for each forecast value, with the observed value and the columns of one or more models. A
model has a numeric column, its point forecast, and perhaps others that continue its name: ``<model>-lo-80`` and
``<model>-hi-80`` are the bounds of an interval, ``<model>-q-0.1`` is a quantile. Those without the name of a model
(``lo-80``) belong to the model ``forecast``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from neuro_divergent.core.arrays import Floats
from neuro_divergent.core.errors import did_you_mean
from neuro_divergent.data.io.table import Table, show_type

CUTOFF, STEP, FOLD = "cutoff", "step", "fold"
_ALONE = "forecast"
_PART = re.compile(r"(?:(?P<model>.+)-)?(?P<kind>lo|hi|q)-(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)")
_DIGITS = 10  # quantiles that differ by less are the same: 0.1 and (100 - 80) / 200


@dataclass(frozen=True)
class ModelColumns:
    """The columns of one model.

    Attributes:
        point: Its point forecast, if it has one.
        lower: Lower bounds of intervals, by their level in percent.
        upper: Upper bounds of intervals.
        marked: Columns of quantiles, by their level between 0 and 1.
    """

    point: str | None = None
    lower: dict[float, str] = field(default_factory=dict)
    upper: dict[float, str] = field(default_factory=dict)
    marked: dict[float, str] = field(default_factory=dict)

    @property
    def levels(self) -> list[float]:
        """Levels of the intervals that have both bounds, ascending."""
        return sorted(self.lower.keys() & self.upper.keys())

    @property
    def quantiles(self) -> dict[float, str]:
        """All quantiles by their level, ascending; the bounds of intervals are quantiles too."""
        found = {round((100 - level) / 200, _DIGITS): name for level, name in self.lower.items()}
        found |= {round((100 + level) / 200, _DIGITS): name for level, name in self.upper.items()}
        return dict(sorted((found | self.marked).items()))


def find_models(table: Table, *, without: Iterable[str]) -> dict[str, ModelColumns]:
    """Return the models of a table in the order of their columns; those in ``without`` are not forecasts."""
    left_out = {*without, CUTOFF, STEP, FOLD}
    models: dict[str, ModelColumns] = {}
    for column, dtype in table.frame.schema.items():
        if column in left_out or not dtype.is_numeric():
            continue
        match = _PART.fullmatch(column)
        name = (match["model"] or _ALONE) if match else column
        model = models.setdefault(name, ModelColumns())
        if match is None:
            models[name] = replace(model, point=column)
            continue
        number, limit = round(float(match["number"]), _DIGITS), 1 if match["kind"] == "q" else 100
        if not 0 < number < limit:
            raise table.error(f"column {column!r}: {match['number']} must lie between 0 and {limit}")
        {"lo": model.lower, "hi": model.upper, "q": model.marked}[match["kind"]][number] = column
    return models


def choose_models(
    table: Table, known: dict[str, ModelColumns], names: Sequence[str] | str | None
) -> dict[str, ModelColumns]:
    """Return the models with the given names, or all of them."""
    if not known:
        raise table.error("no column of forecasts; a model is a numeric column, such as 'forecast'")
    wanted = list(known) if names is None else [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in known:
            raise table.error(f"no model {name!r}; found {', '.join(known)}.{did_you_mean(name, known)}")
    return {name: known[name] for name in wanted}


def numbers(table: Table, column: str) -> Floats:
    """Return a column of numbers as floats, NaN where it is null."""
    if column not in table.frame.columns:
        raise table.lacks(column)
    series = table.frame[column]
    if not (series.dtype.is_numeric() or series.dtype == pl.Null):
        raise table.error(f"column {column!r} is {show_type(series.dtype)}, expected numbers")
    return series.cast(pl.Float64).to_numpy()
