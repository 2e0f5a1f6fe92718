"""Responses in strict JSON."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from neuro_divergent.core.storage.strict_json import finite_or_none


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
        text = json.dumps(finite_or_none(content), allow_nan=False, separators=(",", ":"), default=str)
    return text.encode("ascii")
