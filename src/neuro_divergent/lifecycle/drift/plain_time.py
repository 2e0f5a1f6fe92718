"""Times as plain values."""

from __future__ import annotations

from typing import Any


def plain_time(time: Any) -> str | int | None:
    """Return a time as text in ISO 8601, or as the integer it is; ``None`` stays ``None``."""
    if time is None or isinstance(time, int):
        return time
    return str(time.isoformat()) if hasattr(time, "isoformat") else str(time)
