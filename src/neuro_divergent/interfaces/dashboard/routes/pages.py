"""The page and its static files; none of them holds data of a run."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

router = APIRouter()

_STATIC = Path(__file__).parent.parent / "static"
_PLOTLY = "plotly.min.js"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}


@router.get("/", include_in_schema=False)
def page(request: Request) -> Response:
    """Return the page."""
    return _file("index.html", request)


@router.get("/static/{name}")
def file(name: str, request: Request) -> Response:
    """Return a file of the page."""
    return _file(name, request)


def _file(name: str, request: Request) -> Response:
    path = _files().get(name)
    if path is None:
        raise HTTPException(404, "There is no such file.")
    content = path.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers={**headers, "Content-Type": _KINDS[path.suffix]})


def _files() -> dict[str, Path]:
    """Return the static files by name; a requested name is looked up here and never becomes a path."""
    with os.scandir(_STATIC) as found:
        files = {item.name: Path(item.path) for item in found if Path(item.name).suffix in _KINDS and item.is_file()}
    plotly = importlib.util.find_spec("plotly")
    if plotly is not None and plotly.origin is not None:
        files[_PLOTLY] = Path(plotly.origin).parent / "package_data" / _PLOTLY
    return files
