"""Reads values of files that may be half written, damaged or foreign: what is not as it should be counts as missing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.regular_file import read_json


def read_object(path: Path, limit: int) -> dict[str, Any] | None:
    """Return the values of a JSON file by their names."""
    try:
        content = read_json(path, limit)
    except (NeuroDivergentError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def number(value: object) -> float | None:
    """Return a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def is_step(value: object) -> bool:
    """Whether a value can count steps."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def count(value: object) -> int | None:
    """Return an integer that is not negative."""
    return value if isinstance(value, int) and is_step(value) else None


def part(values: object, name: str) -> dict[str, Any]:
    """Return a section of some settings; one that is a single value is its ``name``."""
    found = values.get(name) if isinstance(values, dict) else None
    return found if isinstance(found, dict) else {"name": found}


def rows(values: object) -> list[dict[str, Any]]:
    """Return those items of a list that have names."""
    return [item for item in values if isinstance(item, dict)] if isinstance(values, list) else []
