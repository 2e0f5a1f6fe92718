"""Folds as an SVG file that stands alone."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from neuro_divergent.data.panel import Panel
from neuro_divergent.evaluation.splitters.drawing import meanings_of
from neuro_divergent.evaluation.splitters.fold import Fold
from neuro_divergent.evaluation.splitters.fold_layout import FoldLayout, look_at, show_ends
from neuro_divergent.evaluation.splitters.segment_table import segments_of

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 76, 124, 46, 74
_COLUMNS = _WIDTH - _LEFT - _RIGHT
_BAR, _LINE, _SPACE = 14, 18, 8  # height of a bar, of a bar with what is below it, and between two folds
# Colours for light and dark surroundings; a file that is shown as an image follows those of the reader, too.
_STYLE = """
svg { background: #fff; } text { fill: #5b6570; font: 13px system-ui, sans-serif; }
.title { fill: #1b1f24; font-size: 16px; } .unused { fill: #f1f3f5; }
.train { fill: #2b6cb0; } .gap { fill: #b9c4d0; } .test { fill: #dd6b20; } .embargo { fill: #8f3f97; }
@media (prefers-color-scheme: dark) {
  svg { background: #14171b; } text { fill: #9aa5b1; } .title { fill: #e6e9ed; } .unused { fill: #22272d; }
  .train { fill: #7fb4ee; } .gap { fill: #4a545f; } .test { fill: #f6a15b; } .embargo { fill: #c98bd0; }
}
"""


class Picture(str):
    """The text of an SVG file. Write it to a file, or leave it to a notebook to show it."""

    def _repr_svg_(self) -> str:
        return str(self)


def picture_of_folds(folds: Iterable[Fold], panel: Panel, *, title: str = "Folds") -> Picture:
    """Draw each fold as a bar over time, or as several where its series differ.

    Args:
        folds: What a splitter gives.
        panel: The series.
        title: What stands above it.
    """
    segments = segments_of(folds)
    parts, y = [], float(_TOP)
    for fold in look_at(segments, panel, _COLUMNS):
        parts += _bars(fold, y)
        y += _LINE * (len(fold.looks) + bool(fold.remark)) + _SPACE
    first, last = show_ends(panel)
    parts.append(_text(_LEFT, y + 10, first))
    parts.append(_text(_LEFT + _COLUMNS, y + 10, last, "end"))
    place = _LEFT
    for role, meaning in meanings_of(segments).items():
        parts.append(f'<rect class="{role}" x="{place}" y="{y + 34}" width="22" height="{_BAR}"/>')
        parts.append(_text(place + 30, y + 45, meaning))
        place += 60 + 8 * len(meaning)
    height = y + _BOTTOM
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" width="{_WIDTH}" '
        f'height="{height:g}" role="img" aria-label={quoteattr(title)}>'
    )
    named = f'<text class="title" x="{_LEFT}" y="{_TOP - 18}">{escape(title)}</text>'
    return Picture("\n".join([head, f"<style>{_STYLE}</style>", named, *parts, "</svg>", ""]))


def _bars(fold: FoldLayout, y: float) -> list[str]:
    parts = [_text(_LEFT - 10, y + 11, f"fold {fold.number}", "end")]
    for look in fold.looks:
        x = _LEFT
        for role, width in look.runs:
            parts.append(f'<rect class="{role or "unused"}" x="{x}" y="{y:g}" width="{width}" height="{_BAR}"/>')
            x += width
        if not fold.is_plain:
            parts.append(_text(x + 10, y + 11, f"{look.count:,} series"))
        y += _LINE
    return [*parts, _text(_LEFT, y + 11, fold.remark)] if fold.remark else parts


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'
