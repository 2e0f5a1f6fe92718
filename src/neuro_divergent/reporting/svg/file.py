"""A figure as an SVG file that stands alone."""

from __future__ import annotations

import re
from textwrap import wrap
from zlib import crc32

from neuro_divergent.reporting.figures.figure import Figure
from neuro_divergent.reporting.svg.axes import LONGEST
from neuro_divergent.reporting.svg.inline import draw_sample, draw_shapes, stylesheet
from neuro_divergent.reporting.svg.labels import escape, shorten
from neuro_divergent.reporting.svg.layout import Layout
from neuro_divergent.reporting.svg.layout_engine import lay_out

_WIDTH, _HEIGHT = 720, 300  # of the file, and of the box where rows do not ask for another
_LETTER, _LINE = 6.8, 18
_RIGHT, _EDGE = 26, 20
_DARK = "@media (prefers-color-scheme: dark)"
_BLOCK = re.compile(r"(@media[^{]*)?\{?\s*\.figure \{\s*(--[^}]*)\}", re.DOTALL)


def render_svg(figure: Figure) -> str:
    """Return an SVG document of a fixed width. It follows the light or dark surroundings of its reader."""
    sketch = lay_out(figure)
    letters = min(LONGEST, max([len(tick.text) for tick in sketch.y_ticks] or [1]))
    left = _EDGE + round(letters * _LETTER)
    wide, tall = _WIDTH - left - _RIGHT, sketch.height or _HEIGHT
    layout = lay_out(figure, width=wide, height=tall)
    top = 34 if figure.title else 14
    lines: list[str] = [] if not figure.title else [f'<text class="title" x="16" y="24">{escape(figure.title)}</text>']
    if figure.y.label:
        lines.append(f'<text x="16" y="{top + 14}">{escape(figure.y.label)}</text>')
        top += _LINE
    top += 24 if layout.has_text_above else 14
    lines.append(f'<g transform="translate({left} {top})">')
    lines.extend(_axes(layout, wide, tall))
    box = f"box-{crc32(f'{figure.title}{wide}x{tall}'.encode()):x}"  # several figures may be in one page
    if layout.is_cut:
        lines.append(f'<clipPath id="{box}"><rect width="{wide}" height="{tall}"/></clipPath>')
    lines.append(f'<g clip-path="url(#{box})">' if layout.is_cut else "<g>")
    lines.extend(draw_shapes(layout))
    lines.append("</g>")
    lines.extend(
        f'<text class="said" x="{text.x * wide:.1f}" y="{text.y * tall:.1f}" dx="{text.right}" dy="{text.down:g}em" '
        f'text-anchor="{text.anchor}">{escape(text.text)}</text>'
        for text in layout.texts
    )
    lines.append("</g>")
    floor = top + tall + (38 if layout.has_context else 24 if layout.x_ticks else 6)
    if figure.x.label:
        floor += 14
        lines.append(f'<text class="below" x="{left + wide / 2:.1f}" y="{floor}">{escape(figure.x.label)}</text>')
    legend, floor = _legend(layout, floor + 8)
    lines.extend(legend)
    floor += 6 if figure.note else 0
    for line in wrap(figure.note, 106):
        floor += _LINE
        lines.append(f'<text x="16" y="{floor}">{escape(line)}</text>')
    height = floor + 16
    described = f"<desc>{escape(figure.alt_text)}</desc>" if figure.alt_text else ""
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="figure" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" role="img">',
        f"<title>{escape(figure.title)}</title>{described}",
        f"<style>{_style()}</style>",
        f'<rect class="page" width="{_WIDTH}" height="{height}"/>',
    ]
    return "\n".join([*head, *lines, "</svg>", ""])


def _axes(layout: Layout, wide: float, tall: float) -> list[str]:
    """Return the lines to compare by and the labels of both axes."""
    parts = []
    for tick in layout.y_ticks:
        y = f"{tick.place * tall:.1f}"
        if layout.grid == "level":
            parts.append(f'<line class="grid" x1="0" x2="{wide}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="left" x="-8" y="{y}" dy=".32em">{escape(shorten(tick.text, LONGEST))}</text>')
    for tick in layout.x_ticks:
        x = f"{tick.place * wide:.1f}"
        if layout.grid == "upright":
            parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="0" y2="{tall}"/>')
        for down, text in ((20, tick.text), (35, tick.context)):
            if text:
                parts.append(f'<text class="below" x="{x}" y="{tall + down}">{escape(text)}</text>')
    return parts


def _legend(layout: Layout, top: int) -> tuple[list[str], int]:
    """Return the legend from a height downwards, and the height at which it ends."""
    samples = {"line": "M0 0H26", "area": "M0 -5H26V5H0Z", "dots": "M13 0h0"}
    entries = [(draw_sample(key, samples[key.sample]), 26, key.label) for key in layout.keys]
    if layout.colorbar is not None:
        key = layout.colorbar
        cells = "".join(f'<path class="{style}" d="M{12 * at} -6h12v12h-12Z"/>' for at, style in enumerate(key.styles))
        text = f"{key.label}, from {key.low} to {key.high}" if key.label else f"from {key.low} to {key.high}"
        entries.append((cells, 12 * len(key.styles), text))
    parts: list[str] = []
    x, y = 16, top
    for sample, wide, label in entries:
        room = wide + 8 + round(len(label) * _LETTER) + 18
        if not parts or x + room > _WIDTH:
            x, y = 16, y + _LINE
        parts.append(f'<g transform="translate({x} {y})">{sample}')
        parts.append(f'<text x="{wide + 8}" dy=".35em">{escape(label)}</text></g>')
        x += room
    return parts, y


def _style() -> str:
    """Return the styles with every colour written out, as few programs that show SVG know names for colours."""
    source = re.sub(r"/\*.*?\*/", "", stylesheet(), flags=re.DOTALL)
    blocks = {name.strip(): dict(re.findall(r"(--[\w-]+): (#\w+)", body)) for name, body in _BLOCK.findall(source)}
    rules = source[source.index(".figure text {") :] + (
        ".figure .page { fill: var(--figure-page); } .figure text { font-family: system-ui, sans-serif; }"
        ".figure .title { fill: var(--figure-ink); font-size: 16px; font-weight: 600; }"
    )
    light = _filled(rules, blocks[""])
    coloured = " ".join(re.findall(r"[^{}]+\{[^}]*var\([^}]*\}", rules))
    dark = _filled(coloured, blocks[_DARK])
    return f"{light}\n{_DARK} {{ {dark} }}"


def _filled(rules: str, colours: dict[str, str]) -> str:
    return re.sub(r"var\((--[\w-]+)\)", lambda match: colours[match[1]], rules)
