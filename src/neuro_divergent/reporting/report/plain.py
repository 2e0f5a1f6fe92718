"""Reads values of untrusted files: a value of the wrong type or range counts as missing."""

from __future__ import annotations

import math
from typing import Any

_MOST_LETTERS = 400


def number(value: object) -> float | None:
    """Return a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def integer(value: object) -> int | None:
    """Return an integer that is not negative."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def text(value: object, most: int = _MOST_LETTERS) -> str:
    """Return text on one line, cut where it is too long, or an empty one."""
    if not isinstance(value, str):
        return ""
    line = " ".join(value[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def part(value: object, *names: str) -> dict[str, Any]:
    """Return a table, or one inside it by its names, or an empty one."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def rows(value: object, name: str) -> list[dict[str, Any]]:
    """Return the tables of a list in a table."""
    found = value.get(name) if isinstance(value, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def names(value: object, name: str, most: int = 20) -> list[str]:
    """Return the texts of a list in a table."""
    found = value.get(name) if isinstance(value, dict) else None
    return [text(item) for item in found[:most] if text(item)] if isinstance(found, list) else []
