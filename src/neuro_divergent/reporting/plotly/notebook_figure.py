"""A figure of plotly that also shows where nothing draws plotly: in an exported notebook, or on a page of a repository.

Plotly leaves its figures to an extension of the notebook. Where that is absent there would be an empty place, so that
what is displayed has a static picture besides, as long as nobody has changed the figure.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from neuro_divergent.core.errors import MissingDependencyError
from neuro_divergent.reporting.figures.figure import Figure
from neuro_divergent.reporting.plotly.figure import to_plotly
from neuro_divergent.reporting.svg.file import render_svg

_PLOTLY = "application/vnd.plotly.v1+json"


def draw(figure: Figure) -> Any:
    """Return a figure of plotly, or the description itself where plotly is not installed.

    A notebook shows either: the one answers to a pointer, and has a static picture besides; the other is one.
    """
    try:
        plain = to_plotly(figure)
    except MissingDependencyError:
        return figure
    drawn = _kind()(plain)
    drawn._described, drawn._as_drawn = figure, drawn.to_json()
    return drawn


@cache
def _kind() -> Any:
    """Return the class, which cannot be made before plotly is loaded."""
    from plotly import graph_objects

    class NotebookFigure(graph_objects.Figure):  # type: ignore[misc]
        _described: Figure | None = None
        _as_drawn = ""

        def _ipython_display_(self) -> None:
            bundle = self._repr_mimebundle_()
            if _PLOTLY not in bundle or self._described is None or self.to_json() != self._as_drawn:
                super()._ipython_display_()
                return
            described = self._described
            bundle["text/plain"] = ". ".join(text for text in (described.title, described.alt_text) if text)
            bundle["image/svg+xml"] = render_svg(described)
            import_module("IPython.display").display(bundle, raw=True)

    return NotebookFigure
