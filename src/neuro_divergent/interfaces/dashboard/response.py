"""Responses in strict JSON."""

from __future__ import annotations

import json
import math
from typing import Any

from starlette.responses import Response


class JsonResponse(Response):
    """Plain values as JSON: only ASCII, and null for numbers that are not finite, which JSON does not have."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the content as bytes."""
        return to_json(content)


def to_json(content: Any) -> bytes:
    """Return plain values as JSON on one line."""
    try:
        text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError):
        text = json.dumps(_plain(content), allow_nan=False, separators=(",", ":"))
    return text.encode("ascii")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
