"""A figure as inline SVG of an HTML page, which follows the width and the colours of the page.

Paths lie in a box that the page stretches; what is written is placed in percent, so that it keeps its size and shape on
a phone as on a desk. Nothing has a style of its own: ``stylesheet()`` is what the page has to hold once.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from neuro_divergent.reporting.figures.figure import Figure
from neuro_divergent.reporting.svg.axes import LONGEST, SHORTER
from neuro_divergent.reporting.svg.labels import escape, shorten
from neuro_divergent.reporting.svg.layout import ColorBar, Layout, LegendEntry, Text
from neuro_divergent.reporting.svg.layout_engine import lay_out
from neuro_divergent.reporting.svg.scales import Tick

_SIZE = 1000


@cache
def stylesheet() -> str:
    """Return the styles of all figures: for light and dark pages, and for paper."""
    return files("neuro_divergent.reporting.svg").joinpath("figures.css").read_text("utf-8")


def render_inline_svg(figure: Figure, *, ratio: float = 0.45, caption: bool = True) -> str:
    """Return a figure as HTML with inline SVG, without a script and without a style of its own.

    The box between the axes is ``ratio`` widths high; figures with named rows are as high as their rows need.
    """
    layout = lay_out(figure, width=_SIZE, height=_SIZE)
    letters = max([len(tick.text) for tick in layout.y_ticks] or [1])
    room = ["figure-plot", f"gutter-{min(letters, LONGEST)}"]
    room += ["two-lines"] if layout.has_context else ["one-line"] if layout.x_ticks else []
    room += ["text-above"] if layout.has_text_above else []
    label_text = ". ".join(text.rstrip(".") for text in (figure.title, figure.alt_text) if text)
    space, height = f'<svg class="figure-space" viewBox="0 0 1000 {ratio * 1000:.0f}" aria-hidden="true"></svg>', ""
    if layout.height is not None:
        space, height = "", f' height="{layout.height}"'
    parts = [
        '<figure class="figure">',
        f"<figcaption>{escape(figure.title)}</figcaption>" if caption and figure.title else "",
        _paragraph("figure-y", figure.y.label),
        f'<div class="{" ".join(room)}"><div class="figure-frame">',
        f'{space}<svg class="figure-drawing"{height} role="img" aria-label="{escape(label_text)}">',
        *_grid(layout),
        f'<svg class="figure-box{" cut" if layout.is_cut else ""}" width="100%" height="100%" '
        f'viewBox="0 0 {_SIZE} {_SIZE}" preserveAspectRatio="none">',
        *draw_shapes(layout),
        "</svg>",
        *(_text(text) for text in layout.texts),
        *(_label_below(tick) for tick in layout.x_ticks),
        *(_label_left(tick) for tick in layout.y_ticks),
        "</svg></div></div>",
        _paragraph("figure-x", figure.x.label),
        _legend(layout.keys, layout.colorbar),
        _paragraph("figure-note", figure.note),
        "</figure>",
    ]
    return "\n".join(part for part in parts if part)


def draw_shapes(layout: Layout) -> list[str]:
    """Return the paths of a figure, from back to front."""
    return [
        f'<path class="{shape.style}" d="{shape.path}">'
        + (f"<title>{escape(shape.title)}</title>" if shape.title else "")
        + "</path>"
        for shape in layout.shapes
    ]


def _grid(layout: Layout) -> list[str]:
    if layout.grid == "level":
        places = [_percent(tick.place) for tick in layout.y_ticks]
        return [f'<line class="grid" x1="0" x2="100%" y1="{place}" y2="{place}"/>' for place in places]
    if layout.grid == "upright":
        places = [_percent(tick.place) for tick in layout.x_ticks]
        return [f'<line class="grid" x1="{place}" x2="{place}" y1="0" y2="100%"/>' for place in places]
    return []


def _text(text: Text) -> str:
    return (
        f'<text class="said" x="{_percent(text.x)}" y="{_percent(text.y)}" dx="{text.right}" dy="{text.down:g}em" '
        f'text-anchor="{text.anchor}">{escape(text.text)}</text>'
    )


def _label_below(tick: Tick) -> str:
    place = _percent(tick.place)
    label = f'<text class="{"spare" if tick.is_spare else "below"}" x="{place}" y="100%" dy="1.5em">'
    context = f'<text class="below" x="{place}" y="100%" dy="2.75em">{escape(tick.context)}</text>'
    return f"{label}{escape(tick.text)}</text>{context if tick.context else ''}"


def _label_left(tick: Tick) -> str:
    place = f'x="0" y="{_percent(tick.place)}" dx="-8" dy=".32em"'
    if len(tick.text) <= SHORTER:
        return f'<text class="left" {place}>{escape(tick.text)}</text>'
    title = f"<title>{escape(tick.text)}</title>"
    return (
        f'<text class="left long" {place}>{escape(shorten(tick.text, LONGEST))}{title}</text>'
        f'<text class="left short" {place}>{escape(shorten(tick.text, SHORTER))}{title}</text>'
    )


def draw_sample(key: LegendEntry, path: str) -> str:
    """Return the sample of an entry of the legend."""
    hole = f'<path class="{key.hole}" d="{path}"/>' if key.hole else ""
    return f'<path class="{key.style}" d="{path}"/>{hole}'


def _legend(keys: list[LegendEntry], colorbar: ColorBar | None) -> str:
    samples = {"line": "M1 7H25", "area": "M0 2H26V12H0Z", "dots": "M13 7h0"}
    entries = [
        f'<li><svg class="figure-sample" aria-hidden="true">{draw_sample(key, samples[key.sample])}</svg>'
        f"{escape(key.label)}</li>"
        for key in keys
    ]
    if colorbar is not None:
        cells = [f'<path class="{style}" d="M{12 * at} 1h12v12h-12Z"/>' for at, style in enumerate(colorbar.styles)]
        strip = f'<svg class="figure-colorbar" width="{12 * len(cells)}" aria-hidden="true">{"".join(cells)}</svg>'
        label = f"{escape(colorbar.label)}: " if colorbar.label else ""
        ends = f'<span class="figure-colorbar-range">{escape(colorbar.low)} {strip} {escape(colorbar.high)}</span>'
        entries.append(f"<li>{label}{ends}</li>")
    return f'<ul class="figure-legend">{"".join(entries)}</ul>' if entries else ""


def _paragraph(style: str, text: str) -> str:
    return f'<p class="{style}">{escape(text)}</p>' if text else ""


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2f}%"
