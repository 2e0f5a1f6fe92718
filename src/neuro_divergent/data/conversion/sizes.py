"""How large panels get, and how many rows are read or sorted together."""

from __future__ import annotations

from neuro_divergent.data.schema import Schema

_FEWEST_ROWS, _MOST_ROWS = 1 << 10, 1 << 20


def panel_bytes(rows: int, schema: Schema) -> int:
    """Return about how many bytes a panel of so many rows takes."""
    values = 1 + bool(schema.weight) + len(schema.past) + len(schema.future) + len(schema.calendar)
    masks = 1 if "mask" in (schema.missing, schema.gaps) else 0
    return rows * (4 * values + masks)


def plan_rows(memory: int, row_bytes: int) -> tuple[int, int]:
    """Return how many rows are read together, and how many may be sorted together, within a bound of memory."""
    return min(max(memory // (6 * row_bytes), _FEWEST_ROWS), _MOST_ROWS), max(memory // (10 * row_bytes), _FEWEST_ROWS)
