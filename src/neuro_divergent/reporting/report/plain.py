"""Reads texts and tables of untrusted files (``runs.values`` reads numbers): what is wrong counts as missing."""

from __future__ import annotations

from typing import Any

_MOST_LETTERS = 400


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
