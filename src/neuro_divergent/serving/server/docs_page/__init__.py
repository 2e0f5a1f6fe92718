"""The page at ``/docs``: a shell that reads ``/openapi.json`` and shows it; nothing is loaded from elsewhere."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PAGE_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'none'; "
    b"frame-ancestors 'none'; base-uri 'none'"
)
_FILES = {
    "/docs": ("page.html", b"text/html; charset=utf-8"),
    "/docs.js": ("page.js", b"text/javascript; charset=utf-8"),
    "/docs.css": ("page.css", b"text/css; charset=utf-8"),
}


@cache
def docs_file(path: str) -> tuple[bytes, bytes]:
    """Return the content of a file of the page and its type."""
    name, kind = _FILES[path]
    return (Path(__file__).parent / name).read_bytes(), kind
