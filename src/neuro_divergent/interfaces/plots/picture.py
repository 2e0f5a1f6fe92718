"""A plot as an SVG file that stands alone."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from neuro_divergent.interfaces.plots.svg import Plot

_WIDTH, _HEIGHT = 720, 420
_LEFT, _TOP, _RIGHT, _BOTTOM = 84, 46, 24, 82
# Colours for light and dark surroundings; a file that is shown as an image follows those of the reader, too.
_STYLE = """
svg { background: #fff; } text { fill: #5b6570; font: 13px system-ui, sans-serif; }
.title { fill: #1b1f24; font-size: 16px; } .grid { stroke: #d9dee4; }
path { fill: none; stroke: #2b6cb0; stroke-width: 2; stroke-linejoin: round; vector-effect: non-scaling-stroke; }
@media (prefers-color-scheme: dark) {
  svg { background: #14171b; } text { fill: #9aa5b1; } .title { fill: #e6e9ed; } .grid { stroke: #333b44; }
  path { stroke: #7fb4ee; }
}
"""


def draw_picture(plot: Plot, *, across: str = "", note: str = "") -> str:
    """Return an SVG document.

    Args:
        plot: What to draw.
        across: What the axis below counts.
        note: What to know about it, in one line.
    """
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    floor = _TOP + high
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img" aria-label={quoteattr(plot.title)}>',
        f"<style>{_STYLE}</style>",
        f'<text class="title" x="{_LEFT}" y="{_TOP - 18}">{escape(plot.title)}</text>',
    ]
    for percent, label in plot.y_ticks:
        y = _TOP + high * percent / 100
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + wide}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 10}" y="{y:.1f}" dy=".32em" text-anchor="end">{escape(label)}</text>')
    for percent, label in plot.x_ticks:
        x = _LEFT + wide * percent / 100
        parts.append(f'<text x="{x:.1f}" y="{floor + 22}" text-anchor="middle">{escape(label)}</text>')
    parts.append(
        f'<svg x="{_LEFT}" y="{_TOP}" width="{wide}" height="{high}" viewBox="0 0 1000 1000" '
        'preserveAspectRatio="none" overflow="visible">'
    )
    parts.extend(f'<path class={quoteattr(shape.kind)} d="{shape.path}"/>' for shape in plot.shapes)
    parts.append("</svg>")
    parts.append(f'<text x="{_LEFT + wide / 2}" y="{floor + 42}" text-anchor="middle">{escape(across)}</text>')
    parts.append(f'<text x="24" y="{_HEIGHT - 14}">{escape(note)}</text>')
    return "\n".join([*parts, "</svg>", ""])
