"""Writes figures to files; the suffix chooses the format."""

from __future__ import annotations

import json
from html import escape, unescape
from pathlib import Path
from typing import Any

from neuro_divergent.core.errors import InputError, MissingDependencyError
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.reporting.figures.figure import Figure
from neuro_divergent.reporting.plotly.figure import to_json, to_plotly
from neuro_divergent.reporting.plotly.palette import TEXT
from neuro_divergent.reporting.svg.file import render_svg

_IMAGES = {".png": "png", ".jpg": "jpg", ".jpeg": "jpg", ".webp": "webp", ".pdf": "pdf"}
_KINDS = (".html", ".svg", ".json", *_IMAGES)
_WIDTH, _HEIGHT, _SCALE = 900, 500, 2
_INK = "#444444"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ margin: 0 auto; padding: 1rem; max-width: 72rem; background: #fff; color: #1b1f24; }}
body {{ font: 16px/1.5 system-ui, sans-serif; }}
.figure {{ height: {height}; }} p {{ color: #56606b; }}
</style>
</head>
<body>
<div class="figure">{figure}</div>
{note}
</body>
</html>
"""


def write_figure(figure: Any, path: str | Path) -> None:
    """Write a figure to a file, complete or not at all.

    Args:
        figure: A ``Figure``, or a figure of plotly.
        path: Name of the file: ``.html`` is interactive and self-contained; ``.svg`` is static; ``.json``
            is for plotly in any language; ``.png``, ``.jpg``, ``.webp`` and ``.pdf`` need the extra ``png`` and a
            Chrome or Chromium, and so does ``.svg`` of a figure of plotly.

    Raises:
        InputError: If the name ends in something else, or it is no figure.
        MissingDependencyError: If a package or a browser is missing.
        StorageError: If writing fails.

    Examples:
        >>> import neuro_divergent as nd
        >>> from pathlib import Path
        >>> figure = nd.plots.plot_schedule("warmup_cosine")
        >>> nd.plots.write_figure(figure, "schedule.html")
        >>> Path("schedule.html").read_text("utf-8")[:15]
        '<!doctype html>'
        >>> nd.plots.write_figure(figure, "schedule.gif")
        Traceback (most recent call last):
            ...
        neuro_divergent.core.errors.InputError: 'schedule.gif': a figure cannot be written as '.gif'; use one ...
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in _KINDS:
        raise InputError(f"{str(path)!r}: a figure cannot be written as {kind!r}; use one of {', '.join(_KINDS)}.")
    if not isinstance(figure, Figure) and not hasattr(figure, "to_plotly_json"):
        raise InputError(f"a {type(figure).__name__} is no figure; pass what one of the plot functions returned.")
    write_file(path, _content(figure, kind))


def _content(figure: Any, kind: str) -> bytes:
    note = ""
    if isinstance(figure, Figure):
        if kind == ".svg":
            return render_svg(figure).encode()
        if kind == ".json":
            return json.dumps(to_json(figure), allow_nan=False).encode()
        figure, note = to_plotly(figure), figure.note
    if kind == ".html":
        return _page(figure, note).encode()
    return str(figure.to_json()).encode() if kind == ".json" else _image(figure, _IMAGES.get(kind, "svg"))


def _page(drawn: Any, note: str) -> str:
    """Return a self-contained page, with the Plotly library in it."""
    drawn = _on_white(drawn)
    height = drawn.layout.height
    shown = {"include_mathjax": False, "default_height": "100%", "config": {"responsive": True}}
    return _PAGE.format(
        title=escape(unescape(drawn.layout.title.text or "Figure")),
        figure=drawn.to_html(full_html=False, include_plotlyjs=True, **shown),
        note=f"<p>{escape(note)}</p>" if note else "",
        height=f"{height}px" if height else "min(75vh, 36rem)",
    )


def _on_white(drawn: Any) -> Any:
    """Return a figure with darker text, unless somebody chose a colour for it."""
    if drawn.layout.font.color != TEXT:
        return drawn
    return type(drawn)(drawn).update_layout(font_color=_INK)


def _image(drawn: Any, kind: str) -> bytes:
    """Render a figure with a browser."""
    try:
        import kaleido
        from kaleido.errors import ChromeNotFoundError
    except ImportError:
        raise MissingDependencyError(
            'Figures as images need kaleido, which is not installed: pip install "neuro-divergent[png]". '
            "Names that end in .svg or .html need neither it nor a browser."
        ) from None
    content = _on_white(drawn).to_plotly_json()
    layout = {**content.get("layout", {}), "paper_bgcolor": "#ffffff"}
    if layout.get("font", {}).get("family") == "inherit":  # an image has no page to inherit a font from
        layout["font"] = {**layout["font"], "family": "system-ui, sans-serif"}
    options = {"format": kind, "width": layout.get("width") or _WIDTH, "height": layout.get("height") or _HEIGHT}
    try:
        image = kaleido.calc_fig_sync(
            {**content, "layout": layout},
            opts={**options, "scale": _SCALE},
            kopts={"mathjax": False},  # which would be loaded from the network, and there are no formulas
        )
    except ChromeNotFoundError:
        raise MissingDependencyError(
            "Figures as images need Chrome or Chromium, and none was found. Install one, or set BROWSER_PATH to "
            "where it is. Names that end in .svg or .html need none."
        ) from None
    return bytes(image)
