"""How results of an evaluation show themselves: in a line, and in a notebook."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from neuro_divergent.core import html
from neuro_divergent.core.formatting import format_number
from neuro_divergent.data.io.source import read_table


def frame_html(table: Any, *, names: tuple[str, ...] = ("model", "other", "name")) -> html.Html:
    """Return a table of any kind as HTML.

    Args:
        table: A table of polars, pandas or Arrow.
        names: Columns that are text whatever they hold.
    """
    frame = read_frame(table)
    shown = [_text if name in names else _value for name in frame.columns]
    rows = [[show(value) for show, value in zip(shown, row, strict=True)] for row in frame.iter_rows()]
    return html.table(frame.columns, rows)


def read_frame(table: Any) -> pl.DataFrame:
    """Return a table of any kind as a polars frame; one without rows as well."""
    return table if isinstance(table, pl.DataFrame) else read_table(table).frame


def best_of(table: Any, metric: str) -> str:
    """Return in a few words which row of a table of scores has the lowest error."""
    known = read_frame(table).filter(pl.col(metric).is_not_null() & pl.col(metric).is_not_nan())
    if not known.height:
        return f"no {metric}"
    row = known.sort(metric).row(0, named=True)
    return f"{row['model']} best with {metric.upper()} {format_number(row[metric])}"


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _value(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value
