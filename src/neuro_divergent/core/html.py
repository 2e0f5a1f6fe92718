"""Small pieces of HTML with which objects show themselves in a notebook.

They follow the theme of the notebook, light or dark: colours are inherited, and nothing has a background. There are no
scripts, no style sheets and nothing that is loaded from elsewhere. All text is escaped but what is ``Html`` already.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import date
from html import escape as _escape
from typing import Any

from neuro_divergent.core.formatting import format_number, format_time

_MOST_ROWS = 20
_LONGEST = 200  # characters of a cell
_LONGEST_PARAGRAPH = 2_000
_POINTS = 120  # of a sparkline
_WIDE, _HIGH = 160, 28  # pixels of a sparkline
_LEFT = "text-align: left; vertical-align: top"
_RIGHT = "text-align: right; vertical-align: top; font-variant-numeric: tabular-nums"
_QUIET = "opacity: 0.75; font-weight: normal"


class Html(str):
    """Text that is HTML, and is not escaped again."""

    __slots__ = ()


def text(value: object, *, most: int = _LONGEST) -> Html:
    """Return a value as escaped text: numbers as people read them, nothing for ``None``; ``Html`` as it is."""
    return value if isinstance(value, Html) else Html(_escape(_shorten(_words(value), most)))


def card(title: str, summary: object, *parts: Html) -> Html:
    """Return the block that shows an object: its class, what it is in a few words, and parts below each other."""
    head = f'<strong>{text(title)}</strong> <span style="{_QUIET}">{text(summary)}</span>'
    return Html(f"<div><div>{head}</div>{''.join(parts)}</div>")


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """Return a table of names and values; a value that is ``None`` or empty is left out."""
    rows = [
        f'<tr><th scope="row" style="{_LEFT}; {_QUIET}">{text(name)}</th><td style="{_LEFT}">{text(value)}</td></tr>'
        for name, value in pairs
        if value is not None and value != ""
    ]
    return Html(f"<table><tbody>{''.join(rows)}</tbody></table>" if rows else "")


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, most: int = _MOST_ROWS) -> Html:
    """Return a table; of more than ``most`` rows the first ones, and how many are left out."""
    styles = [_RIGHT if any(_is_number(row[place]) for row in rows) else _LEFT for place in range(len(columns))]
    head = "".join(
        f'<th scope="col" style="{style}">{text(name)}</th>' for name, style in zip(columns, styles, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{style}">{text(value)}</td>' for value, style in zip(row, styles, strict=True))
        + "</tr>"
        for row in rows[:most]
    )
    left = f"{len(rows) - most:,} more rows" if len(rows) > most else ""
    return Html(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{paragraph(left)}")


def paragraph(words: object) -> Html:
    """Return a line of text; nothing where there is none."""
    return Html(f'<div style="{_QUIET}">{text(words, most=_LONGEST_PARAGRAPH)}</div>' if words else "")


def details(summary: str, *parts: Html) -> Html:
    """Return parts that are shown when somebody asks for them."""
    return Html(f"<details><summary>{text(summary)}</summary>{''.join(parts)}</details>")


def sparkline(values: Iterable[float | None], label: str) -> Html:
    """Return a small line through values from left to right, in the colour of the text; nothing for fewer than two.

    Values that are missing or not finite are left out. Where they differ more than tenfold and are all positive, their
    logarithms are drawn.
    """
    known = [float(value) for value in values if value is not None and math.isfinite(value)]
    if len(known) < 2:
        return Html("")
    if min(known) > 0 and max(known) > 10 * min(known):
        known = [math.log(value) for value in known]
    step = max(1, math.ceil(len(known) / _POINTS))
    kept = known[::-step][::-1]  # with the last one
    low, span = min(kept), (max(kept) - min(kept)) or 1.0
    places = " ".join(
        f"{2 + place * (_WIDE - 4) / max(len(kept) - 1, 1):.1f},{_HIGH - 3 - (value - low) / span * (_HIGH - 6):.1f}"
        for place, value in enumerate(kept)
    )
    return Html(
        f'<svg width="{_WIDE}" height="{_HIGH}" viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="{text(label)}" '
        f'style="vertical-align: middle"><polyline points="{places}" fill="none" stroke="currentColor" '
        'stroke-width="1.5" stroke-linejoin="round"></polyline></svg>'
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _words(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return format_number(value) if math.isfinite(value) else "" if math.isnan(value) else str(value)
    words = format_time(value) if isinstance(value, date) else " ".join(str(value).split())
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in words)


def _shorten(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"
