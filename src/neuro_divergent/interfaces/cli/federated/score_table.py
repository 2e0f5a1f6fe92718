"""Scores of the models of clients as a table in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuro_divergent.core.formatting import format_number

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

_NUMBERS = {"mae": "MAE", "rmse": "RMSE", "mase": "MASE", "skill": "skill"}


def score_table(scores: pl.DataFrame, title: str) -> Table:
    """Return scores as a table."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None)
    names = [name for name in ("client", "model", "clients") if name in scores.columns]
    for name in names:
        table.add_column(name)
    for label in _NUMBERS.values():
        table.add_column(label, justify="right")
    for row in scores.to_dicts():
        numbers = ("-" if row[name] is None else format_number(row[name]) for name in _NUMBERS)
        table.add_row(*(str(row[name]) for name in names), *numbers)
    return table
