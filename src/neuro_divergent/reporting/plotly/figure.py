"""A figure as an interactive Plotly chart.

``to_json`` needs no package and gives what ``Plotly.react`` takes in a browser; colours of text and grid are left to
the page. ``to_plotly`` gives the same as an object of the Python package. Plotly interprets some HTML in text,
so all text is escaped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neuro_divergent.core.errors import MissingDependencyError
from neuro_divergent.reporting.figures.figure import Axis, Figure, Heatmap, Rule
from neuro_divergent.reporting.plotly.palette import GRID, RULE, TEXT
from neuro_divergent.reporting.plotly.traces import Json, Traces, plain, safe
from neuro_divergent.reporting.svg.axes import LONGEST, Axes
from neuro_divergent.reporting.svg.labels import shorten
from neuro_divergent.reporting.svg.scales import NameScale, Scale, to_numeric
from neuro_divergent.reporting.svg.style import mark_styles

_MOST_ROWS, _MOST_COLUMNS = 60, 12  # that are named
_FEW_DECADES, _SMALL = 3, 1e-3  # small numbers are written with a power of ten instead of a letter
# How times are written where labels are that far apart, in milliseconds or months: what is the same for several labels
# stands in a second line, so that labels are short enough to be level.
_TIMES = (
    (None, 999, "%H:%M:%S.%L\n%-d %b %Y"),
    (1_000, 59_999, "%H:%M:%S\n%-d %b %Y"),
    (60_000, 86_399_999, "%H:%M\n%-d %b %Y"),
    (86_400_000, 2_400_000_000, "%-d %b\n%Y"),
    ("M1", "M6", "%b\n%Y"),
    ("M12", None, "%Y"),
)
_AROUND = 110  # pixels above and below rows, for labels and the legend


def to_plotly(figure: Figure) -> Any:
    """Return a figure as a ``plotly.graph_objects.Figure``.

    Raises:
        MissingDependencyError: If plotly is not installed.
    """
    try:
        from plotly import graph_objects
    except ImportError:
        raise MissingDependencyError(
            'Interactive figures need plotly, which is not installed: pip install "neuro-divergent[plots]".'
        ) from None
    drawn = graph_objects.Figure(to_json(figure))
    lines = {"gridcolor": GRID, "linecolor": GRID, "zerolinecolor": GRID}
    drawn.update_layout(template="none", font_color=TEXT, xaxis=lines, yaxis=lines)
    return drawn


def to_json(figure: Figure) -> dict[str, Any]:
    """Return a figure as ``{"data": [...], "layout": {...}}`` of lists, numbers, text and ``None`` where there is none.

    Lines of many points are thinned, keeping extremes and ends.
    """
    axes = Axes(figure, 1.0, 1.0)
    traces = Traces(axes)
    for mark, style in zip(figure.marks, mark_styles(figure.marks), strict=True):
        traces.add(mark, style)
    layout = _layout(figure, axes)
    if not any(value is not None for trace in traces.data for value in trace["x"]):
        nothing = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False}
        layout["annotations"].append({"text": "no values to show", **nothing})
    return {"data": traces.data, "layout": layout}


def _layout(figure: Figure, axes: Axes) -> Json:
    rules = [mark for mark in figure.marks if isinstance(mark, Rule) and _is_placed(mark, axes)]
    layout: Json = {
        "title": {"text": safe(figure.title), "x": 0, "xanchor": "left", "pad": {"l": 8}, "automargin": True},
        "xaxis": _axis(figure.x, axes.x, most=_MOST_COLUMNS, is_lying=axes.rows is not None and bool(axes.bars)),
        "yaxis": _axis(figure.y, axes.y),
        "hovermode": "x unified" if axes.is_over_x else "closest",
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yanchor": "bottom", "yref": "container"},
        "showlegend": any(getattr(mark, "label", "") for mark in figure.marks if not isinstance(mark, Rule | Heatmap)),
        "margin": {"l": 8, "r": 16, "t": 12, "b": 8},
        "paper_bgcolor": "rgba(0, 0, 0, 0)",
        "plot_bgcolor": "rgba(0, 0, 0, 0)",
        "font": {"family": "inherit", "size": 12},
        "barmode": "group" if axes.slots > 1 else "overlay",
        "bargap": 0.24 if axes.rows is not None else 0.08,
    }
    layout["shapes"] = [_line(rule, axes) for rule in rules]
    layout["annotations"] = [_label(rule, axes) for rule in rules if rule.label]
    if isinstance(axes.y, NameScale):
        layout["yaxis"]["range"].reverse()  # rows go from top to bottom
    if axes.pixels is not None:
        layout["height"] = axes.pixels + _AROUND
    return layout


def _axis(axis: Axis, scale: Scale | NameScale, *, most: int = _MOST_ROWS, is_lying: bool = False) -> Json:
    drawn: Json = {"title": {"text": safe(axis.label), "standoff": 8}, "automargin": True, "zeroline": False}
    if isinstance(scale, NameScale):
        ticks = scale.ticks(most)
        drawn["tickvals"] = [round(tick.place * len(scale.names) - 0.5) for tick in ticks]
        drawn["ticktext"] = [safe(shorten(tick.text, LONGEST)) for tick in ticks]
        return {**drawn, "range": [-0.5, len(scale.names) - 0.5], "showgrid": False, "ticklabelstandoff": 6}
    drawn["type"] = {"number": "linear", "logarithm": "log", "time": "date"}[scale.kind]
    if scale.kind == "time":
        drawn["tickangle"] = 0
        drawn["tickformatstops"] = [{"dtickrange": list(range_), "value": form} for *range_, form in _TIMES]
    elif scale.kind == "logarithm":
        drawn["exponentformat"] = "power"
        if scale.high - scale.low < _FEW_DECADES:
            drawn["dtick"] = "D2"  # 1, 2 and 5
    elif max(-scale.low, scale.high) < _SMALL:
        drawn["exponentformat"] = "power"
    if axis.limits is not None or is_lying:  # lying bars leave room for their notes
        ends = np.array([scale.low, scale.high])
        drawn["range"] = plain(ends.astype("M8[us]") if scale.kind == "time" else ends)
    elif axis.from_zero:
        drawn["rangemode"] = "tozero"
    return drawn


def _is_placed(rule: Rule, axes: Axes) -> bool:
    """Whether a rule has a place: at a finite number, above zero on a logarithmic axis."""
    place = axes.y.place(np.array([rule.y])) if rule.x is None else axes.x.place(np.array([rule.x]))
    return bool(np.isfinite(place[0]))


def _line(rule: Rule, axes: Axes) -> Json:
    drawn: Json = {"type": "line", "line": {"color": RULE, "width": 1.2, "dash": "dash"}}
    if rule.x is not None:
        at = _value(rule.x, axes.x)
        return {**drawn, "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "y domain"}
    return {**drawn, "x0": 0, "x1": 1, "xref": "x domain", "y0": rule.y, "y1": rule.y}


def _label(rule: Rule, axes: Axes) -> Json:
    drawn: Json = {"text": safe(rule.label), "showarrow": False}
    if rule.x is not None:
        fraction = float(axes.x.place(np.array([rule.x]))[0])
        is_far = fraction > 0.6
        anchor = {"xanchor": "right" if is_far else "left", "xshift": -4 if is_far else 4}
        above = "bottom" if axes.rows is not None else "top"
        return {**drawn, **anchor, "x": _annotated(rule.x, axes.x), "y": 1, "yref": "y domain", "yanchor": above}
    right = {"x": 1, "xref": "x domain", "xanchor": "right", "yanchor": "bottom"}
    return {**drawn, **right, "y": _annotated(rule.y, axes.y)}


def _value(value: Any, scale: Scale | NameScale) -> Any:
    """Return where a rule is, in values of its axis."""
    if isinstance(scale, Scale) and scale.kind == "time":
        return plain(to_numeric(np.array([value]), "time").astype("M8[us]"))[0]
    return float(value)


def _annotated(value: Any, scale: Scale | NameScale) -> Any:
    """Return where a label is: like a rule, but Plotly places labels on logarithmic axes by the logarithm."""
    if isinstance(scale, Scale) and scale.kind == "logarithm":
        return plain(to_numeric(np.array([value]), "logarithm"))[0]
    return _value(value, scale)
